//! Time of native compilers alone: emission of host IR, its compilation to machine code, and Cranelift from finished
//! CLIF to memory.

use std::time::Instant;

use backend_cranelift::recorded::Recorder;
use codegen::ir;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::{Context, control::ControlPlane};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};
use driver::{Form, Optimize};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::route::request;

use crate::ours::durations;

/// Returns Cranelift's settings as the JIT has them.
pub(crate) fn jit_isa() -> OwnedTargetIsa {
    use cranelift_codegen::settings::{Configurable, Flags, builder};
    let mut flags = builder();
    for (name, value) in [
        ("is_pic", "false"),
        ("opt_level", "none"),
        ("unwind_info", "false"),
        ("enable_verifier", "false"),
    ] {
        flags.set(name, value).expect("the flag exists");
    }
    let builder = cranelift_native::builder().expect("the host is supported");
    builder.finish(Flags::new(flags)).expect("the flags go together")
}

/// Emits a module into CLIF and keeps it, to tell emission from compilation.
pub(crate) fn record(source: &ir::Module, isa: OwnedTargetIsa) -> Recorder {
    let mut recorder = Recorder::new(isa);
    backend_cranelift::emit(&mut recorder, source).expect("it is well-formed");
    recorder
}

/// Copies the recorded functions, ready to compile.
pub(crate) fn contexts(recorder: &Recorder) -> Vec<Context> {
    recorder.functions.iter().map(|(_, func)| Context::for_function(func.clone())).collect()
}

/// Compiles functions to bytes.
pub(crate) fn compile(recorder: &Recorder, contexts: Vec<Context>) {
    for mut context in contexts {
        context.compile(&*recorder.isa, &mut ControlPlane::default()).expect("it compiles");
    }
}

/// Declares and defines everything recorded in another module.
pub(crate) fn replay(recorder: &Recorder, module: &mut dyn Module, contexts: Vec<Context>) {
    for (id, function) in recorder.declarations.get_functions() {
        let name = function.linkage_name(id);
        module.declare_function(&name, function.linkage, &function.signature).expect("new");
    }
    for (id, data) in recorder.declarations.get_data_objects() {
        let name = data.linkage_name(id);
        module.declare_data(&name, data.linkage, data.writable, data.tls).expect("new");
    }
    for (id, data) in &recorder.data {
        module.define_data(*id, data).expect("new");
    }
    for ((id, _), mut context) in recorder.functions.iter().zip(contexts) {
        module.define_function(*id, &mut context).expect("it compiles");
    }
}

/// Returns the microseconds of `cranelift-jit` from finished CLIF to executable memory.
pub(crate) fn cranelift_alone(recorder: &Recorder) -> f64 {
    let contexts = contexts(recorder);
    let start = Instant::now();
    let mut builder = JITBuilder::with_isa(recorder.isa.clone(), default_libcall_names());
    builder.symbol_lookup_fn(Box::new(|_| Some(std::ptr::dangling())));
    let mut module = JITModule::new(builder);
    replay(recorder, &mut module, contexts);
    module.finalize_definitions().expect("everything is defined");
    let [time, _] = durations([start, Instant::now()]);
    // SAFETY: its functions are not called.
    unsafe { module.free_memory() };
    time
}

/// Returns the microseconds of emission into an empty native module.
pub(crate) fn emit(source: &ir::Module, backend: &str) -> f64 {
    emission(source, backend, None)[0]
}

/// Returns the microseconds of emission into an empty native module, and of compilation to an object.
pub(crate) fn emit_and_compile(source: &ir::Module, backend: &str, level: Optimize) -> [f64; 2] {
    emission(source, backend, Some(level))
}

/// Measures emission and, given a level, compilation.
fn emission(source: &ir::Module, backend: &str, level: Option<Optimize>) -> [f64; 2] {
    match backend {
        "cranelift" => cranelift(source, level.is_some()),
        #[cfg(feature = "llvm")]
        "llvm" => llvm::emission(source, level),
        #[cfg(feature = "mlir")]
        "mlir" => mlir::emission(source, level),
        name => text(source, name, level.is_some()),
    }
}

/// Measures printing by a backend whose native form is text and, if wanted, compilation by the system's compiler.
fn text(source: &ir::Module, backend: &str, compile: bool) -> [f64; 2] {
    let backend = request(backend, Form::Object).backend().expect("part of this build");
    let start = Instant::now();
    backend.text(source, &[]).expect("prints");
    let printed = Instant::now();
    let compiled = compile.then(|| backend.object(source, &[]).expect("compiles"));
    let end = if compiled.is_some() { Instant::now() } else { printed };
    let [printed, compiled, _] = durations([start, printed, end]);
    [printed, compiled]
}

/// Measures emission to CLIF and, if wanted, compilation of its functions to bytes.
fn cranelift(source: &ir::Module, compile: bool) -> [f64; 2] {
    use backend_cranelift::{Settings, isa};
    let isa = || isa(&Triple::host(), Settings::OBJECT).expect("a known target");
    let mut dropping = Recorder::new(isa());
    dropping.is_recording = false;
    let start = Instant::now();
    backend_cranelift::emit(&mut dropping, source).expect("emits");
    let [emitted, _] = durations([start, Instant::now()]);
    let compiled = compile.then(|| compile_alone(&record(source, isa())));
    [emitted, compiled.unwrap_or_default()]
}

/// Returns the microseconds from CLIF to bytes.
pub(crate) fn compile_alone(recorder: &Recorder) -> f64 {
    let contexts = contexts(recorder);
    let start = Instant::now();
    compile(recorder, contexts);
    durations([start, Instant::now()])[0]
}

#[cfg(feature = "llvm")]
mod llvm {
    use std::time::Instant;

    use backend_llvm::{Llvm, Optimize};
    use codegen::ir;
    use inkwell::context::Context;
    use inkwell::llvm_sys::core::LLVMContextSetDiscardValueNames;

    use crate::ours::durations;

    pub(super) fn emission(source: &ir::Module, level: Option<Optimize>) -> [f64; 2] {
        let backend = Llvm { optimize: level.unwrap_or(Optimize::O0), ..Llvm::default() };
        let context = Context::create();
        // SAFETY: the context is alive. The driver does without names too.
        unsafe { LLVMContextSetDiscardValueNames(context.raw(), 1) }
        let module =
            backend.module(&context, &ir::Module::default(), &[]).expect("an empty module");
        let start = Instant::now();
        backend_llvm::emit(&module, source).expect("emits");
        let emitted = Instant::now();
        if level.is_some() {
            backend_llvm::compile(&module, &backend).expect("compiles");
        }
        let [emit, compile, _] = durations([start, emitted, Instant::now()]);
        [emit, compile]
    }
}

#[cfg(feature = "mlir")]
mod mlir {
    use std::time::Instant;

    use backend_mlir::Mlir;
    use codegen::ir;
    use driver::Optimize;

    use crate::ours::durations;

    pub(super) fn emission(source: &ir::Module, level: Option<Optimize>) -> [f64; 2] {
        let context = melior::Context::new_with_threading(false);
        let backend = Mlir { optimize: level.unwrap_or(Optimize::O0), ..Mlir::default() };
        let module =
            backend.module(&context, &ir::Module::default(), &[]).expect("an empty module");
        let start = Instant::now();
        backend_mlir::emit(&context, &module, source).expect("emits");
        let emitted = Instant::now();
        if level.is_some() {
            backend_mlir::compile(&context, &module, &backend).expect("compiles");
        }
        let [emit, compile, _] = durations([start, emitted, Instant::now()]);
        [emit, compile]
    }
}
