//! Ways into the functions of a library besides those of the FFI: C functions, handlers of XLA and operators of
//! PyTorch. Each packs what it is given as arguments of the wrapper and calls it.

mod raising;
pub(crate) mod stub;
pub(crate) mod torch;
pub(crate) mod xla;
