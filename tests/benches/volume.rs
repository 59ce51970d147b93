//! Program of `tests/volume`: any number of random calls, in the machine for host IR or in compiled code.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tvm_ffi_codegen_tests::volume::{Plan, Report, Through, run};
use tvm_ffi_codegen_tests::{links, mutated, submits};

/// Makes random calls of random declarations, and compares what they do with the oracle.
#[derive(Debug, Parser)]
struct Arguments {
    /// Another seed makes other declarations; the tests run seed 0.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many calls.
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,
    /// Runs the machine, the JIT and all backends in turn for this many seconds together, whatever the number of calls.
    #[arg(long, conflicts_with_all = ["calls", "through", "submits"])]
    seconds: Option<u64>,
    /// Calls of one declaration.
    #[arg(long, default_value_t = 24)]
    each: u64,
    /// Engine of the calls: `machine`, `jit`, or the name of a backend, whose code is in shared libraries.
    #[arg(long, default_value = "machine", value_parser = through)]
    through: Through,
    /// How many threads share the work. Compiled code is called by one thread at a time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Compares launches at once with the same ones prepared and submitted, by the JIT and in one thread.
    #[arg(long, conflicts_with_all = ["through", "threads"])]
    submits: bool,
    /// Links this many programs of random objects by Wild and by the C compiler, and compares what they do.
    #[arg(long, conflicts_with_all = ["calls", "seconds", "each", "through", "threads", "submits"])]
    links: Option<u64>,
    /// Calls functions this many times, each in the code of each backend, while threads change their arguments.
    #[arg(long, conflicts_with_all = ["calls", "seconds", "each", "through", "threads", "submits", "links"])]
    mutated: Option<u32>,
}

fn through(text: &str) -> Result<Through, String> {
    let all = Through::all();
    let names: Vec<&str> = all.iter().map(|through| through.name()).collect();
    let found = all.iter().find(|through| through.name() == text);
    found.copied().ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn main() -> ExitCode {
    let Arguments { seed, calls, seconds, each, through, threads, submits, links, mutated } =
        Arguments::parse();
    if let Some(programs) = links {
        return tell("links", seed, || links::run(&links::Plan { seed, programs }));
    }
    if let Some(calls) = mutated {
        return tell("mutated", seed, || mutated::run(&mutated::Plan { seed, calls }));
    }
    if submits {
        return tell("submits", seed, || submits::run(&submits::Plan { seed, calls, each }));
    }
    let Some(seconds) = seconds else {
        let plan = Plan { seed, calls, until: None, each, threads, through };
        return tell(through.name(), seed, || run(&plan));
    };
    let all = Through::all();
    let turn = Duration::from_secs(seconds) / all.len() as u32;
    let codes = all.into_iter().map(|through| {
        let until = Some(Instant::now() + turn);
        let plan = Plan { seed, calls: u64::MAX, until, each, threads, through };
        tell(through.name(), seed, || run(&plan))
    });
    codes.max_by_key(|code| *code != ExitCode::SUCCESS).unwrap_or(ExitCode::SUCCESS)
}

/// Runs calls, and prints what was wrong and a line about all of them.
fn tell(name: &str, seed: u64, calls: impl FnOnce() -> Report) -> ExitCode {
    let start = Instant::now();
    let report = calls();
    report.wrong.iter().for_each(|wrong| println!("{wrong}\n"));
    println!("{name}, seed {seed}: {report}, {:.0} s", start.elapsed().as_secs_f64());
    if report.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
