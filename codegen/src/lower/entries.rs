//! Ways into the functions of a library besides those of the FFI: C functions and handlers of XLA. Each packs what it is
//! given as arguments of the wrapper and calls it.

pub(crate) mod handler;
pub(crate) mod stub;
