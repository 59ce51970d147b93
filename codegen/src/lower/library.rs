//! What a library carries besides its functions.

pub(crate) mod exports;
mod header;
pub mod metadata;
pub(crate) mod stub;
pub(crate) mod system;
