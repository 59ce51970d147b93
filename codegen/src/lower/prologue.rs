//! The arguments of a call: counted, checked, unpacked and bound, so that what they yield dominates the body.

pub(crate) mod arguments;
pub(crate) mod binding;
pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod expression;
pub(crate) mod literal;
pub(crate) mod mapping;
pub(crate) mod optional;
pub(crate) mod outline;
pub(crate) mod registry;
pub(crate) mod scalar;
pub(crate) mod scope;
pub(crate) mod sequence;
pub(crate) mod tensor;
pub(crate) mod union;
pub(crate) mod value;
pub(crate) mod wrapper;
