//! Runs host IR in this process.

use codegen::ir::{self, Module};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::execution_engine::ExecutionEngine;
use inkwell::module::Module as Native;
use tvm_ffi_codegen_llvm::{Llvm, Optimize, emit, optimize, verify};

/// The host, at a level.
pub(crate) fn host(optimize: Optimize) -> Llvm {
    Llvm { optimize, ..Llvm::default() }
}

/// A module whose code can run. Its context is never freed: a test is short.
pub(crate) struct Running(ExecutionEngine<'static>);

/// A context for a test.
pub(crate) fn context() -> &'static Context {
    Box::leak(Box::new(Context::create()))
}

/// An empty module for this process.
pub(crate) fn empty() -> Native<'static> {
    host(Optimize::O0).module(context(), &Module::default(), &[]).unwrap()
}

impl Running {
    /// Compiles what has been emitted; a name resolves to an address.
    pub(crate) fn start(
        module: &Native<'static>,
        level: Optimize,
        imports: &[(&str, *const u8)],
    ) -> Self {
        verify(module).unwrap_or_else(|error| panic!("{error}\n{}", module.to_string()));
        let imports: Vec<_> = imports
            .iter()
            .filter_map(|&(name, address)| Some((module.get_function(name)?, address as usize)))
            .collect();
        optimize(module, &host(level)).unwrap();
        let native = match level {
            Optimize::O0 => OptimizationLevel::None,
            Optimize::O1 | Optimize::O2 | Optimize::O3 => OptimizationLevel::Default,
        };
        let engine = module.create_jit_execution_engine(native).unwrap();
        imports
            .iter()
            .for_each(|(function, address)| engine.add_global_mapping(function, *address));
        Running(engine)
    }

    /// Calls a function of [`functions`](crate::functions): it reads `input` and writes its answer.
    pub(crate) fn call(&self, name: &str, input: &[u64]) -> u64 {
        let address = self.0.get_function_address(name).unwrap();
        let mut output = 0;
        // SAFETY: the tests in this folder define the function with this signature; it reads no more
        // than the test passes, and the engine that owns the code outlives the call.
        unsafe {
            let function: extern "C" fn(*const u64, *mut u64) = std::mem::transmute(address);
            function(input.as_ptr(), &mut output);
        }
        output
    }
}

/// Emits and starts one module, once per optimisation level: both must do the same.
pub(crate) fn run(source: &Module, imports: &[(&str, *const u8)]) -> [Running; 2] {
    ir::verify(source);
    [Optimize::O0, Optimize::O2].map(|level| {
        let module = empty();
        emit(&module, source).unwrap();
        Running::start(&module, level, imports)
    })
}
