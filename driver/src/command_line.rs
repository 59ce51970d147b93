//! The command line, as a function of its arguments. Exit codes: 0, 1 if the input is at fault, 2 for wrong usage.

mod arguments;
mod compile;
mod import_triton;
mod probe;
mod report;
mod write_routines;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use arguments::Emit;
use clap::{Parser, Subcommand};
use import_triton::ImportTriton;
use probe::Probe;
use report::Report;
use target_lexicon::Triple;
use write_routines::WriteRoutines;

use crate::{Error, check_file};

/// Emits TVM FFI host functions from their declarations.
#[derive(Parser)]
#[command(name = "tvm-ffi-codegen", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compiles declarations.
    Emit(Box<Emit>),
    /// Shows what a library or object exports and needs.
    Inspect(Report),
    /// Checks declarations.
    Check {
        /// Declarations; `-` for standard input.
        file: PathBuf,
    },
    /// Declares a kernel of Triton, launch and all.
    ImportTriton(ImportTriton),
    /// Writes the routines that objects with `--routines linked` want, as an archive for another linker.
    Routines(WriteRoutines),
    /// Reads a kernel in a language of a backend, and does nothing with it.
    #[command(hide = true)]
    Probe(Probe),
}

/// Why a run ends without success.
enum Stop {
    /// The input is at fault.
    Input(Error),
    /// The arguments are.
    Usage(clap::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Input(error)
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Stop {
        Stop::Usage(error)
    }
}

/// Runs the command line: its exit code. `program` is what starts this program, a path and its first arguments;
/// `arguments` come after them. Reading a kernel in a language of a backend starts it again, since that may end a process.
pub fn run(program: &[OsString], arguments: &[OsString]) -> u8 {
    let name = program.join(OsStr::new(" "));
    let result = match Cli::try_parse_from([&name].into_iter().chain(arguments)) {
        Ok(Cli { command }) => done(command, program),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => 0,
        Err(Stop::Input(error)) => {
            // Whoever cannot read it has the exit code.
            let _ = say("error", &error.to_string());
            1
        }
        Err(Stop::Usage(error)) => {
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

fn done(command: Command, program: &[OsString]) -> Result<(), Stop> {
    match command {
        Command::Emit(arguments) => compile::run(&arguments, program),
        Command::Inspect(report) => Ok(report.run()?),
        Command::Check { file } => Ok(check(&file)?),
        Command::ImportTriton(arguments) => Ok(arguments.run()?),
        Command::Routines(arguments) => Ok(arguments.run()?),
        Command::Probe(arguments) => Ok(arguments.run()?),
    }
}

/// Says what is wrong, or what may not be what was meant.
fn check(file: &Path) -> Result<(), Error> {
    for warning in check_file(file)? {
        let text = format!("{}:{warning}", file.display());
        let unsaid = |source| Error::Write { path: "standard error".into(), source };
        say("warning", &text).map_err(unsaid)?;
    }
    Ok(())
}

/// Writes to standard error, which may be full or closed.
fn say(severity: &str, text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(format!("{severity}: {text}\n").as_bytes())
}

fn target(name: Option<&str>) -> Result<Triple, Error> {
    let Some(name) = name else { return Ok(Triple::host()) };
    name.parse().map_err(|source| Error::Target { name: name.to_owned(), source })
}
