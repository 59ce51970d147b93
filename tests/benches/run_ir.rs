//! Program of `tests/run-ir`: runs host IR from a file in the machine.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tvm_ffi_codegen_tests::filetest;

/// Compares what a file says with what comes of its modules, or calls one of its functions.
#[derive(Debug, Parser)]
struct Arguments {
    /// A module as `{:#}` prints it; with directives, as the files of codegen/filetests have them.
    file: PathBuf,
    /// The function to call.
    function: Option<String>,
    /// Arguments, written as behind `# run:`: 1 -2.5 null @data @data+8
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    let Arguments { file, function, arguments } = Arguments::parse();
    let text = std::fs::read_to_string(&file);
    let done = text.map_err(|error| error.to_string()).and_then(|text| match function {
        Some(function) => filetest::call(&text, &function, &arguments, &mut say),
        None => Ok(check(&text)),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{}: {reason}", file.display());
            ExitCode::FAILURE
        }
    }
}

/// Prints a line at once, because code of a backend may end the process; a closed pipe is no error.
fn print(line: fmt::Arguments<'_>) {
    drop(writeln!(io::stdout(), "{line}"));
}

fn say(who: &str, outcome: Result<String, String>) {
    let (Ok(text) | Err(text)) = outcome;
    print(format_args!("{who}: {text}"));
}

/// Prints every expectation of a file with its result; returns true if all hold.
fn check(text: &str) -> bool {
    let checked = filetest::check(text);
    for filetest::Checked { line, subject, outcome } in &checked {
        match outcome {
            Ok(()) => print(format_args!("{line}: {subject}")),
            Err(reason) => print(format_args!("{line}: {subject}\n    WRONG: {reason}")),
        }
    }
    checked.iter().all(|checked| checked.outcome.is_ok())
}
