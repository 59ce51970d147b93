//! Layout of a tensor whose extents can be read: strides, element count, alignment.

use abi_spec::TypeIndex;

use crate::ir::typed::routine;
use crate::lower::routines::memory::{Any, DlTensor};

/// Returns the address of the first element.
#[routine(inline)]
fn first_element(dl: &DlTensor) -> u64 {
    &dl.data[dl.byte_offset] as u64
}

/// Returns the `DLTensor*` of a tensor object or of a `DLTensor*`.
#[routine(inline)]
pub(crate) fn tensor_in(value: &Any) -> &DlTensor {
    let object = value.object;
    let mut dl = object as &DlTensor;
    if value.type_index == TypeIndex::TENSOR {
        dl = object.tensor;
    }
    dl
}

/// Judges the layout of a tensor. Returns the tensor if the layout is accepted, else the tensor marked as [`refused`].
///
/// No extent may be negative. A tensor with elements needs a data pointer and, if `must_be_compact`, compact strides in
/// the dims whose extent is not 1. The first element must be aligned. Since callers get the tensor back, they need not
/// keep it in a register across the call.
#[routine]
pub(crate) fn settle(dl: &DlTensor, align_mask: u64, must_be_compact: i32) -> &DlTensor {
    let strides = dl.strides;
    let shape = dl.shape;
    let readable = if strides != null { strides } else { shape };
    let mut is_odd = false;
    let mut is_empty = false;
    let mut product: i64 = 1;
    for dim in (0..dl.ndim as i64).rev() {
        let extent = shape[dim];
        if extent < 0 {
            return refused(dl);
        }
        is_odd = is_odd || readable[dim] != product && extent != 1;
        is_empty = is_empty || extent == 0;
        product *= extent;
    }
    let is_checked = strides != null && must_be_compact != 0;
    let is_wrong = is_odd && is_checked || dl.data == null;
    if is_wrong && !is_empty || first_element(dl) & align_mask != 0 {
        return refused(dl);
    }
    dl
}

/// Marks a tensor as refused: returns the address of its second byte. Addresses of tensors are even, so the mark is
/// bit 0.
#[routine(inline)]
fn refused(dl: &DlTensor) -> &DlTensor {
    let bytes = dl as &u8;
    &bytes[1] as &DlTensor
}

/// Returns the tensor that was marked [`refused`].
#[routine(inline)]
pub(crate) fn refused_tensor(refused: &DlTensor) -> &DlTensor {
    let bytes = refused as &u8;
    &bytes[-1] as &DlTensor
}

/// Returns 1 if no extent is 0, else 0.
#[routine]
pub(crate) fn not_empty(dl: &DlTensor) -> i32 {
    let shape = dl.shape;
    for dim in 0..dl.ndim as i64 {
        if shape[dim] == 0 {
            return 0;
        }
    }
    1
}

/// Returns the compact stride of a dim: the product of the extents to its right.
#[routine]
pub(crate) fn compact_at(dl: &DlTensor, dim: i64) -> i64 {
    let shape = dl.shape;
    let mut product: i64 = 1;
    for at in dim + 1..dl.ndim as i64 {
        product *= shape[at];
    }
    product
}

/// Returns the stride of a dim in elements. NULL strides are compact.
#[routine]
pub(crate) fn stride_at(dl: &DlTensor, dim: i64) -> i64 {
    let strides = dl.strides;
    if strides != null {
        return strides[dim];
    }
    compact_at(dl, dim)
}

/// Returns the number of elements.
#[routine]
pub(crate) fn numel(dl: &DlTensor) -> i64 {
    compact_at(dl, -1)
}

/// Returns 1 if the tensor has no elements, or all dims whose extent is not 1 have compact strides; else 0.
#[routine]
pub(crate) fn is_compact(dl: &DlTensor) -> i32 {
    if not_empty(dl) == 0 {
        return 1;
    }
    let shape = dl.shape;
    for dim in 0..dl.ndim as i64 {
        if shape[dim] != 1 && stride_at(dl, dim) != compact_at(dl, dim) {
            return 0;
        }
    }
    1
}
