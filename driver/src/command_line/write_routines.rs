//! The command `routines`.

use std::path::PathBuf;

use super::target;
use crate::Error;
use crate::file::{self, Mode};
use crate::link::routines_archive;
use clap::Args;

/// Writes what objects leave to the linker.
#[derive(Args)]
pub(super) struct WriteRoutines {
    /// The machine that they are for [default: this one].
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Where to write; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl WriteRoutines {
    /// Writes an archive of all routines.
    pub(super) fn run(&self) -> Result<(), Error> {
        let archive = routines_archive(&target(self.target.as_deref())?)?;
        file::write(&self.output, &archive, Mode::Data)
    }
}
