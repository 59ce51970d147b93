//! The command `emit`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::probe::probe;
use super::{Stop, depfile, print_times, refuse_overwriting, say_if_empty};
use crate::emit::parse_in_time;
use crate::link;
use crate::stages::{Stage, Times};
use crate::{Error, File, Request, file};

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
    /// File to write the names of all files that were read to, as a rule for Make or Ninja, like that of `cc -MD -MF`.
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,
    /// Print to standard error how long each stage takes.
    #[arg(long)]
    time_stages: bool,
}

impl Emit {
    /// Compiles declarations. `program` is the command that starts this program.
    pub(super) fn run(self, program: &[OsString]) -> Result<(), Stop> {
        let (mut times, time_stages) = (Times::default(), self.time_stages);
        let (depfile, output, mode) =
            (self.depfile.clone(), self.output.clone(), self.request.form.mode());
        let (result, read) = link::file::noted(|| self.emit_in_time(program, &mut times));
        if time_stages {
            print_times(&times)?;
        }
        let bytes = result?;
        // An output whose files could not be noted would be taken for one that is up to date.
        depfile.map_or(Ok(()), |path| depfile::write(&path, &output, &read))?;
        Ok(file::write(&output, &bytes, mode)?)
    }

    /// Returns the bytes of the output.
    fn emit_in_time(self, program: &[OsString], times: &mut Times) -> Result<Vec<u8>, Error> {
        let Emit { file, mut request, output, depfile, .. } = self;
        request.check()?;
        if depfile.is_some() && output == Path::new(link::file::STANDARD) {
            let reason = "is for an output that is a file".to_owned();
            return Err(Error::Usage { option: "depfile", reason });
        }
        let mut inputs = [vec![file.clone()], request.paths()].concat();
        refuse_second_standard(&inputs)?;
        times.of(Stage::Read, || {
            request.load()?;
            let into = request.into.as_ref().and_then(File::input);
            let kernels = request.sources.iter().map(|kernel| kernel.input(&[]));
            kernels.chain(into).try_for_each(|input| probe(program, &request, input))
        })?;
        inputs.extend(request.paths());
        refuse_overwriting(&output, &inputs)?;
        let (text, library) = parse_in_time(&file, times)?;
        if !request.adds_code() {
            say_if_empty(&library, &file)?;
        }
        let bytes = request.emit_in_time(&library, times);
        bytes.map_err(|error| in_file(error.locate(&text), &file))
    }
}

/// Refuses two inputs of which both are standard input: it is read once.
pub(super) fn refuse_second_standard(inputs: &[PathBuf]) -> Result<(), Error> {
    let is_standard = |input: &&PathBuf| input.as_path() == Path::new(link::file::STANDARD);
    let Some(path) = inputs.iter().filter(is_standard).nth(1) else { return Ok(()) };
    let source = io::Error::other("standard input is two of the inputs");
    Err(link::Error::Read { path: path.clone(), source }.into())
}

/// Names the file in an error about its declarations.
fn in_file(error: Error, file: &Path) -> Error {
    if let Error::Declaration { path: None, source } = error {
        Error::Declaration { path: Some(file.to_owned()), source }
    } else {
        error
    }
}
