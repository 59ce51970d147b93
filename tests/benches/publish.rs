//! Writes the tables of figures in documents, `tests/bench --publish [RESULTS | --check]`, and prints the history of
//! figures, `tests/bench --history [WORD …]`.

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
    /// Prints the history of the figures whose names have all of these words; without a word, of those that grew.
    #[arg(long, num_args = 0.., value_name = "WORD", conflicts_with_all = ["results", "check"])]
    history: Option<Vec<String>>,
    /// The folder in which the benchmark keeps its results.
    #[arg(long, default_value = "target/bench/history", value_name = "FOLDER")]
    runs: PathBuf,
}

fn main() -> ExitCode {
    let Arguments { results, check, history, runs } = Arguments::parse();
    let root = Path::new(".");
    let done = match history {
        Some(words) => published::history(root, &runs, &words).map(|text| print!("{text}")),
        None => published::publish(root, results.as_deref(), check),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("publish: {why}");
            ExitCode::FAILURE
        }
    }
}
