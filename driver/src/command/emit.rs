//! The command `emit`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Stop;
use super::probe::probe;
use crate::{Error, Request, file, parse_file};

/// Declarations, and the output to make of them.
#[derive(Args)]
pub(super) struct Emit {
    /// Declarations; `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    request: Request,
    /// Output; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

impl Emit {
    /// Compiles declarations. `program` is the command that starts this program.
    pub(super) fn run(self, program: &[OsString]) -> Result<(), Stop> {
        let Emit { file, mut request, output } = self;
        request.check()?;
        let mut inputs = [vec![file.clone()], request.paths()].concat();
        request.load()?;
        request.sources.iter().try_for_each(|kernel| probe(program, &request, kernel))?;
        inputs.extend(request.paths());
        refuse_overwriting(&output, &inputs)?;
        let library = parse_file(&file)?;
        Ok(request.write(&library, &output).map_err(|error| in_file(error, &file))?)
    }
}

/// Refuses an output that is one of the inputs.
pub(super) fn refuse_overwriting(output: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    if inputs.iter().any(|input| file::is_same(output, input)) {
        let source = io::Error::other("it is one of the inputs");
        return Err(Error::Write { path: output.to_owned(), source });
    }
    Ok(())
}

/// Names the file in an error about its declarations.
fn in_file(error: Error, file: &Path) -> Error {
    if let Error::Declaration { path: None, source } = error {
        Error::Declaration { path: Some(file.to_owned()), source }
    } else {
        error
    }
}
