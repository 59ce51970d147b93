//! The command `probe`: reads a module in a language of a backend in a process of its own, because LLVM's readers trust
//! their input and a damaged file may end the process.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use codegen::backend::Input;
use codegen::ir;
use target_lexicon::Triple;

use crate::request::backends;
use crate::{BackendName, Error, File, Request, parse_target};

/// Name of the command.
const COMMAND: &str = "probe";

/// Exit codes of a child that has survived reading the kernel.
const SAID: [i32; 2] = [0, 1];

/// Reads a kernel.
#[derive(Args)]
pub(super) struct Probe {
    /// The kernel; `-` for standard input.
    file: PathBuf,
    /// The backend that reads it.
    #[arg(long, value_parser = backends())]
    backend: BackendName,
    /// The target of the kernel.
    #[arg(long, value_parser = parse_target)]
    target: Triple,
}

impl Probe {
    /// Makes the backend read the kernel.
    pub(super) fn run(self) -> Result<(), Error> {
        let Probe { file, backend, target } = self;
        let link = vec![File::Path(file)];
        let mut request = Request { backend, target, link, ..Request::default() };
        request.load()?;
        let kernels: Vec<_> = request.sources.iter().map(|source| source.input(&[])).collect();
        // Errors about a readable kernel are reported where the kernel is used.
        let _ = request.backend()?.text(&ir::Module::default(), &kernels);
        Ok(())
    }
}

/// Reads a module in a child process; returns an error if reading it ends the child. `program` is the command that
/// starts this program.
pub(super) fn probe(
    program: &[OsString],
    request: &Request,
    input: Input<'_>,
) -> Result<(), Error> {
    let Some((first, rest)) = program.split_first() else { return Ok(()) };
    let mut command = Command::new(first);
    command.args(rest).args([COMMAND, "-", "--backend", request.backend.name(), "--target"]);
    command.arg(request.target.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // If no process can be started, this one reads the kernel unprobed.
    let Ok(mut child) = command.spawn() else { return Ok(()) };
    if let Some(mut stdin) = child.stdin.take() {
        // The child need not read all of it.
        let _ = stdin.write_all(input.bytes);
    }
    match child.wait() {
        Ok(status) if status.code().is_none_or(|code| !SAID.contains(&code)) => {
            let name = request.backend.name();
            let reason = format!("{}: reading it ends the process with {status}", input.name);
            Err(Error::Backend { name, source: reason.into() })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}
