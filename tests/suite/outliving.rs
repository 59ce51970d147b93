//! Functions that bodies make outlive their library: its module, or the code of the JIT.

use std::process::Command;
use std::sync::Arc;

use codegen::Library;
use jit::{Compiled, FfiFunction, Jit, Runtime};
use tvm_ffi_codegen_tests::ffi;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::kernels;
use tvm_ffi_codegen_tests::route::build;

const DECLARATIONS: &str = "
    adder(n: int64) -> Function = { return function(k: int64) -> int64 { return n + k; }; };
    summer(x: Tensor([n], float32), s: str) -> Function
        = {
            return function(a: float64) -> float64 {
                let r: float64 = sum(x.data, n, 1);
                return r * a + float64(s.size);
            };
        };
    nested(n: int64) -> Function
        = {
            return function(m: int64) -> Function {
                return function(k: int64) -> int64 { return n * 100 + m * 10 + k; };
            };
        };
";

fn library() -> Library {
    DECLARATIONS.parse().unwrap_or_else(|error| panic!("{error}"))
}

const PRINTED: &str = "\
True 15 16.0 123
Mismatched type of k on argument #0 when calling: `function(k: int64)`, expected int64 but got str
[(10.0, None)] True
False
True
";

fn outlives(backend: &str, creations: u32) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("library.so");
    build(&library(), backend, &path);
    let mut python = Command::new("python3");
    python.arg(host("closures.py")).arg(&path).arg(creations.to_string());
    let output = python.output().unwrap_or_else(|error| panic!("python3: {error}"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED, "{backend}: {output:?}");
    assert!(output.status.success(), "{backend}: {output:?}");
}

#[test]
fn functions_outlive_their_modules() {
    backends().iter().for_each(|backend| outlives(backend, 20_000));
}

/// Takes seconds: `cargo test -p tvm-ffi-codegen-tests --test suite -- --ignored a_million`.
#[test]
#[ignore = "takes seconds"]
fn a_million_functions_leave_nothing_behind() {
    backends().iter().for_each(|backend| outlives(backend, 1_000_000));
}

/// A site in a library releases nothing, and what it has kept goes on without the library.
#[test]
fn what_sites_keep_outlives_their_modules() {
    const KEPT: &str = "kept(n: int64) -> Function = { let f: Function = cached (n) @\"kept.make\"(n); return f; };";
    let library: Library = KEPT.parse().unwrap_or_else(|error| panic!("{error}"));
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("library.so");
        build(&library, backend, &path);
        let output = Command::new("python3").arg(host("kept.py")).arg(&path).output();
        let output = output.unwrap_or_else(|error| panic!("python3: {error}"));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, "3 3 4 [3, 4]\nFalse 3\n3 3 [3, 4, 3]\n", "{backend}: {output:?}");
        assert!(output.status.success(), "{backend}: {output:?}");
    }
}

/// Compiles the functions; the code keeps `witness` alive.
fn compiled(runtime: &'static Runtime, witness: &Arc<()>) -> Compiled {
    let jit = Jit::with_runtime(runtime).expect("the machine has a backend").keep(witness.clone());
    let sum = kernels().address("sum").expect("it is a kernel");
    // SAFETY: the kernel is what the declarations say.
    let jit = unsafe { jit.kernel_at("sum", sum) };
    jit.compile(&library()).unwrap_or_else(|error| panic!("{error}"))
}

fn function(compiled: &Compiled, name: &str, n: i64) -> FfiFunction {
    let made = compiled.function(name).expect("it is declared").call((n,));
    made.expect("it makes a function").try_into().expect("it is one")
}

fn int(function: &FfiFunction, n: i64) -> i64 {
    let returned = function.call((n,)).unwrap_or_else(|error| panic!("{error}"));
    returned.try_into().expect("it returns an integer")
}

#[test]
fn functions_outlive_the_code_that_the_jit_lends() {
    for runtime in [ffi::installed(), Runtime::builtin()] {
        let witness = Arc::new(());
        let code = compiled(runtime, &witness);
        let (adder, nested) = (function(&code, "adder", 10), function(&code, "nested", 1));
        drop(code);
        assert_eq!(Arc::strong_count(&witness), 2);
        let inner: FfiFunction = nested.call((2,)).unwrap().try_into().unwrap();
        drop(nested);
        assert_eq!((int(&adder, 5), int(&inner, 3)), (15, 123));
        drop(adder);
        let there = std::thread::spawn(move || (int(&inner, 4), drop(inner)));
        assert_eq!(there.join().expect("the thread ends").0, 124);
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}
