//! The exchange API of frameworks, and the tensor that it fills in.

use std::ffi::{c_int, c_void};
use std::ptr;

use abi_spec::DeviceType;
use jit::abi::{DLManagedTensorVersioned, DLTensor};
use pyo3_ffi::PyObject;

/// `DLPackExchangeAPI`, which a framework offers as `__dlpack_c_exchange_api__` of its class.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ExchangeApi {
    version: [u32; 2],
    previous: *const ExchangeApi,
    /// Allocates a tensor; NULL if the framework does not.
    pub(crate) allocator: *mut c_void,
    from_object:
        Option<unsafe extern "C" fn(*mut PyObject, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// Makes an object of the framework, and takes the tensor over.
    pub(crate) to_object:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut PyObject) -> c_int>,
    /// Fills a tensor in, which is valid until control returns to Python.
    pub(crate) borrow: Option<unsafe extern "C" fn(*mut PyObject, *mut DLTensor) -> c_int>,
    /// Tells the stream that the framework uses on a device.
    pub(crate) stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

/// A tensor on the cpu, to be filled in.
pub(crate) const EMPTY: DLTensor = DLTensor {
    data: ptr::null_mut(),
    device_type: DeviceType::CPU.0,
    device_id: 0,
    ndim: 0,
    code: 0,
    bits: 0,
    lanes: 1,
    shape: ptr::null_mut(),
    strides: ptr::null_mut(),
    byte_offset: 0,
};
