//! Compiles declarations in process with Cranelift.

pub mod abi;

mod builtin;
mod compiled;
#[cfg(feature = "tvm-ffi")]
mod convert;
mod error;
mod ffi_function;
mod jit;
mod memory;
mod object;
mod routines;
mod runtime;
mod symbols;
mod tensor;
mod value;

pub use compiled::{Compiled, Function};
pub use error::Error;
pub use ffi_function::{Context, FfiFunction};
pub use jit::Jit;
pub use object::ObjectRef;
pub use runtime::{Kind, Runtime, runtime};
pub use tensor::{Element, Tensor};
pub use value::{CallError, Returned, Value};
