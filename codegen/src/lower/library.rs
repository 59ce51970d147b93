//! Contents of a library besides wrappers: caller stubs, exported data and functions, metadata, the C header.

pub(crate) mod exports;
mod header;
pub mod metadata;
pub(crate) mod stub;
pub(crate) mod system;
