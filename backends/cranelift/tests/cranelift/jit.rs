//! A test JIT: runs host IR in this process.

use codegen::ir::{self, Module};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncOrDataId, Module as _, default_libcall_names};
use target_lexicon::Triple;
use tvm_ffi_codegen_cranelift::{Settings, emit, isa};

use crate::functions;

/// Returns an empty module for this process, with the verifier on; `name` resolves to `address`.
pub(crate) fn empty(optimize: bool, imports: &[(&str, *const u8)]) -> JITModule {
    let settings = Settings { optimize, verify: true, ..Settings::JIT };
    let isa = isa(&Triple::host(), settings).unwrap();
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    builder.symbols(imports.iter().map(|&(name, address)| (name, address)));
    JITModule::new(builder)
}

/// A module whose code can run.
pub(crate) struct Running(JITModule);

impl Running {
    /// Finalizes the emitted functions.
    pub(crate) fn start(mut module: JITModule) -> Self {
        module.finalize_definitions().unwrap();
        Running(module)
    }

    /// Returns the address of a function.
    pub(crate) fn address(&self, name: &str) -> usize {
        let Some(FuncOrDataId::Func(id)) = self.0.get_name(name) else { panic!("no {name}") };
        self.0.get_finalized_function(id).addr()
    }

    /// Calls a function of [`functions`](crate::functions).
    pub(crate) fn call(&self, name: &str, input: &[u64]) -> u64 {
        functions::call(self.address(name), input)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let empty = empty(false, &[]);
        let module = std::mem::replace(&mut self.0, empty);
        // SAFETY: calls have returned, and no address of this module's code is kept.
        unsafe { module.free_memory() }
    }
}

/// Emits and starts one module, once per optimisation level: both must do the same.
pub(crate) fn run(source: &Module, imports: &[(&str, *const u8)]) -> [Running; 2] {
    ir::verify(source).unwrap();
    [false, true].map(|optimize| {
        let mut module = empty(optimize, imports);
        emit(&mut module, source).unwrap();
        Running::start(module)
    })
}
