//! Measures of wrappers in a shared library.
//!
//! A shared library is the same on every machine, and its symbols tell valgrind where a wrapper begins. The JIT
//! compiles the same host IR by the same backend, but for the processor that it runs on.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

use codegen::Library as Declarations;
use driver::link::Input;
use driver::{Form, Request};
use jit::abi::{Any, Object, SafeCall};
use libloading::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::callgrind::count;
use tvm_ffi_codegen_tests::fake_cuda;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

use crate::calls::{Call, FUNCTIONS, calls, declarations, image};

fn library(folder: &Path, backend: &str) -> PathBuf {
    folder.join(format!("{backend}.so"))
}

/// Writes the shared library of a backend.
pub(crate) fn build(folder: &Path, backend: &str) {
    let mut declarations: Declarations = declarations().parse().unwrap_or_else(|e| panic!("{e}"));
    declarations.images.iter_mut().for_each(|one| one.bytes = Some(image(&one.name)));
    let module = driver::lower(&declarations, &codegen::Options::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let kernels = vec![kernels(folder)];
    let request = Request { kernels, ..request(backend, Form::Shared) };
    request
        .write_module(&module, &library(folder, backend))
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Compiles kernels that return at once.
fn kernels(folder: &Path) -> Input {
    let (source, object) = (folder.join("kernels.c"), folder.join("kernels.o"));
    let text: String = FUNCTIONS.map(|name| format!("void {name}_kernel(void) {{}}\n")).concat();
    std::fs::write(&source, text).expect("the folder can be written to");
    cc(Command::new("cc").args(["-O2", "-fPIC", "-c", "-o"]).arg(&object).arg(&source));
    Input::read(&object).unwrap_or_else(|error| panic!("{error}"))
}

/// The function from which callgrind counts. Its own instructions are left out.
pub(crate) const CALLER: &str = "guard_call";

/// A function, by its address.
#[derive(Clone, Copy)]
struct Function {
    direct: SafeCall,
    /// The first argument of `direct`.
    context: *mut c_void,
}

/// Makes every call, counted from its first instruction to its return. Launches are made on a driver that does nothing.
pub(crate) fn measure(folder: &Path, backend: &str) {
    let ffi = Ffi::new(ffi::installed());
    let driver = fake_cuda::exclusive();
    driver.quiet(true);
    ffi.set_streams();
    // SAFETY: the library has no initialisers.
    let library = unsafe { Library::new(library(folder, backend)) };
    let library = library.unwrap_or_else(|error| panic!("{error}"));
    for call in calls() {
        // SAFETY: the symbol is a safe-call function.
        let direct = unsafe { library.get::<SafeCall>(format!("__tvm_ffi_{}", call.function())) };
        let direct = *direct.unwrap_or_else(|error| panic!("{error}"));
        let declared = Function { direct, context: ptr::null_mut() };
        let measured = match &call.made_with {
            Some(arguments) => returned(&ffi, declared, &frame(&ffi, arguments)),
            None => declared,
        };
        let frame = frame(&ffi, &call.arguments);
        count(&format!("call {backend} {}", call.name), || once(&ffi, &call, measured, &frame));
    }
}

fn frame(ffi: &Ffi, arguments: &str) -> Frame {
    let (arguments, _) = parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
    Frame::new(&arguments, ffi).expect("the runtime has all of it")
}

/// Calls a function and returns the one that it returns, which is never freed.
fn returned(ffi: &Ffi, function: Function, frame: &Frame) -> Function {
    let mut result = Any::NONE;
    // SAFETY: the arguments are valid, and there is a place for the result.
    let status =
        unsafe { guard_call(function, frame.as_ptr(), frame.args.len() as i32, &mut result) };
    assert_eq!(status, 0, "{:?}", ffi.take_error());
    let object: *mut Object = result.pointer().cast();
    // SAFETY: the cell of a function object begins with its safe call, which takes the object.
    let direct = unsafe { *object.add(1).cast::<SafeCall>() };
    Function { direct, context: object.cast() }
}

/// # Panics
/// If the call has the wrong outcome.
fn once(ffi: &Ffi, call: &Call, function: Function, frame: &Frame) {
    let mut result = Any::NONE;
    let count = frame.args.len() as i32;
    // SAFETY: the arguments are valid, and there is a place for the result.
    let status = unsafe { guard_call(function, frame.as_ptr(), count, &mut result) };
    let kind = ffi.take_error().map(|(kind, _)| kind);
    assert_eq!(kind.as_deref(), call.error, "{}", call.name);
    assert_eq!(status, if kind.is_some() { -1 } else { 0 }, "{}", call.name);
}

/// # Safety
/// As for a safe call.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe fn guard_call(function: Function, args: *const Any, count: i32, result: *mut Any) -> i32 {
    // SAFETY: as required of the caller.
    let status = unsafe { (function.direct)(function.context, args, count, result) };
    // Keeps the call above from becoming a tail call.
    std::hint::black_box(status)
}
