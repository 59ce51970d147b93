//! The table of calls on a runtime whose functions fail: the first one that a call makes, the second, and so on. The
//! test is a process of its own, because the stand-in of `faults.c` must be loaded before libtvm_ffi.
//!
//! Whatever fails, a function must succeed as if nothing had failed, or raise an error; it must write no result when it
//! raises, and balance its references.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use codegen::Library;
use jit::Runtime;
use libloading::os::unix::{Library as Loaded, RTLD_GLOBAL, RTLD_NOW};
use tvm_ffi_codegen_tests::argument::{parse_list, print_list};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::every::{declarations, values};
use tvm_ffi_codegen_tests::fake_cuda::{self, CUBIN, FakeCuda};
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::outcome::{End, Outcome};
use tvm_ffi_codegen_tests::route::{Call, InProcess, Route, Shared};

/// Functions of the stand-in.
#[derive(Debug)]
struct Faults {
    runtime: &'static Runtime,
    arm: unsafe extern "C" fn(i64, i32),
    disarm: unsafe extern "C" fn() -> i64,
    live: unsafe extern "C" fn() -> i64,
    forget: unsafe extern "C" fn(),
}

/// Number of the call that fails, and number of calls so far.
static FAULT: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicI64 = AtomicI64::new(0);
/// Not 0 if the failing call leaves no error.
static SILENT: AtomicI64 = AtomicI64::new(0);

/// Locks the stand-in, which is shared by all tests.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // The stand-in must be loaded before libtvm_ffi.
    faults();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles the stand-in and loads it, and libtvm_ffi with it, visible to all libraries.
fn faults() -> &'static Faults {
    static FAULTS: OnceLock<Faults> = OnceLock::new();
    FAULTS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("faults.so");
        let libraries = config("--libdir");
        let mut compile = Command::new("cc");
        compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
        compile.arg(format!("-I{}", config("--includedir")));
        compile.arg(format!("-I{}", config("--dlpack-includedir")));
        compile.arg(host("faults.c"));
        compile.arg(Path::new(&libraries).join("libtvm_ffi.so"));
        cc(compile.arg(format!("-Wl,-rpath,{libraries}")).args(["-ldl", "-o"]).arg(&path));
        // SAFETY: the stand-in has no initialisers, the functions have these types, and the library is
        // never unloaded.
        unsafe {
            let library = Loaded::open(Some(&path), RTLD_NOW | RTLD_GLOBAL);
            let library = library.unwrap_or_else(|error| panic!("{error}"));
            let faults = Faults {
                runtime: Runtime::load(&path).unwrap_or_else(|error| panic!("{error}")),
                arm: *library.get(b"faults_arm").expect("defined there"),
                disarm: *library.get(b"faults_disarm").expect("defined there"),
                live: *library.get(b"faults_live").expect("defined there"),
                forget: *library.get(b"faults_forget").expect("defined there"),
            };
            std::mem::forget(library);
            faults
        }
    })
}

fn armed(call: &mut dyn FnMut() -> i32) -> i32 {
    let faults = faults();
    let (fault, silent) = (FAULT.load(Ordering::Relaxed), SILENT.load(Ordering::Relaxed));
    // SAFETY: nobody else uses the stand-in.
    unsafe { (faults.arm)(fault, silent as i32) };
    let status = call();
    // SAFETY: as above.
    CALLS.store(unsafe { (faults.disarm)() }, Ordering::Relaxed);
    status
}

/// Makes a call whose `fault`-th call of the runtime fails; returns the outcome and the number of calls of the runtime.
/// `None` if the runtime cannot make the arguments.
fn run(route: &dyn Route, call: Call<'_>, fault: i64) -> Option<(Outcome, i64)> {
    FAULT.store(fault, Ordering::Relaxed);
    let outcome = route.run(&[call]).remove(0).ok()?;
    Some((outcome, CALLS.load(Ordering::Relaxed)))
}

/// Returns the number of objects made under a fault that are left, and forgets them.
fn left() -> i64 {
    let faults = faults();
    // SAFETY: nobody else uses the stand-in.
    let live = unsafe { (faults.live)() };
    // SAFETY: as above.
    unsafe { (faults.forget)() };
    live
}

/// Judges an outcome; `unharmed` is the outcome without a fault.
fn judge(outcome: &Outcome, unharmed: &Outcome) -> Option<String> {
    match &outcome.end {
        End::Broken(reason) => Some(reason.clone()),
        End::Result(_) if outcome != unharmed => Some(format!("succeeds with {outcome}")),
        End::Result(_) | End::Error { .. } => None,
    }
}

/// Makes a call under every fault, the earliest first, so that look-ups that happen once happen under the fault.
/// Returns the outcome without a fault, if the call is possible, and counts the faults.
fn check(route: &dyn Route, call: Call<'_>, log: &mut Log) -> Option<Outcome> {
    let mut outcomes = Vec::new();
    let unharmed = loop {
        let fault = outcomes.len() as i64 + 1;
        let (outcome, calls) = run(route, call, fault)?;
        let left = left();
        if left != 0 {
            log.wrong(call, fault, format!("{left} objects are left"));
        }
        if calls < fault {
            break outcome;
        }
        outcomes.push(outcome);
        assert!(fault < 1000, "{}: no end of faults", call.function);
    };
    for (index, outcome) in outcomes.iter().chain([&unharmed]).enumerate() {
        if let Some(reason) = judge(outcome, &unharmed) {
            log.wrong(call, index as i64 + 1, reason);
        }
    }
    log.faults += outcomes.len();
    Some(unharmed)
}

/// Findings of one route.
#[derive(Debug, Default)]
struct Log {
    faults: usize,
    wrong: Vec<String>,
}

impl Log {
    fn wrong(&mut self, call: Call<'_>, fault: i64, reason: String) {
        let arguments = print_list(call.arguments);
        self.wrong.push(format!("{}{arguments}, fault {fault}: {reason}", call.function));
    }
}

/// Compiles a library for every route on the stand-in.
fn routes(library: &Library, allocator: bool) -> Vec<Box<dyn Route>> {
    let mut in_process = InProcess::new(library, faults().runtime);
    (in_process.around, in_process.allocator) = (armed, allocator);
    let mut routes: Vec<Box<dyn Route>> = vec![Box::new(in_process)];
    for backend in backends() {
        let mut shared = Shared::new(library, backend);
        (shared.around, shared.allocator) = (armed, allocator);
        routes.push(Box::new(shared));
    }
    routes
}

/// Makes the calls on every route, with faults that leave an error and with faults that do not.
fn survive(library: &Library, least: usize, calls: &dyn Fn(&dyn Route, &mut Log)) {
    survive_on(&routes(library, true), least, calls);
}

fn survive_on(routes: &[Box<dyn Route>], least: usize, calls: &dyn Fn(&dyn Route, &mut Log)) {
    for route in routes {
        for silent in [0, 1] {
            SILENT.store(silent, Ordering::Relaxed);
            let mut log = Log::default();
            calls(&**route, &mut log);
            let (name, Log { faults, wrong }) = (route.name(), log);
            let lines = wrong.join("\n");
            assert!(wrong.is_empty(), "{name}, {silent}: {} of {faults}\n{lines}", wrong.len());
            assert!(faults >= least, "{name}: only {faults} faults");
        }
    }
}

/// The table of calls, and every type of parameter with values of every type.
#[test]
fn whatever_fails_is_survived() {
    let _alone = alone();
    let table = cases::table();
    survive(&cases::library(&table), 200, &|route, log| {
        // Cached calls keep objects on purpose; the faults of the machine see that nothing else is left.
        let all = table.iter().filter(|case| case.group != "cached");
        for (case, row) in all.flat_map(|case| case.rows.iter().map(move |row| (case, row))) {
            let function = &case.function.signature.name;
            let call = Call { function, arguments: &row.arguments, count: row.count };
            let outcome = check(route, call, log);
            if let Some(outcome) = outcome.filter(|outcome| *outcome != row.expected) {
                log.wrong(call, 0, outcome.to_string());
            }
        }
    });
    // Tensors in memory of the C library.
    survive_on(&routes(&cases::library(&table), false), 50, &|route, log| {
        for case in table.iter().filter(|case| case.group == "results_allocated") {
            for row in &case.rows {
                let function = &case.function.signature.name;
                let call = Call { function, arguments: &row.arguments, count: row.count };
                check(route, call, log);
            }
        }
    });
    let (library, values) = (declarations(), values());
    survive(&library, 2000, &|route, log| {
        for function in &library.functions {
            for value in &values {
                let (function, arguments) = (&function.signature.name, std::slice::from_ref(value));
                check(route, Call { function, arguments, count: None }, log);
            }
        }
    });
}

/// A launch with scratch memory, a tensor map, an attribute and two launches; and one that the driver refuses.
const LAUNCHES: &str = "image code; f(x: Tensor([n, 64], float32, device=cuda)) -> None = {
    launch code.\"hidden\"(x.data, int32(n), scratch(n, 16), scratch(64, 64)) grid(n) block(1) smem(n) cluster(n);
    launch code.\"tma\"(tensormap(x, box=[1, 64]), x.data) grid(1) block(1);
};
refused(x: Tensor([n, 64], float32, device=cuda)) -> None
    = { launch code.\"hidden\"(x.data, int32(n), scratch(n, 16), null) grid(1) block(1025); };";

/// Makes functions of the driver fail: the runtime's objects are released, and the call fails with an error. Each call
/// has a tensor of another size, whose tensor map is not the one that the last call made.
fn without_driver(route: &dyn Route, function: &str, stand_in: &FakeCuda, log: &mut Log) {
    for fault in 1.. {
        let tensor = format!("(float32[{}, 64]{{device=cuda:2}})", 16 + fault);
        let (arguments, _) = parse_list(&tensor).expect("it is a tensor");
        let call = Call { function, arguments: &arguments, count: None };
        stand_in.reset();
        stand_in.fail_at(fault, 999);
        let outcome = run(route, call, 0).map(|(outcome, _)| outcome);
        let calls = stand_in.calls();
        stand_in.pop_all();
        let Some(outcome) = outcome.filter(|_| calls >= fault) else { break };
        let left = left();
        if left != 0 {
            log.wrong(call, fault, format!("{left} objects are left"));
        }
        if let End::Broken(reason) = outcome.end {
            log.wrong(call, fault, reason);
        }
        log.faults += 1;
    }
    stand_in.reset();
}

/// Launches on a device whose stream is the default one.
#[test]
fn launches_survive() {
    let _alone = alone();
    let stand_in = fake_cuda::exclusive();
    stand_in.set("devices", 3);
    let mut library: Library = LAUNCHES.parse().expect("it is a library");
    library.images[0].bytes = Some(CUBIN.to_vec());
    let (arguments, _) = parse_list("(float32[16, 64]{device=cuda:2})").expect("it is a tensor");
    let call = Call { function: "f", arguments: &arguments, count: None };
    for route in routes(&library, true) {
        SILENT.store(0, Ordering::Relaxed);
        let mut log = Log::default();
        without_driver(&*route, "f", &stand_in, &mut log);
        assert!(log.wrong.is_empty() && log.faults > 8, "{}: {log:?}", route.name());
    }
    survive(&library, 4, &|route, log| {
        for (function, succeeds) in [("f", true), ("refused", false)] {
            let outcome = check(route, Call { function, ..call }, log).expect("it takes a tensor");
            assert_eq!(matches!(outcome.end, End::Result(_)), succeeds, "{outcome}");
        }
    });
}
