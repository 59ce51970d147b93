//! What a failure says: descriptors, and the shared routines that read them.

pub(crate) mod codes;
pub(crate) mod complaints;
pub(crate) mod descriptor;
pub(crate) mod extent;
pub(crate) mod print;
pub(crate) mod routines;
mod schema;
pub(crate) mod site;
#[cfg(test)]
mod tests;
