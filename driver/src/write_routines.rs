//! The command `routines`.

use std::path::PathBuf;

use clap::Args;
use tvm_ffi_codegen_driver::Error;
use tvm_ffi_codegen_driver::file::{self, Mode};
use tvm_ffi_codegen_driver::link::routines_archive;

use crate::target;

/// Writes what objects leave to the linker.
#[derive(Args)]
pub(crate) struct WriteRoutines {
    /// The machine that they are for [default: this one].
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Where to write; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl WriteRoutines {
    /// Writes an archive of all routines.
    pub(crate) fn run(&self) -> Result<(), Error> {
        let archive = routines_archive(&target(self.target.as_deref())?)?;
        file::write(&self.output, &archive, Mode::Data)
    }
}
