//! The command line. Exit codes: 0, 1 if the input is at fault, 2 for wrong usage.

#![forbid(unsafe_code)]

mod arguments;
mod compile;
mod import_triton;
mod report;
mod write_routines;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::Emit;
use clap::{Parser, Subcommand};
use import_triton::ImportTriton;
use report::Report;
use target_lexicon::Triple;
use tvm_ffi_codegen_driver::{Error, check_file};
use write_routines::WriteRoutines;

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
}

fn main() -> ExitCode {
    // A file that grows too large is then an error like any other, and leaves nothing behind.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)),
    );
    let result = match Cli::parse().command {
        Command::Emit(arguments) => compile::run(&arguments),
        Command::Inspect(report) => report.run(),
        Command::Check { file } => check(&file),
        Command::ImportTriton(arguments) => arguments.run(),
        Command::Routines(arguments) => arguments.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong, or what may not be what was meant.
fn check(file: &Path) -> Result<(), Error> {
    for warning in check_file(file)? {
        eprintln!("warning: {}:{warning}", file.display());
    }
    Ok(())
}

fn target(name: Option<&str>) -> Result<Triple, Error> {
    let Some(name) = name else { return Ok(Triple::host()) };
    name.parse().map_err(|source| Error::Target { name: name.to_owned(), source })
}
