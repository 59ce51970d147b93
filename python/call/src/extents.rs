//! Extents and strides: their number, copies, and strides in elements.

use std::ffi::c_int;
use std::ptr::NonNull;

use pyo3_ffi::{
    PyErr_Clear, PyLong_AsSsize_t, PyObject, PyObject_GetAttrString, PyTuple_GetItem, PyTuple_Size,
};

use crate::object::Owned;

/// Most dims of a view. `tvm_ffi` converts tensors with more.
pub(crate) const DIMS: usize = 8;

/// Returns a rank that a view has room for.
#[inline]
pub(crate) fn rank(ndim: c_int) -> Option<usize> {
    usize::try_from(ndim).ok().filter(|&rank| rank <= DIMS)
}

/// Copies extents or strides.
///
/// # Safety
/// There are as many numbers at `from`, and room for them at `to`.
#[inline]
pub(crate) unsafe fn copy(from: *const i64, to: *mut i64, count: usize) {
    for index in 0..count {
        // SAFETY: as required above.
        unsafe { to.add(index).write(*from.add(index)) };
    }
}

/// Writes the strides of a compact row-major tensor.
///
/// # Safety
/// There are as many extents, and room for the strides.
#[inline]
pub(crate) unsafe fn compact(shape: *const i64, strides: *mut i64, count: usize) {
    let mut stride = 1i64;
    for dim in (0..count).rev() {
        // SAFETY: as required above.
        unsafe {
            strides.add(dim).write(stride);
            stride = stride.wrapping_mul(*shape.add(dim));
        }
    }
}

/// Converts strides from bytes to elements of `size` bytes, a power of two. False if one is not whole elements.
///
/// # Safety
/// There are as many strides.
#[inline]
pub(crate) unsafe fn in_elements(strides: *mut i64, count: usize, size: i64) -> bool {
    (0..count).all(|dim| {
        // SAFETY: as required above.
        let stride = unsafe { &mut *strides.add(dim) };
        let is_whole = *stride & (size - 1) == 0;
        *stride >>= size.trailing_zeros();
        is_whole
    })
}

/// Writes the strides of an array in bytes as the array has them. A buffer has those of a compact array where they make
/// no difference, that is for extents of 0 and 1. False if there are none.
///
/// # Safety
/// The interpreter's lock is held, the object is alive, and there is room for as many strides.
pub(crate) unsafe fn own_strides(
    object: NonNull<PyObject>,
    strides: *mut i64,
    count: usize,
) -> bool {
    // SAFETY: as required above. No entry is NULL, since there are as many as dims.
    unsafe {
        let tuple = Owned::new(PyObject_GetAttrString(object.as_ptr(), c"strides".as_ptr()));
        let found = tuple.is_some_and(|tuple| {
            let has_all = PyTuple_Size(tuple.as_ptr()) == count as isize;
            (0..count).take_while(|_| has_all).for_each(|dim| {
                let stride = PyLong_AsSsize_t(PyTuple_GetItem(tuple.as_ptr(), dim as isize));
                strides.add(dim).write(stride as i64);
            });
            has_all
        });
        PyErr_Clear();
        found
    }
}
