//! From declarations to files: objects, shared libraries, and the command line `tvm-ffi-codegen`.
//!
//! Backends are chosen by name, shared libraries are linked in process, and whatever is wrong with the
//! input comes back as an [`Error`] before anything is written.

#![forbid(unsafe_code)]

mod backend;
pub mod command_line;
mod emit;
mod error;
pub mod file;
pub mod imports;
pub mod inspect;
pub mod link;
mod object_file;
mod options;
mod printable;
pub mod triton;

pub use backend::{BACKENDS, backend};
pub use codegen::backend::Optimize;
pub use emit::{
    check_file, compile_shared, emit, emit_module, lower, lower_with, parse_file, write_module,
};
pub use error::{Error, ObjectFault};
pub use inspect::inspect;
pub use options::{Form, Kernel, Options, Routines};
