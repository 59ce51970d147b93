//! The arguments of a call: counted, checked, unpacked and bound, so that what they yield dominates the body.

pub(crate) mod arguments;
mod binding;
mod expression;
pub(crate) mod outline;
mod scalar;
mod steps;
mod tensor;
mod value;
