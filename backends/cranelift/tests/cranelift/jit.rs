//! Runs host IR in this process.

use codegen::ir::{self, Module};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncOrDataId, Module as _, default_libcall_names};
use target_lexicon::Triple;
use tvm_ffi_codegen_cranelift::{Settings, emit, isa};

/// An empty module for this process, with the verifier on; `name` resolves to `address`.
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
    /// Makes what has been emitted callable.
    pub(crate) fn start(mut module: JITModule) -> Self {
        module.finalize_definitions().unwrap();
        Running(module)
    }

    /// Calls a function of [`functions`](crate::functions): it reads `input` and writes its answer.
    pub(crate) fn call(&self, name: &str, input: &[u64]) -> u64 {
        let Some(FuncOrDataId::Func(id)) = self.0.get_name(name) else { panic!("no {name}") };
        let address = self.0.get_finalized_function(id);
        let mut output = 0;
        // SAFETY: the tests in this folder define the function with this signature; it reads no more
        // than the test passes, and the module that owns the code outlives the call.
        unsafe {
            let function: extern "C" fn(*const u64, *mut u64) = std::mem::transmute(address);
            function(input.as_ptr(), &mut output);
        }
        output
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
    ir::verify(source);
    [false, true].map(|optimize| {
        let mut module = empty(optimize, imports);
        emit(&mut module, source).unwrap();
        Running::start(module)
    })
}
