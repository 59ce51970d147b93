//! Prologues: arguments are counted, checked, unpacked and bound to names, in code that dominates the body.

pub(crate) mod arguments;
mod binding;
mod devices;
mod layout;
mod literal;
mod mapping;
mod optional;
pub(crate) mod outline;
mod registry;
pub(crate) mod runs;
mod scalar;
pub(crate) mod scope;
mod sequence;
mod steps;
pub(crate) mod strides;
mod tensor;
mod union;
mod value;
