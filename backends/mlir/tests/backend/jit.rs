//! A test JIT: runs host IR in this process by way of LLVM IR.

use codegen::ir::{self, Module};
use inkwell::OptimizationLevel;
use inkwell::context::Context as LlvmContext;
use inkwell::execution_engine::ExecutionEngine;
use melior::Context;
use tvm_ffi_codegen_mlir::{Mlir, Optimize, object, verify};

use crate::functions;

/// A module whose code can run. Its context is never freed: a test is short.
pub(crate) struct Running(ExecutionEngine<'static>);

impl Running {
    /// Emits, translates and compiles a module; a name resolves to an address.
    fn start(source: &Module, optimize: Optimize, imports: &[(&str, *const u8)]) -> Self {
        let mlir = Mlir { optimize, ..Mlir::default() };
        let context = Context::new_with_threading(false);
        let module = mlir.module(&context, source, &[]).unwrap();
        verify(&context, &module).unwrap();
        let llvm: &'static LlvmContext = Box::leak(Box::new(LlvmContext::create()));
        let module = object::translate(&context, &module, llvm).unwrap();
        let target = backend_llvm::Llvm { optimize, ..backend_llvm::Llvm::default() };
        let imports: Vec<_> = imports
            .iter()
            .filter_map(|&(name, address)| {
                let function = module.get_function(name).map(|f| f.as_global_value());
                Some((function.or_else(|| module.get_global(name))?, address.addr()))
            })
            .collect();
        backend_llvm::optimize(&module, &target).unwrap();
        let engine = module.create_jit_execution_engine(OptimizationLevel::None).unwrap();
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
    [Optimize::O0, Optimize::O2].map(|level| Running::start(source, level, imports))
}
