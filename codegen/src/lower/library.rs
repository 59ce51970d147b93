//! What a library carries besides its functions.

pub(crate) mod about;
pub(crate) mod embed;
pub mod metadata;
pub(crate) mod system;
