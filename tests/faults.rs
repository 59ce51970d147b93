//! The table of calls on a runtime whose functions fail: the first one that a call makes, the second, and so
//! on. In a process of its own, since the stand-in of `faults.c` must be loaded before libtvm_ffi.
//!
//! Whatever fails, a function must succeed as if nothing had, or raise an error; write no result when it
//! raises; and neither keep a reference nor lose one.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use jit::Runtime;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use tvm_ffi_codegen_tests::cases::{self, Case, Row};
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::outcome::{End, Outcome};
use tvm_ffi_codegen_tests::route::{BACKENDS, Call, InProcess, Route, Shared};

/// The stand-in's own functions.
#[derive(Debug)]
struct Faults {
    runtime: &'static Runtime,
    arm: unsafe extern "C" fn(i64, i32),
    disarm: unsafe extern "C" fn() -> i64,
    live: unsafe extern "C" fn() -> i64,
    forget: unsafe extern "C" fn(),
}

/// The number of the call that fails, and how many calls there were.
static FAULT: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicI64 = AtomicI64::new(0);
/// Not 0 if what fails leaves no error.
static SILENT: AtomicI64 = AtomicI64::new(0);

/// Compiles the stand-in and loads it, and with it libtvm_ffi, for all libraries to see.
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
        compile.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("faults.c"));
        compile.arg(Path::new(&libraries).join("libtvm_ffi.so"));
        cc(compile.arg(format!("-Wl,-rpath,{libraries}")).args(["-ldl", "-o"]).arg(&path));
        // SAFETY: the stand-in has no initialisers, the functions have these types, and the library is
        // never unloaded.
        unsafe {
            let library = Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL);
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

/// Makes a call whose `fault`-th call of the runtime fails; `None` if the runtime cannot make the arguments.
/// With it how many calls of the runtime there were.
fn run(route: &dyn Route, call: Call<'_>, fault: i64) -> Option<(Outcome, i64)> {
    FAULT.store(fault, Ordering::Relaxed);
    let outcome = route.run(&[call]).remove(0)?;
    Some((outcome, CALLS.load(Ordering::Relaxed)))
}

/// What is wrong with an outcome, where `expected` is what happens if nothing fails.
fn judge(outcome: &Outcome, expected: &Outcome) -> Option<String> {
    let faults = faults();
    // SAFETY: nobody else uses the stand-in.
    let live = unsafe { (faults.live)() };
    // SAFETY: as above.
    unsafe { (faults.forget)() };
    if live != 0 {
        return Some(format!("{live} objects are left"));
    }
    match &outcome.end {
        End::Broken(reason) => Some(reason.clone()),
        End::Result(_) if outcome != expected => Some(format!("succeeds with {outcome}")),
        End::Result(_) | End::Error { .. } => None,
    }
}

/// All faults of one row; how many there were.
fn check(route: &dyn Route, case: &Case, row: &Row, wrong: &mut Vec<String>) -> usize {
    let name = &case.function.signature.name;
    let call = Call { function: name, arguments: &row.arguments, count: row.count };
    // The first calls come first: what is looked up once is then looked up under the fault.
    for fault in 1.. {
        let Some((outcome, calls)) = run(route, call, fault) else { return 0 };
        let unharmed = calls < fault;
        let reason = judge(&outcome, &row.expected)
            .or_else(|| (unharmed && outcome != row.expected).then(|| outcome.to_string()));
        if let Some(reason) = reason {
            wrong.push(format!("{}, {}, fault {fault}: {reason}", route.name(), row.place));
        }
        if unharmed {
            return calls as usize;
        }
        assert!(fault < 1000, "{}: no end of faults", row.place);
    }
    unreachable!("the loop returns")
}

#[test]
fn whatever_fails_is_survived() {
    let (faults, table) = (faults(), cases::table());
    let library = cases::library(&table);
    let mut routes: Vec<Box<dyn Route>> = Vec::new();
    let mut in_process = InProcess::new(&library, faults.runtime);
    in_process.around = armed;
    routes.push(Box::new(in_process));
    for backend in BACKENDS {
        let mut shared = Shared::new(&library, backend);
        shared.around = armed;
        routes.push(Box::new(shared));
    }
    for silent in [0, 1] {
        SILENT.store(silent, Ordering::Relaxed);
        for route in &routes {
            let (mut wrong, mut count) = (Vec::new(), 0);
            for case in &table {
                for row in &case.rows {
                    count += check(&**route, case, row, &mut wrong);
                }
            }
            let name = route.name();
            assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
            assert!(count > 200, "{name}: only {count} faults");
        }
    }
}
