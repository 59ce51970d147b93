//! DLPack: tensors of other libraries as objects, and objects as tensors for other libraries. Nothing is copied.

use std::ffi::c_void;

use abi_spec::TypeIndex;

use super::object;
use crate::abi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor, Object};

/// The version of DLPack of the tensors made here.
const VERSION: [u32; 2] = [1, 1];
/// The flag of tensors whose elements are smaller than a byte and take one byte each.
const SUBBYTE_TYPE_PADDED: u64 = 4;

/// The body of a tensor object.
#[repr(C)]
struct TensorBody {
    tensor: DLTensor,
    /// Compact strides, at which `tensor` points if its own were NULL.
    strides: Vec<i64>,
    owner: Managed,
}

/// The DLPack tensor that a tensor object was made of.
enum Managed {
    Versioned(*mut DLManagedTensorVersioned),
    Unversioned(*mut DLManagedTensor),
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: the object owns the DLPack tensor, and releases it once.
        unsafe {
            match *self {
                Managed::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Managed::Unversioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}

/// Returns the strides of a compact row-major tensor.
fn compact(shape: &[i64]) -> Vec<i64> {
    let product = |dims: &[i64]| dims.iter().fold(1_i64, |a, b| a.wrapping_mul(*b));
    (0..shape.len()).map(|dim| product(&shape[dim + 1..])).collect()
}

/// Makes a tensor object. If the tensor lacks the required alignment or is not contiguous although it must be, raises
/// an error and leaves the tensor to the caller.
///
/// # Safety
/// The tensor is valid until its owner is dropped; `out` is valid.
unsafe fn make(
    mut tensor: DLTensor,
    owner: Managed,
    align: i32,
    contiguous: i32,
    out: *mut *mut Object,
) -> i32 {
    let rank = usize::try_from(tensor.ndim).unwrap_or(0);
    // SAFETY: a tensor has `rank` extents, and as many strides unless they are NULL.
    let dims = |place: *mut i64| unsafe { std::slice::from_raw_parts(place, rank) };
    let shape = if rank == 0 { &[][..] } else { dims(tensor.shape) };
    let mut strides = compact(shape);
    let fits =
        |((&extent, &found), &expected): ((&i64, &i64), &i64)| extent == 1 || found == expected;
    let given = if rank == 0 || tensor.strides.is_null() { &strides } else { dims(tensor.strides) };
    let address = tensor.data.addr().wrapping_add(tensor.byte_offset as usize);
    let aligned =
        usize::try_from(align).is_ok_and(|align| align == 0 || address.is_multiple_of(align));
    let message = if !aligned {
        format!("FromDLPack: Data is not aligned to {align} bytes.")
    } else if contiguous != 0 && !shape.iter().zip(given).zip(&strides).all(fits) {
        "FromDLPack: Tensor is not contiguous.".to_owned()
    } else {
        if rank > 0 && tensor.strides.is_null() {
            tensor.strides = strides.as_mut_ptr();
        }
        // SAFETY: as required above.
        unsafe {
            *out = object::allocate(TypeIndex::TENSOR, TensorBody { tensor, strides, owner })
        };
        return 0;
    };
    // The tensor stays the caller's.
    std::mem::forget(owner);
    super::raise(b"RuntimeError", message.as_bytes());
    -1
}

/// `TVMFFITensorFromDLPackVersioned`: takes the tensor over, unless there is an error.
///
/// # Safety
/// `managed` is a tensor that the caller owns, and `out` is valid.
pub(super) unsafe extern "C" fn from_versioned(
    managed: *mut DLManagedTensorVersioned,
    align: i32,
    contiguous: i32,
    out: *mut *mut Object,
) -> i32 {
    // SAFETY: as required above. The version is not checked, as in the real runtime.
    let flags = unsafe { (*managed).flags };
    if flags & SUBBYTE_TYPE_PADDED != 0 {
        super::raise(b"RuntimeError", b"Subbyte type padded is not yet supported");
        return -1;
    }
    // SAFETY: as required above.
    unsafe { make((*managed).tensor, Managed::Versioned(managed), align, contiguous, out) }
}

/// `TVMFFITensorFromDLPack`
///
/// # Safety
/// As for [`from_versioned`].
pub(super) unsafe extern "C" fn from_unversioned(
    managed: *mut DLManagedTensor,
    align: i32,
    contiguous: i32,
    out: *mut *mut Object,
) -> i32 {
    // SAFETY: as required above.
    unsafe { make((*managed).tensor, Managed::Unversioned(managed), align, contiguous, out) }
}

/// `TVMFFITensorToDLPackVersioned`: the result holds a reference of its own.
///
/// # Safety
/// `tensor` is a live tensor of any origin, and `out` is valid.
pub(super) unsafe extern "C" fn to_versioned(
    tensor: *mut Object,
    out: *mut *mut DLManagedTensorVersioned,
) -> i32 {
    unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: called once, with the tensor made below.
        unsafe { object::dec_ref(Box::from_raw(managed).manager_ctx.cast()) };
    }
    // SAFETY: as required above.
    unsafe {
        object::inc_ref(tensor);
        *out = Box::into_raw(Box::new(DLManagedTensorVersioned {
            version: VERSION,
            manager_ctx: tensor.cast::<c_void>(),
            deleter: Some(delete),
            flags: 0,
            tensor: *object::body::<DLTensor>(tensor),
        }));
    }
    0
}

/// `TVMFFITensorToDLPack`
///
/// # Safety
/// As for [`to_versioned`].
pub(super) unsafe extern "C" fn to_unversioned(
    tensor: *mut Object,
    out: *mut *mut DLManagedTensor,
) -> i32 {
    unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
        // SAFETY: called once, with the tensor made below.
        unsafe { object::dec_ref(Box::from_raw(managed).manager_ctx.cast()) };
    }
    // SAFETY: as required above.
    unsafe {
        object::inc_ref(tensor);
        *out = Box::into_raw(Box::new(DLManagedTensor {
            tensor: *object::body::<DLTensor>(tensor),
            manager_ctx: tensor.cast::<c_void>(),
            deleter: Some(delete),
        }));
    }
    0
}
