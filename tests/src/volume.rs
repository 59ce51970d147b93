//! Random calls in the machine, in any number: what they do is compared with the oracle.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use codegen::{Function, Library};
use machine::Fault;

use crate::argument::{Argument, print_list};
use crate::generate::{self, Choices};
use crate::machine::{InMachine, Linked};
use crate::oracle;
use crate::outcome::{End, Outcome};
use crate::route::{Call, Route};

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Another seed makes other declarations.
    pub seed: u64,
    /// How many calls at least.
    pub calls: u64,
    /// How many threads share the work.
    pub threads: usize,
}

/// What was run.
#[derive(Debug, Default)]
pub struct Report {
    /// Declarations.
    pub declarations: u64,
    /// Calls.
    pub calls: u64,
    /// Calls that succeeded.
    pub accepted: u64,
    /// The calls that did not do what they should, with the declaration and what was found.
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

/// Calls of one declaration.
const CALLS: u64 = 24;

/// What is wrong is listed up to this number.
const SHOWN: usize = 20;

/// Bytes that decide one declaration and its calls.
const BYTES: u64 = 900;

/// Runs random calls until there are enough.
pub fn run(plan: &Plan) -> Report {
    let next = AtomicU64::new(0);
    let report = Mutex::new(Report::default());
    let work = || {
        let mut own = Report::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let enough = index * CALLS >= plan.calls;
            let failed = own.wrong.len() >= SHOWN;
            if enough || failed {
                break;
            }
            one(&noise(plan.seed, index), &mut own);
        }
        let mut all = report.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
    report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A number from each number; the same on every machine.
fn scramble(seed: u64) -> u64 {
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// The bytes of one declaration: a declaration that means nothing gives way to another.
fn noise(seed: u64, index: u64) -> Vec<u8> {
    let start = scramble(seed.wrapping_mul(0x1_0000_0001) ^ index << 20);
    (0..BYTES).map(|at| (scramble(start.wrapping_add(at)) >> 24) as u8).collect()
}

/// The declaration and the calls that bytes stand for, until a declaration means something.
fn one(bytes: &[u8], report: &mut Report) {
    let mut bytes = bytes.to_vec();
    for turn in 0..64 {
        let mut choices = Choices::new(&bytes);
        let text = generate::declaration(&mut choices);
        if let Ok(function) = text.parse::<Function>() {
            let list = |_| generate::arguments(&mut choices, &function);
            let lists: Vec<Vec<Argument>> = (0..CALLS).map(list).collect();
            return compare(&function, &lists, report);
        }
        let seed = bytes.iter().fold(turn, |seed, &byte| scramble(seed ^ u64::from(byte)));
        bytes = noise(seed, turn);
    }
}

/// Makes calls of one declaration, and compares each with what the oracle says.
fn compare(function: &Function, lists: &[Vec<Argument>], report: &mut Report) {
    let machine = InMachine::new(&Library::from(vec![function.clone()]), Linked::Beside);
    let name = &function.signature.name;
    let call = |arguments| Call { function: name, arguments, count: None };
    let calls: Vec<Call<'_>> = lists.iter().map(|arguments| call(arguments)).collect();
    report.declarations += 1;
    for (arguments, outcome) in lists.iter().zip(machine.run(&calls)) {
        let expected = oracle::predict(function, arguments, None);
        report.calls += 1;
        report.accepted += u64::from(matches!(expected.end, End::Result(_)));
        if outcome.as_ref() != Ok(&expected) {
            let found = outcome.map_or_else(str::to_owned, |outcome| outcome.to_string());
            let list = print_list(arguments);
            report
                .wrong
                .push(format!("{function}\n{list}\n  expected {expected}\n  but got  {found}"));
        }
    }
}

/// Makes a call with every fault, the earliest first; hands on what is wrong, and yields how many faults
/// there were.
///
/// Whatever fails, a call must succeed as if nothing had, or raise an error.
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

/// What is wrong with an outcome, where `unharmed` is what happens if nothing fails.
fn judge(outcome: &Outcome, unharmed: &Outcome) -> Option<String> {
    match &outcome.end {
        End::Broken(reason) => Some(reason.clone()),
        End::Result(_) if outcome != unharmed => Some(format!("succeeds with {outcome}")),
        End::Result(_) | End::Error { .. } => None,
    }
}
