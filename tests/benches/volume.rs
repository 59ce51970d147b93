//! Any number of random calls in the machine for host IR; run by `tests/volume`.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tvm_ffi_codegen_tests::volume::{Plan, run};

/// Runs random calls of random declarations in the machine for host IR, and compares what they do with the oracle.
#[derive(Debug, Parser)]
struct Arguments {
    /// Another seed makes other declarations; the tests run seed 0.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many calls.
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,
    /// How many threads share the work.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> ExitCode {
    let Arguments { seed, calls, threads } = Arguments::parse();
    let start = Instant::now();
    let report = run(&Plan { seed, calls, threads });
    report.wrong.iter().for_each(|wrong| println!("{wrong}\n"));
    println!("seed {seed}: {report}, {:.0} s", start.elapsed().as_secs_f64());
    if report.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
