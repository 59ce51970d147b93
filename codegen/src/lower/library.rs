//! Contents of a library besides wrappers and other entries: exported data and functions, metadata, shapes as data, the
//! C header.

pub(crate) mod exports;
mod header;
pub mod metadata;
pub mod shapes;
pub(crate) mod system;
