//! Calls from two threads at once, beside the calls of one: functions that choose among what a cached call has kept.

use std::collections::BTreeSet;
use std::hint;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jit::abi::{Any, SafeCall};
use libloading::Library;
use tvm_ffi_codegen_tests::route::BACKENDS;

use crate::ours;
use crate::peers::{Kernels, Peers};
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Item, interleave};
use crate::setup::Setup;

/// Name of a row, and the key of a call by the number of its thread and by its own.
type Row = (&'static str, fn(usize, usize) -> i64);

const ROWS: [Row; 5] = [
    // The threads share nothing: what they take beside one is the machine's.
    (APART, |_, _| 7),
    ("the same key", |_, _| 7),
    ("a key for each thread", |thread, _| 7 + thread as i64),
    ("two keys in turns", |_, turn| 7 + (turn % 2) as i64),
    ("16 keys in turns", |thread, turn| ((turn + 5 * thread) % 16) as i64),
];

/// Name of the row whose threads have a function each.
const APART: &str = "a site for each thread";

/// Number of calls of a thread in a round.
const CALLS: usize = 20_000;

/// Number of tries to have the threads run at the same time.
const TRIES: usize = 50;

/// Columns by their number of threads less one.
const COLUMNS: [&str; 2] = ["one thread", "two threads"];

/// Returns the name of the function that a thread calls for a row; each has a site of its own.
fn name(row: usize, thread: usize) -> String {
    let thread = if ROWS[row].0 == APART { thread } else { 0 };
    format!("pick{row}_{thread}")
}

fn text() -> String {
    let threads = 0..COLUMNS.len();
    let names =
        (0..ROWS.len()).flat_map(|row| threads.clone().map(move |thread| name(row, thread)));
    let function = |name| {
        format!(
            "{name}(k: int64) -> None = {{ let f: Function = cached (k, k % 16 == 0, k == 1) \
             @\"ffi.FunctionListGlobalNamesFunctor\"(); }};\n"
        )
    };
    names.collect::<BTreeSet<_>>().into_iter().map(function).collect()
}

/// Runs this part.
pub(crate) fn run(setup: &Setup, peers: &Peers, report: &mut Report) {
    let compiled = ours::compile(&text(), &peers.kernels);
    let of_jit = |name: &str| compiled.function(name).expect("it is declared").as_ptr();
    let mut tables = vec![table(setup, "JIT", &of_jit)];
    if BACKENDS.contains(&"llvm") {
        let library = shared(&setup.subfolder("threads").join("llvm.so"), &peers.kernels);
        let of_library = |name: &str| {
            // SAFETY: functions of the library are of this type.
            *unsafe { library.get::<SafeCall>(format!("__tvm_ffi_{name}")) }.expect("it is there")
        };
        tables.push(table(setup, "LLVM, shared library", &of_library));
    }
    report.sections.push(Section { title: "Threads".to_owned(), tables, ..Section::default() });
}

fn shared(path: &Path, kernels: &Kernels) -> Library {
    ours::write_shared(&text(), "llvm", kernels, path);
    // SAFETY: the library has no initialisers.
    unsafe { Library::new(path) }.unwrap_or_else(|error| panic!("{error}"))
}

fn table(setup: &Setup, route: &str, function: &dyn Fn(&str) -> SafeCall) -> Table {
    let of_row = |row| [0, 1].map(|thread| function(&name(row, thread)));
    let functions: Vec<[SafeCall; COLUMNS.len()]> = (0..ROWS.len()).map(of_row).collect();
    for &function in functions.iter().flatten() {
        (0..32).for_each(|key| call(function, key));
    }
    let item = |threads: usize| {
        let functions = functions.clone();
        let run = move || {
            let rows = ROWS.iter().zip(&functions);
            rows.map(|((_, key), functions)| together(&functions[..threads], *key)).collect()
        };
        let rows = ROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
        Item { column: COLUMNS[threads - 1].to_owned(), rows, run: Box::new(run) }
    };
    let items = (1..=COLUMNS.len()).map(item).collect();
    Table {
        title: format!("Cached calls that find what they have kept, from several threads: {route}"),
        unit: "ns",
        note: "Of the slower thread, in rounds in which all run at the same time.".to_owned(),
        base: Some(COLUMNS[0].to_owned()),
        series: interleave(items, setup.pick(101, 1)),
        plot: Plot::Marks,
        ..Table::default()
    }
}

fn call(function: SafeCall, key: i64) {
    let (arg, mut result) = (Any::int(abi_spec::TypeIndex::INT, key), Any::NONE);
    // SAFETY: the function takes an integer, and there is a place for the result.
    assert_eq!(unsafe { function(ptr::null_mut(), &arg, 1, &mut result) }, 0);
}

/// Returns the nanoseconds of a call of the slower thread in a round in which the threads, one for each function, run
/// at the same time, or in the last one that was tried.
fn together(functions: &[SafeCall], key: fn(usize, usize) -> i64) -> f64 {
    let mut longest = Duration::ZERO;
    for _ in 0..TRIES {
        let ready = AtomicUsize::new(0);
        let work = |thread: usize| {
            ready.fetch_add(1, Ordering::SeqCst);
            while ready.load(Ordering::SeqCst) < functions.len() {
                hint::spin_loop();
            }
            let start = Instant::now();
            (0..CALLS).for_each(|turn| call(functions[thread], key(thread, turn)));
            (start, Instant::now())
        };
        let work = &work;
        let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
            let started: Vec<_> =
                (0..functions.len()).map(|thread| scope.spawn(move || work(thread))).collect();
            started.into_iter().map(|thread| thread.join().expect("calls succeed")).collect()
        });
        let last = spans.iter().map(|(start, _)| *start).max().expect("there is a thread");
        let first = spans.iter().map(|(_, end)| *end).min().expect("there is a thread");
        longest = spans.iter().map(|(start, end)| *end - *start).max().unwrap_or_default();
        if first.saturating_duration_since(last).as_secs_f64() > 0.95 * longest.as_secs_f64() {
            break;
        }
    }
    longest.as_secs_f64() * 1e9 / CALLS as f64
}
