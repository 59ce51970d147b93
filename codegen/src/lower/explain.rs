//! What a failure says: descriptors, and the shared routines that read them.

pub(crate) mod codes;
pub(crate) mod descriptor;
pub(crate) mod routines;
