//! Layout of a tensor whose extents can be read: strides, element count, alignment.

use abi_spec::TypeIndex;

use crate::ir::typed::routine;
use crate::lower::routines::memory::{Any, DlTensor};

/// Largest extent.
const MOST: u64 = i64::MAX as u64;

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

/// Returns -1 if an extent of the leading dims, those before the last `after` ones, is negative; else 0 if one is 0,
/// and 1 if none is.
#[routine]
pub(crate) fn leading(dl: &DlTensor, after: i64) -> i64 {
    let shape = dl.shape;
    let mut least: i64 = 1;
    for dim in 0..dl.ndim as i64 - after {
        let extent = shape[dim];
        least = if extent < least { extent } else { least };
    }
    if least < 0 { -1 } else { least }
}

/// Returns the product of `count` extents; -1 if one is negative or if the product exceeds `int64`.
#[routine]
pub(crate) fn folded_extent(shape: &i64, count: i64) -> i64 {
    let mut product: u64 = 1;
    let mut is_empty = false;
    let mut is_large = false;
    for dim in 0..count {
        let extent = shape[dim];
        if extent < 0 {
            return -1;
        }
        is_empty = is_empty || extent == 0;
        let divisor = if extent == 0 { 1 } else { extent as u64 };
        is_large = is_large || product > MOST / divisor;
        product *= divisor;
    }
    if is_empty {
        return 0;
    }
    if is_large { -1 } else { product as i64 }
}

/// Returns the product of the extents of a tensor from a dim on, as [`folded_extent()`] does.
#[routine]
pub(crate) fn extents_from(dl: &DlTensor, first: i64) -> i64 {
    let shape = dl.shape;
    folded_extent(&shape[first], dl.ndim as i64 - first)
}

/// Folds the leading dims of a tensor, those before the last `after` ones, into one. Writes the extents of the folded
/// tensor to `view`, and after them its strides unless those of the tensor are NULL.
///
/// Returns -1 if the leading dims have no [`folded_extent()`]; else 1 if they are one dim in memory, and 0 if they are
/// not. The stride of that dim is that of the innermost leading dim whose extent is above 1; without one it is compact.
#[routine]
pub(crate) fn fold(dl: &DlTensor, after: i64, view: &i64) -> i64 {
    let (shape, strides) = (dl.shape, dl.strides);
    let count = dl.ndim as i64 - after;
    let outer = folded_extent(shape, count);
    if outer < 0 {
        return -1;
    }
    *view = outer;
    let folded = &view[after + 1];
    let mut is_empty = outer == 0;
    let mut stride: i64 = 1;
    for dim in 0..after {
        let extent = shape[count + dim];
        view[dim + 1] = extent;
        is_empty = is_empty || extent == 0;
        stride *= extent;
    }
    if strides == null {
        return 1;
    }
    for dim in 0..after {
        folded[dim + 1] = strides[count + dim];
    }
    *folded = stride;
    let mut is_first = true;
    let mut is_one = true;
    for dim in (0..count).rev() {
        let extent = shape[dim];
        if extent != 1 {
            let found = strides[dim];
            if is_first {
                *folded = found;
            } else {
                is_one = is_one && found == stride;
            }
            stride = found * extent;
            is_first = false;
        }
    }
    if is_one || is_empty { 1 } else { 0 }
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

/// Returns the compact stride of a dim, the product of the extents to its right, modulo 2^64.
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
