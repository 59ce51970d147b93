//! From declarations to files: objects, shared libraries, and the command line `tvm-ffi-codegen`.
//!
//! A [`Request`] has the form of the output, the backend, the files to link, and all other options;
//! [`Request::emit`] makes the output of a library. A wrong input is an [`Error`] before anything is written.

#![deny(unsafe_code)]

mod backend;
mod cache;
pub mod command;
mod emit;
mod error;
mod explorer;
#[doc(hidden)]
pub mod file;
pub mod imports;
pub mod inspect;
mod request;
mod stages;
#[expect(unsafe_code, reason = "a constructor looks before Rust does")]
mod stdout;

pub use backend::BackendName;
pub use cache::{Cache, Key};
pub use codegen::Routines;
pub use codegen::backend::Optimize;
pub use emit::{check_file, lower, parse_file};
pub use error::Error;
pub use inspect::inspect;
pub use link;
pub use link::ObjectFault;
pub use request::{CheckGroup, File, Form, Headers, Register, Request, Source};
// Parsers of the values of options, for the Python package.
#[doc(hidden)]
pub use request::{parse_register, parse_routines, parse_target};
pub use triton;
