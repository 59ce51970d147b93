//! The route through the JIT: functions are called directly.

use std::ptr;

use codegen::{Library, Options, Routines, ir};
use jit::{Compiled, HostFunction, Jit, Runtime};

use super::{
    ALLOCATOR, Around, Call, RECORDED, Reason, Route, perform, plainly, set_allocator,
    with_recorder,
};
use crate::ffi::Ffi;
use crate::kernels::kernels;
use crate::outcome::Outcome;

/// A library in the JIT.
#[derive(Debug)]
pub struct InProcess {
    compiled: Compiled,
    ffi: Ffi,
    /// Code around each call.
    pub around: Around,
    /// True if the kernels' allocator is set for the calls.
    pub allocator: bool,
}

impl InProcess {
    /// Compiles a library against a runtime.
    pub fn new(library: &Library, runtime: &'static Runtime) -> InProcess {
        let compiled = compile(&with_recorder(library), runtime);
        InProcess { compiled, ffi: Ffi::new(runtime), around: plainly, allocator: true }
    }

    fn function(&self, name: &str) -> HostFunction {
        self.compiled.function(name).unwrap_or_else(|| panic!("no function {name}"))
    }
}

/// Compiles a library whose declarations call the kernels of this crate.
fn compile(library: &Library, runtime: &'static Runtime) -> Compiled {
    let options = Options { routines: Routines::Shared, ..Options::default() };
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&codegen::lower(&resolved, &options)).unwrap_or_else(|error| panic!("{error}"));
    let mut jit = Jit::with_runtime(runtime).unwrap_or_else(|error| panic!("{error}"));
    let calls = library.functions.iter().flat_map(|function| function.body.kernel_calls());
    for symbol in calls.filter_map(codegen::KernelCall::symbol) {
        let address = kernels().address(symbol).unwrap_or_else(|| panic!("no kernel {symbol}"));
        // SAFETY: the kernels are what the declarations of the table say.
        jit = unsafe { jit.kernel_at(symbol, address) };
    }
    // SAFETY: the stand-in for the driver runs no kernel, and the functions that tables register take any arguments.
    let jit = unsafe { jit.launches().calls() };
    jit.compile(library).unwrap_or_else(|error| panic!("{error}"))
}

impl Route for InProcess {
    fn name(&self) -> String {
        format!("jit, {:?}", self.compiled.runtime())
    }

    fn run(&self, calls: &[Call<'_>]) -> Vec<Result<Outcome, Reason>> {
        self.ffi.set_streams();
        let (recorder, allocator) = (self.function(RECORDED), self.function(ALLOCATOR));
        if self.allocator {
            // SAFETY: it takes no arguments.
            set_allocator(&self.ffi, &|args, n, result| unsafe {
                allocator.call_raw(ptr::null_mut(), args, n, result)
            });
        }
        let call = |call: &Call<'_>| {
            let function = self.function(call.function);
            perform(
                &self.ffi,
                call,
                self.around,
                // SAFETY: the arguments are valid, and what is no closure ignores its handle.
                &|args, n, result| unsafe { function.call_raw(ptr::null_mut(), args, n, result) },
                // SAFETY: as above.
                &|args, n, result| unsafe { recorder.call_raw(ptr::null_mut(), args, n, result) },
            )
        };
        calls.iter().map(call).collect()
    }
}
