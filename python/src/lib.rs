//! The library as a TVM FFI module of itself: one shared object for Python, C, C++ and Rust.
//!
//! What it offers is declared in `surface.ffi`, in the language of the library, and the wrappers are made by the
//! library when this is built. `kernels` has what they call, each of which is a function of a file of its own:
//! `check`, `emit`, `link`, `jit`, `inspect`. What goes wrong is a [`Fault`](fault::Fault), which becomes an error of
//! the runtime; so does a panic.
//!
//! # Unsafety
//! It is in `exports`, `kernels` and `ffi`, where C's side of the ABI is, and in `jit`, which takes addresses.

mod check;
mod declared;
mod emit;
mod exports;
mod fault;
mod ffi;
mod inspect;
mod jit;
mod kernels;
mod link;
mod settings;
