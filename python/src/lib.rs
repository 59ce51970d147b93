//! The library as a TVM FFI module of itself: one shared object for Python, C, C++ and Rust.
//!
//! `surface.ffi` declares the functions, in the language of the library, and the build compiles their wrappers with the
//! library. `kernels` has the C functions that the wrappers call. Each calls a function in a file of its name: `check`,
//! `describe`, `shapes`, `emit`, `link`, `jit`, `inspect`, `import_triton`, `command_line`. A fault or a panic becomes
//! an error of the runtime.

#![deny(unsafe_code)]

mod cache;
mod check;
mod command_line;
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
mod options;
mod shapes;
mod undefined;
