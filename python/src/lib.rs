//! The library as a TVM FFI module of itself: one shared object for Python, C, C++ and Rust.
//!
//! What it offers is declared in `surface.ffi`, in the language of the library, and the wrappers are made by the
//! library when this is built. `kernels` has what they call, each of which is a function of a file of its own:
//! `check`, `describe`, `emit`, `link`, `jit`, `inspect`, `import_triton`, `command_line`. What goes wrong is a fault,
//! which becomes an error of the runtime; so does a panic.

#![deny(unsafe_code)]

mod check;
mod command_line;
mod declared;
mod describe;
mod emit;
#[allow(unsafe_code, reason = "C functions that loaders look for")]
mod exports;
mod fault;
#[allow(unsafe_code, reason = "values as C has them")]
mod ffi;
mod import_triton;
mod inspect;
#[allow(unsafe_code, reason = "callers vouch for addresses")]
mod jit;
#[allow(unsafe_code, reason = "C functions that wrappers call")]
mod kernels;
mod link;
mod raising;
mod settings;
mod undefined;
