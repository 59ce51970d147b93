//! Time of calls, by symbol and through a function object.

use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use jit::abi::Any;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};

use crate::answers::Answers;
use crate::cases::{Call, timed};
use crate::counts;
use crate::functions::{Arguments, Calls, Function, Functions, JIT};
use crate::peers::{Kind, Peers};
use crate::report::{Line, Plot, Report, Section, Table, number};
use crate::rust;
use crate::said;
use crate::samples::{Item, Series, interleave};
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
        }
        table.series = interleave(items, setup.pick(201, 3));
        table
    };
    let mut tables: Vec<Table> = TABLES.iter().map(table).collect();
    let counted = said("counts", || counts::run(setup, peers, all, answers, &mut report.left_out));
    for (table, _) in tables.iter_mut().zip(TABLES).filter(|(_, (.., way))| *way == Way::Symbol) {
        table.counts = counted.clone();
    }
    summarize(&tables, peers, report);
    tables.push(in_short(&tables[0]));
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

/// Rows of functions that all systems can make, and their names in the summary.
const EVERYWHERE: [(&str, &str); 6] = [
    ("add_one", "checked call of `add_one`"),
    ("matmul", "`matmul`, three matrices"),
    ("strided8", "eight 4-D tensors"),
    ("stride_symbols8", "eight 4-D tensors, stride symbols"),
    ("ints16", "sixteen `int32`"),
    ("many32", "32 matrices"),
];

/// Peers in the plot of the README.
const SHOWN: [&str; 7] =
    ["JIT", "Cranelift .so", "LLVM .so", BASE, "C++ macro, checked", "Apache TVM", "CuTe DSL"];

/// Returns the figures of a table that the README plots.
fn in_short(table: &Table) -> Table {
    let is_shown = |series: &&Series| {
        SHOWN.contains(&&*series.column) && EVERYWHERE.iter().any(|(row, _)| *row == series.row)
    };
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

/// Rows that only some peers or ours alone can do: the row of the first table, its name in the summary, and the peer to
/// compare with.
const ELSEWHERE: [(&str, &str, &str); 15] = [
    ("add_one: DLTensor*", "`add_one`, every tensor a `DLTensor*`", BASE),
    ("add_one: alternating", "`add_one`, objects and `DLTensor*` in turn", BASE),
    ("strided8: DLTensor*", "eight 4-D tensors, every one a `DLTensor*`", BASE),
    ("strided8: alternating", "eight 4-D tensors, objects and `DLTensor*` in turn", BASE),
    ("stride_symbols8: DLTensor*", "stride symbols, every tensor a `DLTensor*`", BASE),
    ("stride_symbols8: alternating", "stride symbols, objects and `DLTensor*` in turn", BASE),
    ("by_name", "call by name, two matrices", BASE),
    ("by_symbol", "call by symbol, checked there again", BASE),
    ("axpy", "launch, on a driver that does nothing", BASE),
    ("axpy_hip", "launch through HIP, likewise", BASE),
    ("tensor_maps", "launch with three tensor maps, likewise", BASE),
    ("submit", "the same launch, prepared once", BASE),
    ("pair", "`Tuple` of two tensors", MACRO),
    ("union: tensor", "`Union`, given a tensor", MACRO),
    ("map8", "`Map` of 8", MACRO),
];

const MACRO: &str = "C++ macro, checked";

/// Adds lines to the summary: ours beside C or the macro, and beside other systems.
fn summarize(tables: &[Table], peers: &Peers, report: &mut Report) {
    let ours = peers.all.iter().filter(|peer| matches!(peer.kind, Kind::Ours(_)));
    let ours: Vec<&str> = [JIT].into_iter().chain(ours.map(|peer| &*peer.name)).collect();
    let systems = peers.all.iter().filter(|peer| peer.kind == Kind::System);
    let systems: Vec<&str> = systems.map(|peer| &*peer.name).collect();
    let mut line = |table: &Table, row: &str, what: &str, base: &str| {
        let beside: Vec<&str> = [base].into_iter().chain(systems.iter().copied()).collect();
        report.summary.extend(summary(table, row, what, &ours, &beside));
    };
    for (row, what) in EVERYWHERE {
        line(&tables[0], row, what, BASE);
    }
    for (row, what, base) in ELSEWHERE {
        line(&tables[0], row, what, base);
    }
    line(&tables[2], "add_one: unequal extents", "failing call", BASE);
}

/// Creates a line from a row: ours beside the others, the first of which is the base.
fn summary(table: &Table, row: &str, what: &str, ours: &[&str], beside: &[&str]) -> Option<Line> {
    let time = |name: &str| Some(format!("{} ns", number(table.cell(row, name)?.median())));
    let one = |name: &&str| {
        let ratio = table.ratio(row, name, beside[0])?;
        Some(format!("{ratio:.2}× {name} ({})", time(name)?))
    };
    let figures: Vec<String> = ours.iter().filter_map(one).collect();
    let other = |name: &&str| Some(format!("{name}, {}", time(name)?));
    let others: Vec<String> = beside.iter().filter_map(other).collect();
    if figures.is_empty() || others.is_empty() {
        return None;
    }
    let mut line = Line::new(what, figures.join(", "), others.join("; "));
    line.counts = counted(table, row, &[ours, beside].concat());
    Some(line)
}

/// Prints the counts of some peers in a row; peers with the same counts stand together.
fn counted(table: &Table, row: &str, names: &[&str]) -> String {
    let mut groups: Vec<(String, String)> = Vec::new();
    for name in names {
        let Some(counts) = table.counted(row, name) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == counts) {
            Some((_, names)) => names.push_str(&format!(" and {name}")),
            None => groups.push((counts, (*name).to_owned())),
        }
    }
    let group = |(counts, names): &(String, String)| format!("{counts} {names}");
    groups.iter().map(group).collect::<Vec<_>>().join("; ")
}
