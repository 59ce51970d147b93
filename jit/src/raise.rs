//! Errors that kernels raise.

use std::fmt;

use crate::code::callers;

/// Raises an error from a kernel with a status, `try kernel(…)`, and returns the status -1.
///
/// ```
/// use tvm_ffi_codegen::Library;
/// use tvm_ffi_codegen_jit::{Jit, raise};
///
/// extern "C" fn check(n: i64) -> i32 {
///     if n < 0 {
///         return raise("ValueError", format_args!("{n} rows"));
///     }
///     0
/// }
///
/// let library: Library = "check(n: int64) -> None = try check(n);".parse()?;
/// // SAFETY: the kernel is sound for all integers.
/// let jit = unsafe { Jit::new()?.kernel("check", check as extern "C" fn(_) -> _) };
/// let check = jit.compile(&library)?.function("check").expect("it is declared");
/// check.call((5,))?;
/// assert_eq!(check.call((-5,)).unwrap_err().to_string(), "ValueError: -5 rows");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Kinds
/// Any text is a kind, and arrives as it is in Rust, C and C++. Python raises the exception that is registered for it:
/// `tvm_ffi` registers `RuntimeError`, `ValueError`, `TypeError`, `AttributeError`, `KeyError`, `IndexError`,
/// `AssertionError` and `MemoryError`, and a program others, also with dots:
/// `tvm_ffi.register_error("SyntaxError", SyntaxError)`, `tvm_ffi.register_error("dsl.LayoutError", LayoutError)`. A
/// kind that nobody has registered, `SyntaxError` among them, becomes a `RuntimeError` whose message is that of the
/// error.
///
/// # The runtime
/// The error goes into the thread's slot of the [runtime](crate::Runtime) that the calling code uses. If all
/// [`Jit`](crate::Jit)s of the process have one runtime, that is it. Otherwise, on Unix, the code that has called the
/// kernel is searched on the stack, which unwinders see through the kernel unless it was compiled without unwind tables
/// (`-C panic=abort` alone keeps them on most targets). Where that finds nothing the default
/// [`runtime`](crate::runtime()) gets the error. [`Runtime::raise`](crate::Runtime::raise) names the runtime instead.
///
/// A closure that is a function ([`Jit::function`](crate::Jit::function)) returns a `Result` instead.
pub fn raise(kind: &str, message: impl fmt::Display) -> i32 {
    callers::calling().raise(kind, message)
}
