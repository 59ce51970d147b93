//! Questions about a tensor whose extents can be read.

use abi_spec::layout::DL_TENSOR;
use abi_spec::{DeviceType, TypeIndex};

use crate::ir::typed::{Ref, Single, routine};
use crate::ir::{Builder, Cond, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::memory::{Any, DlTensor, TensorChecks};

const CPU: i32 = DeviceType::CPU.0;

/// The address of the first element.
#[routine(inline)]
fn first_element(dl: &DlTensor) -> u64 {
    &dl.data[dl.byte_offset] as u64
}

/// The tensor if no extent is negative, the strides are as they must be where that matters, there is data where there
/// are elements, and it is aligned; else NULL. That the tensor comes back spares callers a place to keep it.
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
            return null;
        }
        is_odd = is_odd || readable[dim] != product && extent != 1;
        is_empty = is_empty || extent == 0;
        product *= extent;
    }
    let is_checked = strides != null && must_be_compact != 0;
    let is_wrong = is_odd && is_checked || dl.data == null;
    if is_wrong && !is_empty || first_element(dl) & align_mask != 0 {
        return null;
    }
    dl
}

/// The `DLTensor*` of a value that is a compact tensor; NULL if it is none, or one that some check refuses. Signs of
/// extents are looked at only where strides or data are unusual.
#[routine]
pub(crate) fn check_tensor(any: &Any, checks: &TensorChecks) -> &DlTensor {
    let index = any.type_index;
    let object = any.object;
    if object == null {
        return null;
    }
    let mut dl = object.tensor;
    if index != TypeIndex::TENSOR {
        if index != TypeIndex::DL_TENSOR_PTR {
            return null;
        }
        dl = object as &DlTensor;
    }
    if checks.kind != dl.kind || checks.device_type != dl.device_type & checks.device_mask {
        return null;
    }
    let shape = dl.shape;
    let ndim = dl.ndim as i64;
    if shape == null && ndim != 0 {
        return null;
    }
    let strides = dl.strides;
    let mut odd: i64 = 0;
    if strides != null {
        let mut product: i64 = 1;
        for dim in (0..ndim).rev() {
            odd |= strides[dim] ^ product;
            product *= shape[dim];
        }
    }
    let mask = checks.align_mask;
    let address = first_element(dl);
    if unlikely(dl.data == null || address & mask != 0 || odd != 0) {
        return settle(dl, mask, 1);
    }
    dl
}

/// 1 if no extent is 0.
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

/// The product of the extents to the right of a dim.
#[routine]
pub(crate) fn compact_at(dl: &DlTensor, dim: i64) -> i64 {
    let shape = dl.shape;
    let mut product: i64 = 1;
    for at in dim + 1..dl.ndim as i64 {
        product *= shape[at];
    }
    product
}

/// A stride in elements, compact where the strides are NULL.
#[routine]
pub(crate) fn stride_at(dl: &DlTensor, dim: i64) -> i64 {
    let strides = dl.strides;
    if strides != null {
        return strides[dim];
    }
    compact_at(dl, dim)
}

/// 1 if no two of these tensors are on different devices of one type, the cpu aside. NULL stands for one that is not
/// there.
#[routine]
pub(crate) fn same_devices(tensors: &&DlTensor, count: i64) -> i32 {
    for second in 0..count {
        let tensor = present(tensors[second]);
        if tensor.device_type as i32 > CPU {
            for first in 0..second {
                let other = present(tensors[first]);
                if other.device_type == tensor.device_type && other.device_id != tensor.device_id {
                    return 0;
                }
            }
        }
    }
    1
}

/// The tensor, or one of zeros for NULL.
#[routine(inline)]
fn present(dl: &DlTensor) -> &DlTensor {
    let zeros = nothing();
    if dl == null { zeros } else { dl }
}

fn nothing(b: &mut Builder<'_>) -> Ref<DlTensor> {
    Ref::new(b.table(&[0; DL_TENSOR.size as usize]))
}

/// The product of the extents.
#[routine]
pub(crate) fn numel(dl: &DlTensor) -> i64 {
    compact_at(dl, -1)
}

/// 1 if the strides are compact, where that matters.
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

impl Builder<'_> {
    /// Whether the stride of a dim is not compact, a `Bool`; the stride, and what it would be.
    pub(crate) fn odd_stride(&mut self, dl: Value, dim: Value) -> [Value; 3] {
        let extent = self.extent(dl, dim);
        let several = self.compare_const(Cond::Ne, extent, 1);
        let stride = self.routine_value(Routine::StrideAt, &[dl, dim]);
        let compact = self.routine_value(Routine::CompactAt, &[dl, dim]);
        let unlike = self.compare(Cond::Ne, stride, compact);
        [self.and(several, unlike), stride, compact]
    }
}
