//! Views of tensors: `DLTensor`s that a frame holds, of frameworks with an exchange API and of NumPy.
//!
//! What a framework fills in is valid only until control returns to Python. So shape and strides are copied, and the
//! object is held while the interpreter's lock may be released.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};

use abi_spec::{DType, DeviceType, TypeCode};
use jit::abi::{DLManagedTensorVersioned, DLTensor};
use pyo3_ffi::{
    Py_buffer, PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyErr_Clear,
    PyObject, PyObject_GetBuffer,
};

use crate::object::Owned;

/// Most dims of a view. `tvm_ffi` converts tensors with more.
const DIMS: usize = 8;

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
    borrow: Option<unsafe extern "C" fn(*mut PyObject, *mut DLTensor) -> c_int>,
    /// Tells the stream that the framework uses on a device.
    pub(crate) stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

/// A tensor in a frame.
pub(crate) struct View {
    tensor: DLTensor,
    shape: [i64; DIMS],
    strides: [i64; DIMS],
    _held: Held,
}

/// What keeps the elements of a view.
enum Held {
    Object { _object: Owned },
    Buffer(Py_buffer),
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Held::Buffer(buffer) = self {
            // SAFETY: the buffer was filled in, and is released only here.
            unsafe { PyBuffer_Release(buffer) };
        }
    }
}

impl View {
    /// Views an object of a framework. `None` if the framework refuses, or if there are too many dims.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the API is that of the object's type.
    pub(crate) unsafe fn of_framework(
        api: NonNull<ExchangeApi>,
        object: NonNull<PyObject>,
    ) -> Option<View> {
        // SAFETY: frameworks keep their API for ever.
        let borrow = unsafe { api.as_ref() }.borrow?;
        let mut tensor = EMPTY;
        // SAFETY: as required above.
        if unsafe { borrow(object.as_ptr(), &mut tensor) } != 0 {
            // SAFETY: the lock is held.
            unsafe { PyErr_Clear() };
            return None;
        }
        let rank = rank(tensor.ndim)?;
        // SAFETY: the object is alive.
        let held = Held::Object { _object: unsafe { Owned::of(object) } };
        let mut view = View { tensor, shape: [0; DIMS], strides: [0; DIMS], _held: held };
        // SAFETY: the tensor has as many extents, and strides if there are any; the object is alive.
        unsafe {
            copy(tensor.shape, &mut view.shape[..rank]);
            if tensor.strides.is_null() {
                compact(&view.shape[..rank], &mut view.strides);
            } else {
                copy(tensor.strides, &mut view.strides[..rank]);
            }
        }
        Some(view)
    }

    /// Views an array of NumPy. `None` if DLPack has no such array, if NumPy refuses, or if there are too many dims.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the object is alive.
    pub(crate) unsafe fn of_array(object: NonNull<PyObject>) -> Option<View> {
        let mut buffer = Py_buffer::new();
        let flags = PyBUF_FORMAT | PyBUF_STRIDES | PyBUF_WRITABLE;
        // SAFETY: as required above.
        if unsafe { PyObject_GetBuffer(object.as_ptr(), &mut buffer, flags) } != 0 {
            // SAFETY: the lock is held.
            unsafe { PyErr_Clear() };
            return None;
        }
        let (data, ndim, size) = (buffer.buf, buffer.ndim, i64::try_from(buffer.itemsize).ok()?);
        let (format, shape, strides) = (buffer.format, buffer.shape, buffer.strides);
        // From here on the buffer is released on every way out.
        let held = Held::Buffer(buffer);
        let rank = rank(ndim)?;
        // SAFETY: a format is asked for, so there is one, and it ends with NUL.
        let dtype = element(unsafe { CStr::from_ptr(format) }, size)?;
        let tensor = DLTensor {
            data,
            ndim,
            code: dtype.code,
            bits: dtype.bits,
            lanes: dtype.lanes,
            ..EMPTY
        };
        let mut view = View { tensor, shape: [0; DIMS], strides: [0; DIMS], _held: held };
        // SAFETY: shape and strides are asked for; both have as many numbers as there are dims.
        unsafe {
            copy(shape.cast::<i64>(), &mut view.shape[..rank]);
            copy(strides.cast::<i64>(), &mut view.strides[..rank]);
        }
        for stride in &mut view.strides[..rank] {
            if *stride % size != 0 {
                return None;
            }
            *stride /= size;
        }
        Some(view)
    }

    /// Points the tensor at the extents, and returns its address. The view must not move afterwards.
    pub(crate) fn settle(&mut self) -> *mut DLTensor {
        self.tensor.shape = self.shape.as_mut_ptr();
        // As in the tensors of the runtime, a tensor without dims has no strides.
        let has_strides = self.tensor.ndim > 0;
        self.tensor.strides = if has_strides { self.strides.as_mut_ptr() } else { ptr::null_mut() };
        &mut self.tensor
    }

    /// The device, for tensors that are not on the cpu: its type and index.
    pub(crate) fn device(&self) -> Option<(i32, i32)> {
        let on_cpu = self.tensor.device_type == DeviceType::CPU.0;
        (!on_cpu).then_some((self.tensor.device_type, self.tensor.device_id))
    }
}

/// A tensor on the cpu, to be filled in.
const EMPTY: DLTensor = DLTensor {
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

/// Returns a rank that a view has room for.
fn rank(ndim: c_int) -> Option<usize> {
    usize::try_from(ndim).ok().filter(|&rank| rank <= DIMS)
}

/// Copies extents or strides.
///
/// # Safety
/// There are as many numbers at `from` as in `to`.
unsafe fn copy(from: *const i64, to: &mut [i64]) {
    if !to.is_empty() {
        // SAFETY: as required above.
        unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }
}

/// Writes the strides of a compact row-major tensor.
fn compact(shape: &[i64], strides: &mut [i64]) {
    let mut stride = 1i64;
    for (extent, to) in shape.iter().zip(strides).rev() {
        *to = stride;
        stride = stride.wrapping_mul(*extent);
    }
}

/// Returns the element type of a format of the buffer protocol, with elements of `size` bytes. `None` for what DLPack
/// cannot say, and what NumPy does not export: another byte order, structures, dates, `longdouble`.
fn element(format: &CStr, size: i64) -> Option<DType> {
    let code = match format.to_bytes() {
        b"?" => TypeCode::Bool,
        b"b" | b"h" | b"i" | b"l" | b"q" => TypeCode::Int,
        b"B" | b"H" | b"I" | b"L" | b"Q" => TypeCode::UInt,
        b"e" | b"f" | b"d" => TypeCode::Float,
        b"Zf" | b"Zd" => TypeCode::Complex,
        _ => return None,
    };
    Some(DType::new(code, u8::try_from(size * 8).ok()?, 1))
}
