//! What a library carries besides its functions.

pub(crate) mod about;
pub(crate) mod embed;
mod header;
pub mod metadata;
pub(crate) mod stub;
pub(crate) mod system;
pub(crate) mod unload;
