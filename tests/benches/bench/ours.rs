//! Every use of the measured library: its public surface.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use codegen::{Library, Routines, ir};
use driver::link::Input;
use driver::{Form, Optimize, Request};
use jit::{Compiled, Jit};
use tvm_ffi_codegen_tests::ffi;
use tvm_ffi_codegen_tests::route::request;

use crate::cases;
use crate::peers::Kernels;

/// Levels of optimisation by name; Cranelift has none.
pub(crate) const LEVELS: [(&str, Optimize); 4] =
    [("-O0", Optimize::O0), ("-O1", Optimize::O1), ("-O2", Optimize::O2), ("-O3", Optimize::O3)];

pub(crate) fn parse(text: &str) -> Library {
    let mut library: Library = black_box(text).parse().unwrap_or_else(|error| panic!("{error}"));
    library.images.iter_mut().for_each(|image| image.bytes = Some(cases::image(&image.name)));
    library
}

/// Lowers as the JIT does, whose routines are shared.
pub(crate) fn lower_for_jit(library: &Library) -> ir::Module {
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
    codegen::lower(&resolved, &Jit::OPTIONS)
}

/// Lowers as for a file, with routines in it or elsewhere.
pub(crate) fn lower_for_file(library: &Library, routines: Routines) -> ir::Module {
    let options = codegen::Options { routines, ..codegen::Options::default() };
    driver::lower(library, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Creates a JIT with the kernels of a library.
pub(crate) fn jit(library: &Library, kernels: &Kernels) -> Jit {
    let mut jit = Jit::with_runtime(ffi::installed()).unwrap_or_else(|error| panic!("{error}"));
    let calls = library.functions.iter().flat_map(|function| function.body.kernel_calls());
    for symbol in calls.filter_map(codegen::KernelCall::symbol) {
        // SAFETY: kernels.h and the declarations agree, and a kernel that is not there is never called.
        jit = unsafe { jit.kernel_at(symbol, kernels.address(symbol)) };
    }
    jit
}

/// Compiles a text to callable functions.
pub(crate) fn compile(text: &str, kernels: &Kernels) -> Compiled {
    let library = parse(text);
    // SAFETY: nothing is launched that touches memory, since the driver does nothing, and functions that bodies call
    // are those of the benchmark.
    let jit = unsafe { jit(&library, kernels).launches().calls() };
    jit.compile(&library).unwrap_or_else(|error| panic!("{error}"))
}

/// Names of the stages of [`jit_stages`].
pub(crate) const JIT_STAGES: [&str; 6] =
    ["parse", "lower", "make a JIT", "emit and compile", "finalize", "whole"];

/// Returns the microseconds of each stage from text to callable functions, and the functions.
pub(crate) fn jit_stages(text: &str, kernels: &Kernels) -> ([f64; 6], Compiled) {
    let start = Instant::now();
    let library = parse(text);
    let parsed = Instant::now();
    let module = lower_for_jit(&library);
    let lowered = Instant::now();
    let jit = jit(&library, kernels);
    let made = Instant::now();
    // SAFETY: lowering made it, and the kernels are what the declarations say.
    let jit = unsafe { jit.emit(&module) }.unwrap_or_else(|error| panic!("{error}"));
    let emitted = Instant::now();
    let compiled = jit.finish().unwrap_or_else(|error| panic!("{error}"));
    let marks = [start, parsed, lowered, made, emitted, Instant::now()];
    (durations(marks), compiled)
}

/// Returns the microseconds between points in time, and of all together.
pub(crate) fn durations<const N: usize>(marks: [Instant; N]) -> [f64; N] {
    let micros = |a: Instant, b: Instant| (b - a).as_secs_f64() * 1e6;
    std::array::from_fn(|i| match marks.get(i + 1) {
        Some(next) => micros(marks[i], *next),
        None => micros(marks[0], marks[N - 1]),
    })
}

/// Compiles a lowered library to a relocatable object.
pub(crate) fn object(module: &ir::Module, backend: &str, level: Optimize) -> Vec<u8> {
    let request = Request { optimization: level, ..request(backend, Form::Object) };
    request.emit_module(module).unwrap_or_else(|error| panic!("{error}"))
}

/// Compiles a text to a library on disk.
pub(crate) fn write_shared(text: &str, backend: &str, kernels: &Kernels, output: &Path) {
    let request = Request { kernels: vec![kernels.input()], ..request(backend, Form::Shared) };
    request.write(&parse(text), output).unwrap_or_else(|e| panic!("{e}"));
}

/// Names of the stages of [`file_stages`].
pub(crate) const FILE_STAGES: [&str; 6] = ["parse", "lower", "object", "link", "write", "whole"];

/// Returns the microseconds of each stage from text to a library on disk.
pub(crate) fn file_stages(
    text: &str,
    backend: &str,
    level: Optimize,
    kernels: &Input,
    output: &Path,
) -> [f64; 6] {
    let start = Instant::now();
    let library = parse(text);
    let parsed = Instant::now();
    let module = lower_for_file(&library, Routines::Linked);
    let lowered = Instant::now();
    let object = object(&module, backend, level);
    let compiled = Instant::now();
    let kernels = vec![Input::new("wrapper.o", object).expect("an object"), kernels.clone()];
    let linked = Request { kernels, ..Request::new(Form::Shared) }.link();
    let linked = linked.unwrap_or_else(|error| panic!("{error}"));
    let in_memory = Instant::now();
    let mode = driver::file::Mode::Executable;
    driver::file::write(output, &linked, mode).unwrap_or_else(|error| panic!("{error}"));
    durations([start, parsed, lowered, compiled, in_memory, Instant::now()])
}
