//! The command line and shared libraries.

#![forbid(unsafe_code)]

mod backend;
mod error;
pub mod file;
pub mod inspect;
pub mod link;
mod object_file;

pub use error::{Error, ObjectFault};
pub use inspect::inspect;
