//! LLVM's diagnostics as values. Without a handler LLVM writes them to stderr and exits.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};

use codegen::backend::Error;
use inkwell::context::ContextRef;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextGetDiagnosticContext, LLVMContextGetDiagnosticHandler,
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

use crate::refused;

/// Runs `work`; returns its result, or the first error that LLVM reports meanwhile.
pub(crate) fn collect<T>(
    context: ContextRef<'_>,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let first = RefCell::new(None);
    let handler = Handler::install(context.raw(), &first);
    let result = work();
    drop(handler);
    match first.into_inner() {
        Some(reason) => Err(refused(reason)),
        None => result,
    }
}

/// An installed handler. Dropping it restores the previous one.
struct Handler {
    context: LLVMContextRef,
    before: inkwell::llvm_sys::LLVMDiagnosticHandler,
    argument: *mut c_void,
}

impl Handler {
    fn install(context: LLVMContextRef, first: &RefCell<Option<String>>) -> Self {
        let argument = (&raw const *first).cast_mut().cast();
        // SAFETY: the context is alive, and `collect` drops the handler before `first`.
        unsafe {
            let before = LLVMContextGetDiagnosticHandler(context);
            let handler =
                Handler { context, before, argument: LLVMContextGetDiagnosticContext(context) };
            LLVMContextSetDiagnosticHandler(context, Some(record), argument);
            handler
        }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: the context is alive, and the pair is the previous handler.
        unsafe { LLVMContextSetDiagnosticHandler(self.context, self.before, self.argument) }
    }
}

extern "C" fn record(diagnostic: LLVMDiagnosticInfoRef, first: *mut c_void) {
    // SAFETY: LLVM passes a diagnostic that is alive during the call and the argument of `install`; the
    // message is a C string that is ours to dispose of.
    unsafe {
        if LLVMGetDiagInfoSeverity(diagnostic) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let first = &*first.cast::<RefCell<Option<String>>>();
        let message = LLVMGetDiagInfoDescription(diagnostic);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        first.borrow_mut().get_or_insert(text);
    }
}
