//! The TVM FFI stable C ABI as Rust values.

#![forbid(unsafe_code)]

mod device;
mod dtype;
mod error;
mod scalar;

pub use device::{Device, DeviceType};
pub use dtype::{DType, TypeCode};
pub use error::ParseError;
pub use scalar::Scalar;
