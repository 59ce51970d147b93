//! What calls cost, by symbol and through a function object.

use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use jit::abi::Any;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};

use crate::answers::Answers;
use crate::cases::{Call, timed};
use crate::functions::{Arguments, Calls, Function, Functions, JIT};
use crate::peers::{Kind, Peers};
use crate::report::{Plot, Report, Section, Table, number};
use crate::rust;
use crate::samples::{Item, Series, interleave};
use crate::setup::Setup;

/// The peer that others are compared with.
pub(crate) const BASE: &str = "C, gcc -O2";

/// Nanoseconds that a batch of calls of one function should take.
const BATCH: f64 = 200_000.0;

/// How a function is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Symbol,
    Object,
}

/// One function and one list of arguments.
#[derive(Clone, Copy)]
struct Job<'a> {
    function: Function,
    args: &'a [Any],
    way: Way,
    fails: bool,
    calls: Calls,
}

impl Job<'_> {
    /// Nanoseconds per call, of so many. Errors are fetched and released.
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
        unsafe { (self.function.direct)(ptr::null_mut(), args, count, result) }
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
        // Its address only: reading all of it at once would wait for the callee's stores, which are smaller.
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

    /// How many calls make a batch.
    fn calibrated(&self) -> u32 {
        let each = self.batch(10).min(self.batch(50));
        (BATCH / each).clamp(5.0, 1e6) as u32
    }
}

/// Everybody's functions in this process. Who cannot be loaded is left out.
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

/// The tables: title, whether the calls fail, how functions are reached.
const TABLES: [(&str, bool, Way); 4] = [
    ("Successful calls by symbol", false, Way::Symbol),
    ("Successful calls through a function object", false, Way::Object),
    ("Failing calls by symbol", true, Way::Symbol),
    ("Failing calls through a function object", true, Way::Object),
];

/// Runs the part.
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
                match job_of(functions, call, answers) {
                    Ok(function) => {
                        let job = Job { function, args, way, fails, calls };
                        items.push(item(job, &functions.peer, call));
                    }
                    Err(why) => table.absent.push([call.name(), functions.peer.clone(), why]),
                }
            }
        }
        table.series = interleave(items, setup.pick(201, 15));
        table
    };
    let mut tables: Vec<Table> = TABLES.iter().map(table).collect();
    summarize(&tables, peers, report);
    tables.push(in_short(&tables[0]));
    tables.push(rust::handles(setup, &peers.kernels));
    let note = "All functions of a table are called in batches in turn, in one process that pins nothing; \
                each figure is of one round of batches. Everybody calls the same kernels, which are linked \
                into each library. Of failing calls the error is fetched and released.";
    let (title, notes) = ("Calls".to_owned(), vec![note.to_owned()]);
    report.sections.push(Section { title, notes, tables });
}

/// What all systems can do, and how the summary calls it.
const EVERYWHERE: [(&str, &str); 5] = [
    ("add_one", "checked call of `add_one`"),
    ("matmul", "`matmul`, three matrices"),
    ("strided8", "eight 4-D tensors"),
    ("ints16", "sixteen `int32`"),
    ("many32", "32 matrices"),
];

/// Who is in the plot of the README.
const SHOWN: [&str; 7] =
    ["JIT", "Cranelift .so", "LLVM .so", BASE, "C++ macro, checked", "Apache TVM", "CuTe DSL"];

/// The figures of a table that the README shows as a plot.
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

fn job_of(functions: &Functions, call: &Call, answers: &Answers) -> Result<Function, String> {
    let function = functions.by_case.get(call.case).ok_or("—")?;
    let fault = answers.fault(&functions.peer, &call.name());
    fault.map_or(Ok(*function), |fault| Err(fault.to_owned()))
}

fn item<'a>(job: Job<'a>, peer: &str, call: &Call) -> Item<'a> {
    let count = job.calibrated();
    let run = Box::new(move || vec![job.batch(count)]);
    Item { column: peer.to_owned(), rows: vec![call.name()], run }
}

/// Lines for the README: the best of ours beside C and the macro.
fn summarize(tables: &[Table], peers: &Peers, report: &mut Report) {
    let names = peers.all.iter().filter(|peer| matches!(peer.kind, Kind::Ours(_)));
    let ours: Vec<&str> = [JIT].into_iter().chain(names.map(|peer| peer.name.as_str())).collect();
    let systems = peers.all.iter().filter(|peer| peer.kind == Kind::System);
    let systems: Vec<&str> = systems.map(|peer| peer.name.as_str()).collect();
    let mut line = |table: &Table, row: &str, what: &str, base: &str| {
        let one = |name: &&str| {
            let (ratio, cell) = (table.ratio(row, name, base)?, table.cell(row, name)?);
            Some(format!("{ratio:.2}× {name} ({} ns)", number(cell.median())))
        };
        let figures: Vec<String> = ours.iter().filter_map(one).collect();
        let time =
            |name: &&str| Some(format!("{name}, {} ns", number(table.cell(row, name)?.median())));
        let beside: Vec<String> = [base].iter().chain(&systems).filter_map(time).collect();
        if !figures.is_empty() && !beside.is_empty() {
            report.summary.push([what.to_owned(), figures.join(", "), beside.join("; ")]);
        }
    };
    for (row, what) in EVERYWHERE {
        line(&tables[0], row, what, BASE);
    }
    line(&tables[0], "by_name", "call by name, two matrices", BASE);
    line(&tables[0], "by_symbol", "call by symbol, checked there again", BASE);
    line(&tables[0], "axpy", "launch, on a driver that does nothing", BASE);
    line(&tables[0], "pair", "`Tuple` of two tensors", "C++ macro, checked");
    line(&tables[0], "union: tensor", "`Union`, given a tensor", "C++ macro, checked");
    line(&tables[0], "map8", "`Map` of 8", "C++ macro, checked");
    line(&tables[2], "add_one: unequal extents", "failing call", BASE);
}
