//! The arguments of a call: counted, checked, unpacked and bound, so that what they yield dominates the body.

pub(crate) mod arguments;
pub(crate) mod binding;
pub(crate) mod check;
pub(crate) mod expression;
pub(crate) mod outline;
pub(crate) mod scalar;
pub(crate) mod tensor;
pub(crate) mod value;
pub(crate) mod wrapper;
