//! Instructions and conditional branches of wrappers, of every stage that makes them and of the codec of import trees,
//! counted by valgrind and compared with a committed baseline. Time is not judged.
//!
//! ```sh
//! tests/guard           # fails if a measure needs over 3 % more than the baseline says
//! tests/guard --renew   # writes the baseline
//! tests/guard call      # measures and judges calls only; `emit`, `front` and `codec` are the other groups
//! ```
//!
//! The same input costs the same in every run; LLVM's and MLIR's emission vary by 0.3 % with the length of paths. The
//! program needs what `tests/guard` installs.

mod baseline;
mod bump;
mod calls;
mod stages;
mod wrappers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use baseline::{Baseline, first_word};
use bump::Bump;
use tvm_ffi_codegen_tests::callgrind::{self, COLLECT, Counts, Process};
use tvm_ffi_codegen_tests::route::BACKENDS;

#[global_allocator]
static ALLOCATOR: Bump = Bump::new();

/// Backends whose wrappers are measured: MLIR's are the same machine code as LLVM's.
const WITH_WRAPPERS: [&str; 2] = ["cranelift", "llvm"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["measure", group, folder] => {
            measure(group, Path::new(folder));
            ExitCode::SUCCESS
        }
        // Cargo adds a flag of its own. All groups are renewed.
        _ if words.contains(&"--renew") => guard(true, &[]),
        _ => {
            let groups = words.iter().copied().filter(|word| !word.starts_with("--"));
            guard(false, &groups.collect::<Vec<_>>())
        }
    }
}

/// Returns the groups of measures, each for a process of its own, the slowest first.
fn groups() -> Vec<String> {
    let emit = BACKENDS.iter().rev().map(|backend| format!("emit {backend}"));
    let wrappers = WITH_WRAPPERS.iter().filter(|backend| BACKENDS.contains(backend));
    let wrappers = wrappers.map(|backend| format!("call {backend}"));
    let objects = ["objects"].into_iter().filter(|_| BACKENDS.contains(&"llvm"));
    let others = objects.chain(["front", "codec"]).map(str::to_owned);
    emit.chain(wrappers).chain(others).collect()
}

fn measure(group: &str, folder: &Path) {
    ALLOCATOR.start();
    match group.split_once(' ') {
        Some(("call", backend)) => wrappers::measure(folder, backend),
        Some(("emit", backend)) => stages::back(backend),
        _ if group == "objects" => stages::objects(),
        _ if group == "front" => stages::front(),
        _ if group == "codec" => stages::codec(),
        _ => panic!("no group {group}"),
    }
}

/// Makes the measures of a group in a process of its own.
///
/// # Panics
/// If a measure fails.
fn count(group: &str, folder: &Path) -> Vec<(String, Counts)> {
    let process = Process {
        folder,
        name: &group.replace(' ', "-"),
        arguments: &["measure", group, folder.to_str().expect("the path is text")],
        collect: &[COLLECT, wrappers::CALLER],
        caller: Some(wrappers::CALLER),
        taken: false,
    };
    process.run().unwrap_or_else(|error| panic!("{group}: {error}; use tests/guard"))
}

/// Makes the measures of the groups whose first word is wanted, of all groups if none is, on all processors.
fn measures(wanted: &[&str]) -> BTreeMap<String, Counts> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    callgrind::prepare(folder.path());
    let mut groups = groups();
    groups.retain(|group| wanted.is_empty() || wanted.contains(&first_word(group)));
    assert!(!groups.is_empty(), "no group begins with {wanted:?}");
    for group in &groups {
        if let Some(("call", backend)) = group.split_once(' ') {
            wrappers::build(folder.path(), backend);
        }
    }
    let (next, counts) = (Mutex::new(groups.iter()), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let Some(group) = next.lock().expect("no panic").next() else { return };
            let counted = count(group, folder.path());
            counts.lock().expect("no panic").extend(counted);
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        (0..workers).for_each(|_| drop(scope.spawn(work)));
    });
    counts.into_inner().expect("no panic")
}

fn guard(renew: bool, wanted: &[&str]) -> ExitCode {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/guard/baseline.txt");
    let now = Baseline::new(measures(wanted));
    if renew {
        std::fs::write(&path, now.to_string()).expect("the baseline can be written");
        println!("guard: {} measures in {}", now.counts.len(), path.display());
        return ExitCode::SUCCESS;
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default().parse();
    match before.map(|before| now.judged(before)) {
        Ok(before) if now.compare(&before) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(reason) => {
            println!("guard: {}: {reason}", path.display());
            ExitCode::FAILURE
        }
    }
}
