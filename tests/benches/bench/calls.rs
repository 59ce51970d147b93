//! Time of calls, by symbol and through a function object.

use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use jit::abi::Any;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};

use crate::answers::Answers;
use crate::cases::{Call, timed};
use crate::counts;
use crate::functions::{Arguments, Calls, Function, Functions};
use crate::peers::{Peer, Peers};
use crate::report::{Plot, Report, Section, Table};
use crate::rust;
use crate::said;
use crate::samples::{Item, Samples, Series, interleave};
use crate::setup::Setup;

/// Peer that others are compared with.
pub(crate) const BASE: &str = "C, gcc -O2";

/// Target duration of a batch of calls, in nanoseconds.
const BATCH: f64 = 200_000.0;

/// Ways to call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Symbol,
    Object,
}

/// A function and its arguments.
#[derive(Clone, Copy)]
struct Job<'a> {
    function: Function,
    args: &'a [Any],
    way: Way,
    fails: bool,
    calls: Calls,
}

impl Job<'_> {
    /// Makes `count` calls; returns nanoseconds per call. Errors are fetched and released.
    fn batch(&self, count: u32) -> f64 {
        let start = Instant::now();
        match (self.way, self.fails) {
            (Way::Symbol, false) => (0..count).for_each(|_| self.good(Self::by_symbol)),
            (Way::Object, false) => (0..count).for_each(|_| self.good(Self::by_object)),
            (Way::Symbol, true) => (0..count).for_each(|_| self.bad(Self::by_symbol)),
            (Way::Object, true) => (0..count).for_each(|_| self.bad(Self::by_object)),
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
    }

    #[inline(always)]
    fn by_symbol(&self, result: &mut Any) -> i32 {
        let (args, count) = (black_box(self.args.as_ptr()), self.args.len() as i32);
        // SAFETY: the arguments are valid, and the result is a place for one.
        unsafe { (self.function.direct)(self.function.context, args, count, result) }
    }

    #[inline(always)]
    fn by_object(&self, result: &mut Any) -> i32 {
        let (args, count) = (black_box(self.args.as_ptr()), self.args.len() as i32);
        // SAFETY: as above; the function object is never freed.
        unsafe { (self.calls.call)(self.function.object, args, count, result) }
    }

    #[inline(always)]
    fn good(&self, call: impl Fn(&Self, &mut Any) -> i32) {
        let mut result = Any::NONE;
        assert_eq!(call(self, &mut result), 0);
        // Passes the address on: a read of the whole value would wait for the callee's smaller stores.
        black_box(&mut result);
    }

    #[inline(always)]
    fn bad(&self, call: impl Fn(&Self, &mut Any) -> i32) {
        let (mut result, mut error) = (Any::NONE, ptr::null_mut());
        assert_ne!(call(self, &mut result), 0);
        // SAFETY: the place is valid, and the reference in the slot is ours.
        unsafe {
            (self.calls.take_error)(&mut error);
            assert!(!error.is_null());
            (self.calls.release)(error);
        }
    }

    /// Returns the number of calls in a batch.
    fn calibrated(&self) -> u32 {
        let each = self.batch(10).min(self.batch(50));
        (BATCH / each).clamp(5.0, 1e6) as u32
    }
}

/// Loads the functions of all peers; leaves out peers that cannot be loaded.
pub(crate) fn load_all(peers: &mut Peers) -> Vec<Functions> {
    let ffi = Ffi::new(ffi::installed());
    let mut all = vec![Functions::jit(&peers.kernels, &ffi)];
    let left_out = &mut peers.left_out;
    for peer in peers.all.iter().filter(|peer| peer.has_libraries()) {
        match Functions::load(peer, &ffi) {
            Ok(functions) => all.push(functions),
            Err(why) => left_out.push(format!("{}: {why}", peer.name)),
        }
    }
    all
}

/// Tables: title, whether the calls fail, and the way of the calls.
const TABLES: [(&str, bool, Way); 4] = [
    ("Successful calls by symbol", false, Way::Symbol),
    ("Successful calls through a function object", false, Way::Object),
    ("Failing calls by symbol", true, Way::Symbol),
    ("Failing calls through a function object", true, Way::Object),
];

/// Runs this part.
pub(crate) fn run(
    setup: &Setup,
    peers: &Peers,
    all: &[Functions],
    answers: &Answers,
    report: &mut Report,
) {
    let (ffi, calls) = (Ffi::new(ffi::installed()), timed());
    let arguments = Arguments::new(&calls, &ffi);
    let moved = peers.all.iter().filter_map(Peer::moved);
    let moved: Vec<Functions> =
        moved.filter_map(|peer| Functions::load(&peer, &ffi).ok()).collect();
    let table = |&(title, fails, way): &(&str, bool, Way)| {
        let mut table = Table { title: title.to_owned(), unit: "ns per call", ..Table::default() };
        table.base = Some(BASE.to_owned());
        table.plot = if way == Way::Symbol { Plot::Marks } else { Plot::None };
        let mut items = Vec::new();
        for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.fails == fails) {
            let (args, calls) = (arguments.of(index), Calls::new());
            for functions in all {
                match function_of(functions, call, answers) {
                    Ok(function) => {
                        let job = Job { function, args, way, fails, calls };
                        items.push(item(job, &functions.peer, call));
                    }
                    Err(why) => table.absent.push([call.name(), functions.peer.clone(), why]),
                }
            }
            for functions in moved.iter().filter(|_| (way, fails) == (Way::Symbol, false)) {
                if let Ok(function) = function_of(functions, call, answers) {
                    let job = Job { function, args, way, fails, calls };
                    items.push(item(job, &at_other_addresses(&functions.peer), call));
                }
            }
        }
        table.series = interleave(items, setup.pick(201, 3));
        table
    };
    let mut tables: Vec<Table> = TABLES.iter().map(table).collect();
    let layouts = layouts(&mut tables[0], &moved);
    let counted = said("counts", || counts::run(setup, peers, all, answers, &mut report.left_out));
    for (table, _) in tables.iter_mut().zip(TABLES).filter(|(_, (.., way))| *way == Way::Symbol) {
        table.counts = counted.clone();
    }
    tables.push(in_short(&tables[0]));
    tables.push(layouts);
    tables.push(rust::handles(setup, &peers.kernels));
    let note = "All functions of a table are called in batches in turn, in one process that pins nothing; \
                each figure is of one round of batches. Everybody calls the same kernels, which are linked \
                into each library. Of failing calls the error is fetched and released.";
    let counts = "Instructions and branches are those of a call by symbol, from the first instruction of the \
                  function to its return, with all that it calls, the kernel too; callgrind counts them, and no \
                  machine changes those of calls that succeed: for an error in C the runtime searches what is \
                  loaded. Taken are conditional branches that jump, and jumps that are not conditional; calls \
                  and returns are neither.";
    let (title, notes) = ("Calls".to_owned(), vec![note.to_owned(), counts.to_owned()]);
    report.sections.push(Section { title, notes, tables });
}

/// Returns the column of a peer whose code is at other addresses.
fn at_other_addresses(peer: &str) -> String {
    format!("{peer}, moved")
}

/// Takes the times of code at other addresses out of a table; returns the table of what they are to the times at the
/// first ones, round by round. A difference between functions that is smaller than this tells nothing of the functions.
fn layouts(table: &mut Table, moved: &[Functions]) -> Table {
    let mut layouts = Table {
        title: "The same functions at other addresses".to_owned(),
        unit: "times the time of the first table",
        ..Table::default()
    };
    for Functions { peer, .. } in moved {
        let column = at_other_addresses(peer);
        let (elsewhere, here) = std::mem::take(&mut table.series)
            .into_iter()
            .partition::<Vec<Series>, _>(|series| series.column == column);
        table.series = here;
        for Series { row, samples, .. } in elsewhere {
            let Some(first) = table.cell(&row, peer) else { continue };
            let ratios = samples.0.iter().zip(&first.0).map(|(moved, first)| moved / first);
            let samples = Samples(ratios.collect());
            layouts.series.push(Series { row, column: peer.clone(), samples });
        }
    }
    layouts
}

/// Rows of functions that all systems can make.
const EVERYWHERE: [&str; 6] =
    ["add_one", "matmul", "strided8", "stride_symbols8", "ints16", "many32"];

/// Peers in the plot of the README.
const SHOWN: [&str; 7] =
    ["JIT", "Cranelift .so", "LLVM .so", BASE, "C++ macro, checked", "Apache TVM", "CuTe DSL"];

/// Returns the figures of a table that the README plots.
fn in_short(table: &Table) -> Table {
    let is_shown =
        |series: &&Series| SHOWN.contains(&&*series.column) && EVERYWHERE.contains(&&*series.row);
    Table {
        title: "Calls that everybody can make".to_owned(),
        unit: table.unit,
        note: "The first table in short, for README.".to_owned(),
        base: table.base.clone(),
        series: table.series.iter().filter(is_shown).cloned().collect(),
        plot: Plot::Marks,
        ..Table::default()
    }
}

/// Returns the function of a call, or the reason why the peer cannot be called.
pub(crate) fn function_of(
    functions: &Functions,
    call: &Call,
    answers: &Answers,
) -> Result<Function, String> {
    let function = functions.by_case.get(call.case).ok_or("—")?;
    let fault = answers.fault(&functions.peer, &call.name());
    fault.map_or(Ok(*function), |fault| Err(fault.to_owned()))
}

fn item<'a>(job: Job<'a>, peer: &str, call: &Call) -> Item<'a> {
    let count = job.calibrated();
    let run = Box::new(move || vec![job.batch(count)]);
    Item { column: peer.to_owned(), rows: vec![call.name()], run }
}
