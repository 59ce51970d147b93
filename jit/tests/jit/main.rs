//! The JIT, with every runtime that there is on the machine.

mod code;
#[cfg(feature = "tvm-ffi")]
mod conversions;
mod declarations;
mod function_objects;
mod ir;
mod modules;
mod shared;
