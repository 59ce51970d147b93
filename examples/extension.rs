//! A compiler in Rust that Python calls: `mylang.compile(text)` compiles declarations into the process and returns
//! their functions, in a map. Errors are exceptions of their kinds, and one of a callback in Python passes through.
//! `extension.py` loads the library that this file becomes.

use std::error::Error;

use codegen::Library;
use jit::{CallError, FfiFunction, Jit, ObjectRef, raise, runtime};

/// A kernel with a status, which may raise an error.
extern "C" fn positive(x: f64) -> i32 {
    if x > 0.0 { 0 } else { raise("mylang.DomainError", format_args!("{x} is not positive")) }
}

/// Compiles a text. `notify` is called with the name of each function.
fn compile(text: &str, notify: Option<FfiFunction>) -> Result<ObjectRef, Box<dyn Error>> {
    let library: Library =
        text.parse().map_err(|error| CallError::new("SyntaxError", format!("{error}")))?;
    let positive: extern "C" fn(_) -> _ = positive;
    // SAFETY: the kernel is sound for all floats.
    let jit = unsafe { Jit::new()?.kernel("positive", positive) };
    let compiled = jit.compile(&library)?;
    if let Some(notify) = notify {
        compiled.names().try_for_each(|name| notify.call((name,)).map(drop))?;
    }
    // The code is freed with the last of the functions.
    Ok(compiled.into_functions()?)
}

/// Registers the compiler. Returns 0, or -1 with the error in the thread's slot.
#[unsafe(no_mangle)]
pub extern "C" fn mylang_register() -> i32 {
    let register = || -> Result<(), jit::Error> {
        let compile = FfiFunction::wrap("mylang.compile", compile, runtime())?;
        // SAFETY: the program loads this library before it starts threads, and the name is our own.
        unsafe { compile.register_global("mylang.compile", true) }
    };
    register().map_or_else(|error| raise("RuntimeError", error), |()| 0)
}
