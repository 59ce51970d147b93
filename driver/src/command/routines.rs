//! The command `routines`.

use std::path::PathBuf;

use clap::Args;
use link::routines_archive;
use target_lexicon::Triple;

use crate::file::{self, Mode};
use crate::{Error, parse_target};

/// Writes the linked routines of objects.
#[derive(Args)]
pub(super) struct Routines {
    /// Machine of the objects [default: this one].
    #[arg(long, value_name = "TRIPLE", value_parser = parse_target, default_value_t = Triple::host(),
        hide_default_value = true)]
    target: Triple,
    /// Output; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl Routines {
    /// Writes an archive of all routines.
    pub(super) fn run(&self) -> Result<(), Error> {
        let archive = routines_archive(&self.target)?;
        file::write(&self.output, &archive, Mode::Data)
    }
}
