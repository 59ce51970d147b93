//! Program of `tests/reduce`: reduces a file with which a command fails.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tvm_ffi_codegen_tests::reduce::{Language, Process, Reduced, reduce};

/// Reduces a module of host IR or declarations to what a command needs to fail as it does.
#[derive(Debug, Parser)]
struct Arguments {
    /// The file, `.ffi` or `.hir`.
    file: PathBuf,
    /// The most runs of the command.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// Seconds after which a run is ended, which is no failure.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Text that the command has to print.
    #[arg(long)]
    says: Option<String>,
    /// The command. The path of a candidate replaces `{}`, or is its last argument.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let file = arguments.file.display().to_string();
    match run(arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{file}: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the reduced file; returns a line about it.
fn run(arguments: Arguments) -> Result<String, String> {
    let Arguments { file, runs: limit, seconds, says, command } = arguments;
    let extension = file.extension().unwrap_or_default();
    let language = match extension.to_str() {
        Some("ffi") => Language::Declarations,
        Some("hir") => Language::HostIr,
        Some(_) | None => return Err("the file is neither .ffi nor .hir".to_owned()),
    };
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let process = Process::new(&command, &file, seconds)?;
    let failure = process.failure(&text, says)?;
    let mut fails = |text: &str| process.fails(text, &failure);
    let mut tell = |line: &str| eprintln!("tests/reduce: {line}");
    let reduced = reduce(&text, language, limit, &mut fails, &mut tell)?;
    let Reduced { text: smaller, runs, is_finished } = reduced;
    let mut path = file.clone().into_os_string();
    path.push(".reduced.");
    path.push(extension);
    let path = PathBuf::from(path);
    fs::write(&path, &smaller).map_err(|error| format!("{}: {error}", path.display()))?;
    let (before, after, path) = (text.len(), smaller.len(), path.display());
    let end = if is_finished { "nothing more can go" } else { "the runs are used up" };
    Ok(format!("{path}: {after} of {before} bytes after {runs} runs; {end}"))
}
