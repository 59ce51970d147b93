//! The command line, as a function of its arguments. Exit codes: 0, 1 if the input is at fault, 2 for wrong usage, and
//! 141 if nobody reads standard output any more, as the shell says of a program that a closed pipe ends.

mod depfile;
mod emit;
mod import_triton;
mod inspect;
#[cfg(feature = "log")]
mod logging;
mod probe;
mod routines;

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use codegen::{Library, WarningKind};
use emit::Emit;
use import_triton::ImportTriton;
use inspect::Inspect;
use probe::Probe;
use routines::Routines;

use crate::emit::check_in_time;
use crate::stages::Times;
use crate::{Error, file, link};

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
    /// Shows the exports and imports of a library or object.
    Inspect(Inspect),
    /// Checks declarations.
    Check {
        /// Declarations; `-` for standard input.
        file: PathBuf,
        /// Leave out warnings of this name, which stands in brackets at the end of each. May be given several times
        #[arg(long, value_name = "WARNING")]
        allow: Vec<WarningKind>,
        /// Print to standard error how long each stage takes.
        #[arg(long)]
        time_stages: bool,
    },
    /// Declares a kernel of Triton, launch and all.
    ImportTriton(ImportTriton),
    /// Writes the routines for objects with `--routines linked`, as an archive for another linker.
    Routines(Routines),
    /// Reads a kernel in a language of a backend, and drops it.
    #[command(hide = true)]
    Probe(Probe),
}

impl Command {
    /// Runs the command. `program` is the command that starts this program.
    fn run(self, program: &[OsString]) -> Result<(), Stop> {
        match self {
            Command::Emit(emit) => emit.run(program),
            Command::Inspect(inspect) => Ok(inspect.run()?),
            Command::Check { file, allow, time_stages } => Ok(check(&file, &allow, time_stages)?),
            Command::ImportTriton(import) => Ok(import.run()?),
            Command::Routines(routines) => Ok(routines.run()?),
            Command::Probe(probe) => Ok(probe.run()?),
        }
    }
}

/// Reason why a run ends without success.
enum Stop {
    /// The input is at fault.
    Input(Error),
    /// The arguments are at fault.
    Usage(clap::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        if let Error::Usage { option, reason } = error {
            Stop::Usage(usage(option, &reason))
        } else if let Error::Link { source: link::Error::Option { option, reason } } = error {
            Stop::Usage(usage(option, reason))
        } else {
            Stop::Input(error)
        }
    }
}

/// Returns the error about the argument that fills a field of [`Request`](crate::Request), with the usage of the
/// subcommand that has it.
fn usage(field: &str, reason: &str) -> clap::Error {
    let mut cli = Cli::command();
    cli.build();
    let has_it = |command: &&mut clap::Command| {
        command.get_arguments().any(|argument| argument.get_id() == field)
    };
    let Some(command) = cli.get_subcommands_mut().find(has_it) else {
        return cli.error(ErrorKind::ArgumentConflict, format!("{field} {reason}"));
    };
    let argument = command.get_arguments().find(|argument| argument.get_id() == field);
    let long = argument.and_then(clap::Arg::get_long).map(|long| format!("--{long}"));
    let short = || argument.and_then(clap::Arg::get_short).map(|short| format!("-{short}"));
    let flag = long.or_else(short).unwrap_or_else(|| field.to_owned());
    command.error(ErrorKind::ArgumentConflict, format!("{flag} {reason}"))
}

/// Runs the command line and returns its exit code. `program` is the command that starts this program, a path and its
/// first arguments; `arguments` come after them. The program starts itself again to read kernels in a language of a
/// backend, because that may end a process. With the cargo feature `log` and the variable `TVM_FFI_CODEGEN_LOG` it
/// prints to standard error why the library chose what it emits.
pub fn run(program: &[OsString], arguments: &[OsString]) -> u8 {
    #[cfg(feature = "log")]
    logging::start();
    let name = program.join(OsStr::new(" "));
    let result = match Cli::try_parse_from([&name].into_iter().chain(arguments)) {
        Ok(Cli { command }) => command.run(program),
        Err(error) => Err(Stop::Usage(error)),
    };
    match result {
        Ok(()) => 0,
        Err(Stop::Input(error)) if is_unread(&error) => UNREAD,
        Err(Stop::Input(error)) => input_error(&error),
        Err(Stop::Usage(error)) => {
            // Values that are not usable, such as unknown targets, count as wrong input, not as wrong usage.
            if let Some(error) = error.source().and_then(|source| source.downcast_ref()) {
                return input_error(error);
            }
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// The exit code where nobody reads standard output: 128 and the number of the signal SIGPIPE.
const UNREAD: u8 = 141;

/// Returns whether standard output is a pipe whose reader has gone, which has what it wanted: nothing is said about
/// that.
fn is_unread(error: &Error) -> bool {
    let Error::Write { path, source } = error else { return false };
    path == Path::new(link::file::STANDARD) && source.kind() == io::ErrorKind::BrokenPipe
}

fn input_error(error: &Error) -> u8 {
    // The exit code tells of the failure even if standard error cannot be written.
    let _ = error.messages().iter().try_for_each(|message| say("error", message));
    1
}

/// Prints the warnings about a file of declarations, but none of the allowed kinds.
fn check(file: &Path, allow: &[WarningKind], time_stages: bool) -> Result<(), Error> {
    let mut times = Times::default();
    let result = check_in_time(file, &mut times);
    if time_stages {
        print_times(&times)?;
    }
    let (library, warnings) = result?;
    for warning in warnings.into_iter().filter(|warning| !allow.contains(&warning.kind)) {
        say("warning", &format!("{}:{warning}", file.display())).map_err(unsaid)?;
    }
    say_if_empty(&library, file)
}

/// Refuses an output that is one of the inputs.
fn refuse_overwriting(output: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    if inputs.iter().any(|input| file::is_same(output, input)) {
        let source = io::Error::other("it is one of the inputs");
        return Err(Error::Write { path: output.to_owned(), source });
    }
    Ok(())
}

/// Prints a note if a file declares no function. That is no warning: a library may be one of kernels alone.
fn say_if_empty(library: &Library, file: &Path) -> Result<(), Error> {
    if !library.functions.is_empty() {
        return Ok(());
    }
    say("note", &format!("{} declares no function", file.display())).map_err(unsaid)
}

/// Prints the time that stages have taken.
fn print_times(times: &Times) -> Result<(), Error> {
    print(&times.to_string()).map_err(unsaid)
}

/// Prints a message.
fn say(severity: &str, text: &str) -> io::Result<()> {
    print(&format!("{severity}: {text}\n"))
}

/// Writes to standard error, which may be full or closed.
fn print(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}

/// Returns the error for what cannot be written to standard error.
fn unsaid(source: io::Error) -> Error {
    Error::Write { path: "standard error".into(), source }
}
