//! The numbers of the README: calls beside hand-written C, and the way to a shared library.
//!
//! `cargo bench -p tvm-ffi-codegen-tests`. Needs what `tests/run` installs; the C side is compiled with
//! the system's compiler at `-O2` and runs in the same process.

use std::ffi::c_void;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::Library as Declarations;
use divan::Bencher;
use driver::link::{Input, Linker};
use driver::{Form, Options};
use jit::abi::{Any, Object, SafeCall};
use jit::{Jit, Tensor, Value};
use libloading::Library;
use tvm_ffi_codegen_tests::ffi::installed;
use tvm_ffi_codegen_tests::route::BACKENDS;

const ADD_ONE: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);";

fn main() {
    divan::main();
}

/// The C side: kernel and wrapper as a shared library, the kernel as an object.
struct HandWritten {
    _folder: tempfile::TempDir,
    library: Library,
    object: PathBuf,
}

fn config(flag: &str) -> Vec<String> {
    let output = Command::new("tvm-ffi-config").arg(flag).output().expect("run tests/run first");
    let text = String::from_utf8(output.stdout).expect("paths are UTF-8");
    text.split_whitespace().map(str::to_owned).collect()
}

fn compile(args: &[&str], output: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/hand_written.c");
    let status = Command::new("cc")
        .args(["-O2", "-fPIC", source, "-o"])
        .arg(output)
        .args(args)
        .args(config("--cflags"))
        .status();
    assert!(status.expect("a C compiler").success(), "cc failed");
}

fn hand_written() -> HandWritten {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (object, library) = (folder.path().join("kernel.o"), folder.path().join("hand.so"));
    compile(&["-c", "-D__tvm_ffi_add_one=unused_add_one"], &object);
    // The wrapper's only import is the runtime, which need not be there: it is bound lazily.
    compile(&["-shared", "-Wl,-z,lazy"], &library);
    // SAFETY: the library has no initialisers.
    let library = unsafe { Library::new(&library) }.expect("just linked");
    HandWritten { _folder: folder, library, object }
}

fn call(bencher: Bencher<'_, '_>, function: SafeCall) {
    let (mut x, mut y) = ([1.0_f32], [0.0_f32]);
    let (x, y) = (Tensor::new(&mut x), Tensor::new(&mut y));
    let args = [Value::from(&x), Value::from(&y)];
    bencher.bench_local(|| {
        let mut result = Any::NONE;
        // SAFETY: two live tensors, and a place for the result.
        let status = unsafe {
            function(std::ptr::null_mut(), black_box(args.as_ptr()).cast(), 2, &mut result)
        };
        assert_eq!(status, 0);
        result
    });
}

#[divan::bench(sample_count = 200, sample_size = 20000)]
fn call_hand_written_c(bencher: Bencher<'_, '_>) {
    let hand = hand_written();
    // SAFETY: the symbol is a safe-call function.
    let function = unsafe { hand.library.get::<SafeCall>(b"__tvm_ffi_add_one") };
    call(bencher, *function.expect("defined above"));
}

#[divan::bench(sample_count = 200, sample_size = 20000)]
fn call_jit(bencher: Bencher<'_, '_>) {
    let hand = hand_written();
    // SAFETY: the kernel has the declared type, and the library outlives the calls.
    let compiled = unsafe {
        let kernel = hand.library.get::<*const u8>(b"add_one_kernel").expect("defined above");
        let mut jit = Jit::new().expect("a supported host");
        jit.kernel("add_one_kernel", *kernel);
        jit.compile(&ADD_ONE.parse().expect("valid")).expect("compiles")
    };
    call(bencher, compiled.function("add_one").expect("declared").as_ptr());
}

/// A call with tensors of unequal extents, whose error is taken out of the slot and released.
fn fail(bencher: Bencher<'_, '_>, function: SafeCall) {
    type Take = unsafe extern "C" fn(*mut *mut Object);
    type Release = unsafe extern "C" fn(*mut Object) -> i32;
    let symbol = |name| installed().symbol(name).expect("every release has it");
    // SAFETY: the types are those of `c_api.h`.
    let (take, release) = unsafe {
        (
            std::mem::transmute::<*const c_void, Take>(symbol("TVMFFIErrorMoveFromRaised")),
            std::mem::transmute::<*const c_void, Release>(symbol("TVMFFIObjectDecRef")),
        )
    };
    let (mut x, mut y) = ([1.0_f32; 5], [0.0_f32; 4]);
    let (x, y) = (Tensor::new(&mut x), Tensor::new(&mut y));
    let args = [Value::from(&x), Value::from(&y)];
    bencher.bench_local(|| {
        let (mut result, mut error) = (Any::NONE, std::ptr::null_mut());
        // SAFETY: two live tensors, and places for result and error, whose reference is ours.
        unsafe {
            let args = black_box(args.as_ptr()).cast();
            assert_eq!(function(std::ptr::null_mut(), args, 2, &mut result), -1);
            take(&mut error);
            assert!(!error.is_null());
            release(error)
        }
    });
}

#[divan::bench(sample_count = 100, sample_size = 1000)]
fn fail_hand_written_c(bencher: Bencher<'_, '_>) {
    installed();
    let hand = hand_written();
    // SAFETY: the symbol is a safe-call function.
    let function = unsafe { hand.library.get::<SafeCall>(b"__tvm_ffi_add_one") };
    fail(bencher, *function.expect("defined above"));
}

#[divan::bench(sample_count = 100, sample_size = 1000)]
fn fail_jit(bencher: Bencher<'_, '_>) {
    let hand = hand_written();
    // SAFETY: the kernel has the declared type, and the library outlives the calls.
    let compiled = unsafe {
        let kernel = hand.library.get::<*const u8>(b"add_one_kernel").expect("defined above");
        let mut jit = Jit::with_runtime(installed()).expect("a supported host");
        jit.kernel("add_one_kernel", *kernel);
        jit.compile(&ADD_ONE.parse().expect("valid")).expect("compiles")
    };
    fail(bencher, compiled.function("add_one").expect("declared").as_ptr());
}

/// The same ahead of time, with what LLVM makes of it if it is there.
#[divan::bench(sample_count = 100, sample_size = 1000)]
fn fail_shared_library(bencher: Bencher<'_, '_>) {
    installed();
    let backend = *BACKENDS.get(1).unwrap_or(&BACKENDS[0]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("add_one.so");
    let options = Options { backend: backend.to_owned(), ..kernels() };
    let library: Declarations = ADD_ONE.parse().expect("valid");
    driver::compile_shared(&library, &output, &options).expect("compiles");
    // SAFETY: the library has no initialisers, and the symbol is a safe-call function.
    unsafe {
        let library = Library::new(&output).expect("just linked");
        fail(bencher, *library.get::<SafeCall>(b"__tvm_ffi_add_one").expect("declared"));
    }
}

fn kernels() -> Options {
    let kernel = Input::read(&hand_written().object).expect("just compiled");
    Options { kernels: vec![kernel], ..Options::default() }
}

#[divan::bench]
fn shared_1_parse() -> Declarations {
    black_box(ADD_ONE).parse().expect("valid")
}

#[divan::bench]
fn shared_2_lower(bencher: Bencher<'_, '_>) {
    let library: Declarations = ADD_ONE.parse().expect("valid");
    bencher.bench_local(|| driver::lower(&library));
}

#[divan::bench]
fn shared_3_object(bencher: Bencher<'_, '_>) {
    let module = driver::lower(&ADD_ONE.parse().expect("valid")).expect("valid");
    let options = Options::default();
    bencher.bench_local(|| driver::emit_module(&module, Form::Object, &options));
}

#[divan::bench]
fn shared_4_link(bencher: Bencher<'_, '_>) {
    let module = driver::lower(&ADD_ONE.parse().expect("valid")).expect("valid");
    let mut options = kernels();
    let object = driver::emit_module(&module, Form::Object, &options).expect("a known target");
    let mut inputs = vec![Input::new("add_one.o", object).expect("an object")];
    inputs.append(&mut options.kernels);
    let (linker, target) = (Linker::default(), options.target);
    bencher.bench_local(|| driver::link::shared_bytes(&inputs, &linker, &target));
}

#[divan::bench]
fn shared_whole(bencher: Bencher<'_, '_>) {
    let options = kernels();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("add_one.so");
    bencher.bench_local(|| {
        let library: Declarations = black_box(ADD_ONE).parse().expect("valid");
        driver::compile_shared(&library, &output, &options)
    });
}
