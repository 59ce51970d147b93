//! Arguments, calls and results.

pub(crate) mod arg;
pub(crate) mod args;
pub(crate) mod array;
pub(crate) mod call;
pub(crate) mod content;
pub(crate) mod element;
pub(crate) mod function;
pub(crate) mod held;
#[cfg(feature = "ndarray")]
mod ndarray;
pub(crate) mod object;
pub(crate) mod returned;
pub(crate) mod tensor;
#[cfg(test)]
mod tests;
#[cfg(feature = "tvm-ffi")]
mod tvm_ffi;
pub(crate) mod view;
