//! Measures of wrappers in a shared library.
//!
//! A shared library is the same on every machine, and its symbols tell valgrind where a wrapper begins. The JIT
//! compiles the same host IR by the same backend, but for the processor that it runs on.

use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::Library as Declarations;
use driver::link::Input;
use driver::{Form, Request};
use jit::abi::{Any, SafeCall};
use libloading::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::callgrind::count;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

use crate::calls::{Call, FUNCTIONS, calls, declarations};

fn library(folder: &Path, backend: &str) -> PathBuf {
    folder.join(format!("{backend}.so"))
}

/// Writes the shared library of a backend.
pub(crate) fn build(folder: &Path, backend: &str) {
    let declarations: Declarations = declarations().parse().unwrap_or_else(|e| panic!("{e}"));
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

/// Makes every call, counted from the caller's instruction to the wrapper's return.
pub(crate) fn measure(folder: &Path, backend: &str) {
    let ffi = Ffi::new(ffi::installed());
    // SAFETY: the library has no initialisers.
    let library = unsafe { Library::new(library(folder, backend)) };
    let library = library.unwrap_or_else(|error| panic!("{error}"));
    for call in calls() {
        // SAFETY: the symbol is a safe-call function.
        let function = unsafe { library.get::<SafeCall>(format!("__tvm_ffi_{}", call.function())) };
        let function = *function.unwrap_or_else(|error| panic!("{error}"));
        let (arguments, _) = parse_list(&call.arguments).unwrap_or_else(|error| panic!("{error}"));
        let frame = Frame::new(&arguments, &ffi).expect("the runtime has all of it");
        count(&format!("call {backend} {}", call.name), || once(&ffi, &call, function, &frame));
    }
}

/// # Panics
/// If the call has the wrong outcome.
fn once(ffi: &Ffi, call: &Call, function: SafeCall, frame: &Frame) {
    let mut result = Any::NONE;
    let count = frame.args.len() as i32;
    // SAFETY: the arguments are valid, and there is a place for the result.
    let status = unsafe { function(std::ptr::null_mut(), frame.as_ptr(), count, &mut result) };
    let kind = ffi.take_error().map(|(kind, _)| kind);
    assert_eq!(kind.as_deref(), call.error, "{}", call.name);
    assert_eq!(status, if kind.is_some() { -1 } else { 0 }, "{}", call.name);
}
