//! From declarations to files: objects, shared libraries, and the command line `tvm-ffi-codegen`.
//!
//! A [`Request`] says what to make of a library, with which backend and with what linked to it;
//! [`Request::emit`] makes it. Whatever is wrong with the input is an [`Error`] before anything is written.

#![forbid(unsafe_code)]

mod backend;
pub mod command;
mod emit;
mod error;
pub mod file;
pub mod imports;
pub mod inspect;
pub mod link;
mod object_file;
mod printable;
mod request;

pub use backend::BackendName;
pub use codegen::Routines;
pub use codegen::backend::Optimize;
pub use emit::{check_file, lower, parse_file};
pub use error::{Error, ObjectFault};
pub use inspect::inspect;
pub use request::{CheckGroup, File, Form, Request, Source, parse_routines, parse_target};
pub use triton;
