//! A test JIT: runs host IR in this process.

use codegen::ir::{self, Module};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::execution_engine::ExecutionEngine;
use inkwell::module::Module as Native;
use tvm_ffi_codegen_llvm::{Llvm, Optimize, emit, optimize, verify};

use crate::functions;

/// Returns the backend for the host at a level.
pub(crate) fn host(optimize: Optimize) -> Llvm {
    Llvm { optimize, ..Llvm::default() }
}

/// A module whose code can run. Its context is never freed: a test is short.
pub(crate) struct Running(ExecutionEngine<'static>);

/// A context for a test.
pub(crate) fn context() -> &'static Context {
    Box::leak(Box::new(Context::create()))
}

/// Returns an empty module for this process.
pub(crate) fn empty() -> Native<'static> {
    host(Optimize::O0).module(context(), &Module::default(), &[]).unwrap()
}

impl Running {
    /// Compiles the emitted functions; a name resolves to an address.
    pub(crate) fn start(
        module: &Native<'static>,
        level: Optimize,
        imports: &[(&str, *const u8)],
    ) -> Self {
        verify(module).unwrap_or_else(|error| panic!("{error}\n{}", module.to_string()));
        let imports: Vec<_> = imports
            .iter()
            .filter_map(|&(name, address)| {
                let function = module.get_function(name).map(|f| f.as_global_value());
                Some((function.or_else(|| module.get_global(name))?, address.addr()))
            })
            .collect();
        optimize(module, &host(level)).unwrap();
        let native = match level {
            Optimize::O0 => OptimizationLevel::None,
            Optimize::O1 | Optimize::O2 | Optimize::O3 => OptimizationLevel::Default,
        };
        let engine = module.create_jit_execution_engine(native).unwrap();
        imports.iter().for_each(|(global, address)| engine.add_global_mapping(global, *address));
        Running(engine)
    }

    /// Returns the address of a function.
    pub(crate) fn address(&self, name: &str) -> usize {
        self.0.get_function_address(name).unwrap()
    }

    /// Calls a function of [`functions`](crate::functions).
    pub(crate) fn call(&self, name: &str, input: &[u64]) -> u64 {
        functions::call(self.address(name), input)
    }
}

/// Emits and starts one module, once per optimisation level: both must do the same.
pub(crate) fn run(source: &Module, imports: &[(&str, *const u8)]) -> [Running; 2] {
    ir::verify(source).unwrap();
    [Optimize::O0, Optimize::O2].map(|level| {
        let module = empty();
        emit(&module, source).unwrap();
        Running::start(&module, level, imports)
    })
}
