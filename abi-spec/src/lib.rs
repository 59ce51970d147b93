//! The TVM FFI stable C ABI as Rust values.

mod device;
mod dtype;
mod scalar;

pub use device::DeviceType;
pub use dtype::DType;
pub use scalar::Scalar;
