//! Instructions and branches of calls, counted by callgrind in a process per peer; they do not depend on the machine.

use std::path::Path;
use std::sync::Mutex;
use std::thread;

use jit::abi::Any;
use tvm_ffi_codegen_tests::callgrind::{self, Counts, Process};
use tvm_ffi_codegen_tests::ffi::{self, Ffi};

use crate::answers::Answers;
use crate::calls::function_of;
use crate::cases::{Call, timed};
use crate::children::CHILD;
use crate::functions::{Arguments, Function, Functions, JIT};
use crate::peers::{Peer, Peers};
use crate::setup::{Setup, exists};

/// Name of the child.
pub(crate) const NAME: &str = "counts";

/// The function from which callgrind counts. Its own instructions are left out.
const CALL: &str = "bench_call";

/// Counts of a call of a peer's function, from its first instruction to its return.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) row: String,
    pub(crate) column: String,
    pub(crate) counts: Counts,
}

/// The calls of one peer.
struct Job<'a> {
    peer: &'a str,
    folder: String,
    /// Indices of the calls in [`timed`].
    calls: Vec<usize>,
}

/// Counts the timed calls by symbol, on all processors. Peers that cannot be counted are left out, and in short mode
/// failing calls are too, because the runtime reads all debug information for the first error from C.
pub(crate) fn run(
    setup: &Setup,
    peers: &Peers,
    all: &[Functions],
    answers: &Answers,
    left_out: &mut Vec<String>,
) -> Vec<Counted> {
    if !exists("valgrind") {
        left_out.push("instructions and branches: there is no valgrind".to_owned());
        return Vec::new();
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    callgrind::prepare(folder.path());
    let calls = timed();
    let job = |functions| {
        let is_counted = |call: &Call| !(setup.short && call.fails);
        let is_there = |call: &Call| function_of(functions, call, answers).is_ok();
        let calls = calls.iter().enumerate().filter(|(_, call)| is_counted(call) && is_there(call));
        Job::new(functions, peers, calls.map(|(index, _)| index).collect())
    };
    let jobs: Vec<Job<'_>> = all.iter().map(job).filter(|job| !job.calls.is_empty()).collect();
    let (jobs, results) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(job) = jobs.lock().expect("no panic").next() else { return };
            let counted = job.run(&calls, folder.path());
            results.lock().expect("no panic").push((job.peer, counted));
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        (0..workers).for_each(|_| drop(scope.spawn(work)));
    });
    let mut counted = Vec::new();
    for (peer, result) in results.into_inner().expect("no panic") {
        match result {
            Ok(mut calls) => counted.append(&mut calls),
            Err(why) => {
                let why = why.lines().take(2).collect::<Vec<_>>().join(", ");
                left_out.push(format!("instructions and branches of {peer}: {why}"));
            }
        }
    }
    counted
}

impl<'a> Job<'a> {
    fn new(functions: &'a Functions, peers: &Peers, calls: Vec<usize>) -> Job<'a> {
        let peer = peers.all.iter().find(|peer| peer.name == functions.peer);
        let folder = peer.map_or(JIT.to_owned(), |peer| peer.folder.display().to_string());
        Job { peer: &functions.peer, folder, calls }
    }

    fn run(&self, calls: &[Call], folder: &Path) -> Result<Vec<Counted>, String> {
        let indices: Vec<String> = self.calls.iter().map(usize::to_string).collect();
        let process = Process {
            folder,
            name: &self.peer.replace(|c: char| !c.is_alphanumeric(), "-"),
            arguments: &[CHILD, NAME, &self.folder, &indices.join(",")],
            collect: &[CALL],
            caller: Some(CALL),
            taken: true,
        };
        let measures = process.run()?;
        let names = measures.iter().map(|(name, _)| name);
        if !names.eq(&indices) {
            return Err("its functions print what they should not".to_owned());
        }
        let counted = |(index, (_, counts)): (&usize, (String, Counts))| Counted {
            row: calls[*index].name(),
            column: self.peer.to_owned(),
            counts,
        };
        Ok(self.calls.iter().zip(measures).map(counted).collect())
    }
}

/// Runs the child: makes every call as often as callgrind wants it.
pub(crate) fn child(setup: &Setup, arguments: &[String]) {
    let [folder, indices] = arguments else { panic!("{arguments:?}") };
    let (ffi, kernels) = (Ffi::new(ffi::installed()), Peers::built(setup));
    let functions = if folder == JIT {
        Functions::jit(&kernels, &ffi)
    } else {
        let peer = Peer::of_folder(folder.into());
        Functions::load(&peer, &ffi).unwrap_or_else(|error| panic!("{error}"))
    };
    let calls = timed();
    let arguments = Arguments::new(&calls, &ffi);
    for name in indices.split(',') {
        let index: usize = name.parse().expect("a number");
        let (call, args) = (&calls[index], arguments.of(index));
        let function = functions.by_case[call.case];
        callgrind::count(name, || once(function, args, call.fails, &ffi));
    }
}

/// # Panics
/// If the call has the wrong outcome.
fn once(function: Function, args: &[Any], fails: bool, ffi: &Ffi) {
    let (mut result, count) = (Any::NONE, args.len() as i32);
    // SAFETY: the arguments are valid, and the result is a place for one.
    let status = unsafe { bench_call(function, args.as_ptr(), count, &mut result) };
    assert_eq!((status != 0, ffi.take_error().is_some()), (fails, fails));
}

/// # Safety
/// As for a safe call.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe fn bench_call(function: Function, args: *const Any, count: i32, result: *mut Any) -> i32 {
    // SAFETY: as required of the caller.
    let status = unsafe { (function.direct)(function.context, args, count, result) };
    // Keeps the call above from becoming a tail call.
    std::hint::black_box(status)
}
