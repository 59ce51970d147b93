//! The TVM FFI stable C ABI as Rust values: the layout of values and tensors, the functions of the runtime, the names
//! of symbols. The crate generates and runs no code, and has no dependencies.
//!
//! `tests/layout.rs` checks every number against the headers of `apache-tvm-ffi`. Targets are 64-bit and little-endian.
//!
//! # Values
//!
//! `TVMFFIAny` is an argument, a result, or an element of a container:
//!
//! ```text
//!   0            4            8                         16
//!   +------------+------------+-------------------------+
//!   | type_index | small_len  |         payload         |
//!   +------------+------------+-------------------------+
//!          1           0        an int64_t
//!          3           0        a double
//!          7           0        DLTensor*, borrowed
//!         11         0..=7      the bytes of a string
//!         70           0        TVMFFIObject*, with the DLTensor 24 bytes further
//! ```
//!
//! `DLTensor` is a view of a tensor, `TVMFFIObject` the header of every object:
//!
//! ```text
//!   +------------------------------+ 0       +-------------------------------+ 0
//!   |             data             |         |       combined_ref_count      |
//!   +---------------+--------------+ 8       +---------------+---------------+ 8
//!   |  device_type  |  device_id   |         |  type_index   |    padding    |
//!   +---------------+--------------+ 16      +---------------+---------------+ 16
//!   |     ndim      |    dtype     |         |            deleter            |
//!   +---------------+--------------+ 24      +-------------------------------+ 24
//!   |            shape             |         : the cell, by type of object,  :
//!   +------------------------------+ 32      : a DLTensor for type 70        :
//!   |  strides, NULL if compact    |
//!   +------------------------------+ 40
//!   |  byte_offset, from data      |
//!   +------------------------------+ 48
//! ```
//!
//! [`TypeIndex`] determines the payload; from 64 on it is a reference-counted object. Bytes of a value that its type
//! does not use are 0. [`layout`] has the offsets.
//!
//! # Calls
//!
//! Every function has one C type, and the symbol `__tvm_ffi_<name>` ([`symbol`]):
//!
//! ```c
//! int f(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
//! ```
//!
//! * `handle` is the context of a closure. Exported functions ignore it; callers may pass anything.
//! * `args` are borrowed and read-only; the pointer may be NULL where `num_args` is 0. The callee
//!   checks `num_args` first.
//! * `result` holds no object before the call. On success the callee writes all 16 bytes, and the caller owns the
//!   value; on failure `result` is unchanged.
//! * The function returns 0, or -1 after it has set the error of the calling thread
//!   ([`runtime::ERROR_SET_RAISED`] and others). It does not unwind.
//!
//! # Example
//!
//! The words that a check of a two-dimensional `float32` tensor loads and compares:
//!
//! ```
//! use tvm_ffi_abi_spec::{DType, TypeIndex, layout, runtime, symbol};
//!
//! assert_eq!(symbol::function_symbol("add_one"), "__tvm_ffi_add_one");
//! assert_eq!(layout::any::PAYLOAD.offset, 8);
//! assert_eq!(layout::dl_tensor::NDIM.offset, 16);
//! assert_eq!(layout::dl_tensor::NDIM.in_object(), 40);
//!
//! // `ndim` and `dtype` are one aligned word: a check of both is one comparison.
//! let dtype: DType = "float32".parse()?;
//! let word = 2 | u64::from(dtype.to_word()) << 32;
//! assert_eq!(word, 0x0001_2002_0000_0002);
//!
//! assert_eq!(TypeIndex(11).received_name(), Some("str"));
//! assert_eq!(runtime::ENV_GET_STREAM.params, [runtime::CType::I32; 2]);
//! # Ok::<(), tvm_ffi_abi_spec::ParseError>(())
//! ```

#![forbid(unsafe_code)]

pub mod c_library;
pub mod error_kind;
pub mod layout;
pub mod library_bin;
pub mod module_attribute;
pub mod runtime;
#[doc(hidden)]
pub mod sources;
pub mod symbol;
pub mod torch;
pub mod xla;

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

/// The digest of the sources of this crate.
#[doc(hidden)]
pub const SOURCES: &str = env!("SOURCES");
