//! The TVM FFI stable C ABI as Rust values.

#![forbid(unsafe_code)]

pub mod layout;
pub mod runtime;
pub mod symbol;

mod device;
mod dtype;
mod error;
mod scalar;
mod type_code;
mod type_index;

pub use device::{Device, DeviceType};
pub use dtype::DType;
pub use error::ParseError;
pub use scalar::Scalar;
pub use type_code::TypeCode;
pub use type_index::TypeIndex;
