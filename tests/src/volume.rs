//! Random calls in any number, in the machine or in compiled code, compared with the oracle.

pub mod entered;
mod kept;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use codegen::{Function, Library};
use machine::Fault;

use crate::argument::{Argument, print_list};
use crate::ffi;
use crate::generate::{self, Choices};
use crate::machine::{InMachine, Linked};
use crate::oracle;
use crate::outcome::{End, Outcome};
use crate::route::{BACKENDS, Call, InProcess, Route, Shared};

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed; another one makes other declarations.
    pub seed: u64,
    /// Minimal number of calls.
    pub calls: u64,
    /// The time at which the run ends, even if there are fewer calls.
    pub until: Option<Instant>,
    /// Calls per declaration.
    pub each: u64,
    /// Number of threads.
    pub threads: usize,
    /// Engine of the calls.
    pub through: Through,
}

/// Engine of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// The machine for host IR.
    Machine,
    /// The JIT.
    Jit,
    /// Shared libraries of the named backend.
    Backend(&'static str),
}

impl Through {
    /// Returns the engines of this build.
    pub fn all() -> Vec<Through> {
        let backends = BACKENDS.iter().map(|&name| Through::Backend(name));
        [Through::Machine, Through::Jit].into_iter().chain(backends).collect()
    }

    /// Returns the name that [`tests/volume`](self) accepts.
    pub fn name(self) -> &'static str {
        match self {
            Through::Machine => "machine",
            Through::Jit => "jit",
            Through::Backend(name) => name,
        }
    }

    /// Returns the number of declarations per library: fewer if libraries cost little.
    fn functions(self) -> u64 {
        match self {
            Through::Machine => 1,
            Through::Jit | Through::Backend(_) => 150,
        }
    }

    fn route(self, library: &Library) -> Box<dyn Route> {
        match self {
            Through::Machine => Box::new(InMachine::new(library, Linked::Beside)),
            Through::Jit => Box::new(InProcess::new(library, ffi::installed())),
            Through::Backend(name) => Box::new(Shared::new(library, name)),
        }
    }
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of declarations.
    pub declarations: u64,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that succeeded.
    pub accepted: u64,
    /// Calls with a wrong outcome: declaration and difference.
    pub wrong: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { declarations, calls, accepted, wrong } = self;
        let wrong = wrong.len();
        write!(
            f,
            "{calls} calls of {declarations} declarations, {accepted} accepted, {wrong} wrong"
        )
    }
}

/// Number of wrong calls after which a thread stops.
const SHOWN: usize = 20;

/// Bytes of choices per declaration.
const BYTES: u64 = 60;

/// Bytes of choices per call.
const CALL_BYTES: u64 = 35;

/// Runs random calls until there are enough.
pub fn run(plan: &Plan) -> Report {
    let next = AtomicU64::new(0);
    let report = Mutex::new(Report::default());
    let functions = plan.through.functions();
    let work = || {
        let mut own = Report::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed) * functions;
            let is_late = plan.until.is_some_and(|until| Instant::now() >= until);
            let enough = is_late || index * plan.each >= plan.calls;
            let failed = own.wrong.len() >= SHOWN;
            if enough || failed {
                break;
            }
            let cases: Vec<RandomFunction> =
                (index..index + functions).map(|at| RandomFunction::new(plan, at)).collect();
            compare(plan.through, &cases, &mut own);
        }
        let mut all = report.lock().unwrap_or_else(PoisonError::into_inner);
        all.declarations += own.declarations;
        all.calls += own.calls;
        all.accepted += own.accepted;
        all.wrong.append(&mut own.wrong);
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.max(1) {
            let builder = std::thread::Builder::new().stack_size(64 << 20);
            builder.spawn_scoped(scope, work).expect("a thread can be made");
        }
    });
    report.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Hashes a number; the same on every machine.
pub(crate) fn scramble(seed: u64) -> u64 {
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// Returns `count` bytes that depend on the seed and the index.
pub(crate) fn noise(seed: u64, index: u64, count: u64) -> Vec<u8> {
    let start = scramble(seed.wrapping_mul(0x1_0000_0001) ^ index << 20);
    (0..count).map(|at| (scramble(start.wrapping_add(at)) >> 24) as u8).collect()
}

/// A random declaration with random calls of it.
#[derive(Debug)]
pub struct RandomFunction {
    /// The declaration.
    pub function: Function,
    /// The arguments of each call.
    pub lists: Vec<Vec<Argument>>,
}

/// Beginnings of the names of functions, each of which ends with a number. Every assembler takes them. The first
/// character is in ASCII.
const NAMES: [&str; 5] = ["f", "_f", "my.f ", "a%s{}*/", "a é数-$"];

impl RandomFunction {
    /// Generates the function of an index; its name includes the index.
    ///
    /// # Panics
    /// If no random declaration is valid.
    pub fn new(plan: &Plan, index: u64) -> RandomFunction {
        let count = BYTES + CALL_BYTES * plan.each;
        let mut bytes = noise(plan.seed, index, count);
        // An invalid declaration is replaced by another.
        for turn in 0..64 {
            let mut choices = Choices::new(&bytes);
            let text = generate::declaration(&mut choices);
            if let Ok(mut function) = text.parse::<Function>() {
                let list = |_| generate::arguments(&mut choices, &function);
                let lists = (0..plan.each).map(list).collect();
                let start = NAMES[(index % NAMES.len() as u64) as usize];
                function.signature.name = format!("{start}{index}");
                return RandomFunction { function, lists };
            }
            let seed = bytes.iter().fold(turn, |seed, &byte| scramble(seed ^ u64::from(byte)));
            bytes = noise(seed, turn, count);
        }
        panic!("no declaration of seed {}, index {index}, means anything", plan.seed)
    }
}

/// Makes the calls and compares each outcome with the oracle's.
fn compare(through: Through, cases: &[RandomFunction], report: &mut Report) {
    let functions: Vec<Function> = cases.iter().map(|case| case.function.clone()).collect();
    let route = through.route(&Library::from(functions));
    report.declarations += cases.len() as u64;
    for RandomFunction { function, lists } in cases {
        let name = &function.signature.name;
        let call = |arguments| Call { function: name, arguments, count: None };
        let calls: Vec<Call<'_>> = lists.iter().map(|arguments| call(arguments)).collect();
        let expected: Vec<Outcome> =
            lists.iter().map(|arguments| oracle::predict(function, arguments, None)).collect();
        // One of four, since each is lowered and linked twice more.
        if through == Through::Machine && report.declarations.is_multiple_of(4) {
            report.calls += kept::compare(function, lists, &expected, &mut report.wrong);
            report.calls += entered::compare(function, lists, &expected, &mut report.wrong);
        }
        for ((arguments, outcome), expected) in lists.iter().zip(route.run(&calls)).zip(expected) {
            report.calls += 1;
            report.accepted += u64::from(matches!(expected.end, End::Result(_)));
            if outcome.as_ref() != Ok(&expected) {
                let found = outcome.map_or_else(str::to_owned, |outcome| outcome.to_string());
                let (route, list) = (route.name(), print_list(arguments));
                report.wrong.push(format!(
                    "{route}\n{function}\n{list}\n  expected {expected}\n  but got  {found}"
                ));
            }
        }
    }
}

/// Makes a call with every fault, the earliest first; reports wrong outcomes and returns the number of faults.
///
/// Whatever fails, a call must succeed as if nothing had failed, or raise an error.
pub fn faults(machine: &InMachine, call: &Call<'_>, wrong: &mut dyn FnMut(String)) -> u64 {
    let unharmed = machine.run_faulty(call, None);
    let Ok(expected) = unharmed.outcome else { return 0 };
    if let End::Broken(reason) = &expected.end {
        wrong(format!("without a fault: {reason}"));
    }
    let mut count = 0;
    for silent in [false, true] {
        for number in 1.. {
            let run = machine.run_faulty(call, Some(Fault { number, silent }));
            if run.fallible_calls < number {
                break;
            }
            count += 1;
            let Ok(outcome) = run.outcome else { break };
            if let Some(reason) = judge(&outcome, &expected) {
                wrong(format!("fault {number}, silent {silent}: {reason}"));
            }
        }
    }
    count
}

/// Judges an outcome; `unharmed` is the outcome without a fault.
fn judge(outcome: &Outcome, unharmed: &Outcome) -> Option<String> {
    match &outcome.end {
        End::Broken(reason) => Some(reason.clone()),
        End::Result(_) if outcome != unharmed => Some(format!("succeeds with {outcome}")),
        End::Result(_) | End::Error { .. } => None,
    }
}
