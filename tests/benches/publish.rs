//! Writes the tables of figures in documents: `tests/bench --publish [RESULTS | --check]`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use tvm_ffi_codegen_tests::published;

/// Writes figures into documents.
#[derive(Debug, Parser)]
struct Arguments {
    /// Results of a run.
    results: Option<PathBuf>,
    /// Compares the documents with what was published.
    #[arg(long, conflicts_with = "results")]
    check: bool,
}

fn main() -> ExitCode {
    let Arguments { results, check } = Arguments::parse();
    match published::publish(Path::new("."), results.as_deref(), check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("publish: {why}");
            ExitCode::FAILURE
        }
    }
}
