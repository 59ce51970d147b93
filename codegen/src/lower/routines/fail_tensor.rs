//! Fail routines for tensors, and the routines that check tensors out of line.
//!
//! The header of a tensor is one group of checks: type, NULL, ndim, dtype, device type, and the pointer to the extents.
//! Its layout is another: signs of the extents, strides, data pointer, alignment.

use abi_spec::{DeviceType, TypeIndex};

use crate::ir::typed::routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::fail::{failure, place_of, quoted, required_of};
use crate::lower::routines::memory::{Any, DlTensor, PlacedTensor};
use crate::lower::routines::message::raise;
use crate::lower::routines::records::{Subject, Suffix, TensorRecord, place};
use crate::lower::routines::view::{
    compact_at, folded_extent, is_compact, not_empty, refused_tensor, stride_at, tensor_in,
};

const CPU: i32 = DeviceType::CPU.0;

/// Suffix and index of the place of all leading extents, without the number of dims after them.
const LEADING: u64 = (Suffix::Shape as u64) << place::SUFFIX | place::FROM_END | place::LEADING;

/// Raises the error for element `nth` of `values`, which is no tensor or has a wrong header. Returns -1.
#[routine]
pub(crate) fn fail_header(subject: &Subject, values: &Any, nth: u64, indices: &i64) -> i32 {
    let value = &values[nth];
    let failure = failure(subject, indices);
    let place = place_of(subject);
    let tensor = required_of(subject) as &TensorRecord;
    let index = value.type_index;
    if index != TypeIndex::TENSOR && index != TypeIndex::DL_TENSOR_PTR {
        raise!(failure, Complaint::Type, place, quoted(subject, tensor.expected), value);
    }
    if value.object == null {
        raise!(failure, Complaint::TypeNull, place, quoted(subject, tensor.expected));
    }
    let dl = tensor_in(value);
    let rank = tensor.rank;
    let ndim = dl.ndim as i64;
    if rank < 0 && ndim < 0 {
        raise!(failure, Complaint::RankNegative, place, ndim);
    }
    if rank >= 0 && ndim != rank {
        raise!(failure, Complaint::Rank, place, rank, ndim);
    }
    let dtype = dl.kind >> 32;
    if !accepts_dtype(tensor, dtype) {
        raise!(failure, Complaint::Dtype, place, quoted(subject, tensor.dtypes), dtype);
    }
    let device = tensor.device;
    if device != 0 && dl.device_type as u64 != device {
        raise!(failure, Complaint::Device, place, device, dl.device);
    }
    raise!(failure, Complaint::NoShape, place);
}

/// Raises the error for element `nth` of `values` like [`fail_header()`], for a tensor of which only the last dims are
/// declared.
#[routine]
pub(crate) fn fail_trailing(subject: &Subject, values: &Any, nth: u64, indices: &i64) -> i32 {
    let value = &values[nth];
    let index = value.type_index;
    let is_tensor = index == TypeIndex::TENSOR || index == TypeIndex::DL_TENSOR_PTR;
    if is_tensor && value.object != null {
        let tensor = required_of(subject) as &TensorRecord;
        let least = -1 - tensor.rank;
        let ndim = tensor_in(value).ndim as i64;
        if ndim >= 0 && ndim < least {
            let failure = failure(subject, indices);
            raise!(failure, Complaint::RankLeast, place_of(subject), least, ndim);
        }
    }
    fail_header(subject, values, nth, indices)
}

/// Raises the error for the leading dims of a tensor, those before the last `after` ones. Returns -1.
#[routine]
pub(crate) fn fail_leading(subject: &Subject, dl: &DlTensor, after: i64, indices: &i64) -> i32 {
    let failure = failure(subject, indices);
    let place = place_of(subject);
    let (shape, strides) = (dl.shape, dl.strides);
    let leading = dl.ndim as i64 - after;
    for dim in 0..leading {
        if shape[dim] < 0 {
            raise!(failure, Complaint::NegativeAt, place, dim, shape[dim]);
        }
    }
    if folded_extent(shape, leading) < 0 {
        raise!(failure, Complaint::LargeExtent, place | LEADING | after as u64);
    }
    let mut before: i64 = -1;
    for dim in 0..leading {
        if shape[dim] != 1 {
            let stride = strides[dim] * shape[dim];
            if before >= 0 && strides[before] != stride {
                raise!(failure, Complaint::Folded, place, before, stride, strides[before]);
            }
            before = dim;
        }
    }
    -1
}

/// Checks the header of a tensor of fixed rank and of one element type. Returns its `DLTensor*`, or NULL once it has
/// raised.
#[routine]
pub(crate) fn check_header(any: &Any, subject: &Subject) -> &DlTensor {
    let tensor = required_of(subject) as &TensorRecord;
    let index = any.type_index;
    let dl = tensor_in(any);
    let is_tensor = index == TypeIndex::TENSOR || index == TypeIndex::DL_TENSOR_PTR;
    if unlikely(!is_tensor || any.object == null) {
        fail_header(subject, any, 0, null);
        return null;
    }
    let accepted = &tensor[1] as &u32;
    let kind = tensor.rank as u64 | (*accepted as u64) << 32;
    let device = tensor.device;
    let is_there = device == 0 || device == dl.device_type as u64;
    if unlikely(kind != dl.kind || !is_there || dl.shape == null && tensor.rank != 0) {
        fail_header(subject, any, 0, null);
        return null;
    }
    dl
}

/// Returns true if a tensor parameter accepts an element type.
#[routine(inline)]
fn accepts_dtype(tensor: &TensorRecord, dtype: u64) -> bool {
    let accepted = &tensor[1] as &u32;
    let mut found = tensor.accepted == 0;
    for at in 0..tensor.accepted {
        found = found || accepted[at] as u64 == dtype;
    }
    found
}

/// Raises the error for a tensor that is not on device `first`. That is the device of the first tensor of the same
/// device type, which is at place `origin`. Returns -1.
#[routine]
pub(crate) fn fail_device(
    subject: &Subject,
    dl: &DlTensor,
    first: u64,
    origin: u64,
    indices: &i64,
) -> i32 {
    let failure = failure(subject, indices);
    let place = place_of(subject);
    if origin > place::UNNAMED {
        raise!(failure, Complaint::OtherDeviceOf, place, first, origin, dl.device);
    }
    raise!(failure, Complaint::OtherDevice, place, first, dl.device);
}

/// Raises the error for a tensor whose element type is `found`, not that of the tensor at place `origin`. Returns -1.
#[routine]
pub(crate) fn fail_other_dtype(
    subject: &Subject,
    found: u64,
    expected: u64,
    origin: u64,
    indices: &i64,
) -> i32 {
    let failure = failure(subject, indices);
    raise!(failure, Complaint::OtherDtypeOf, place_of(subject), expected, origin, found);
}

/// Checks that the last of `count` tensors is on the same device as the first tensor of its device type. Tensors on the
/// CPU always pass. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn check_device(subject: &Subject, tensors: &PlacedTensor, count: i64) -> i32 {
    let last = tensors[count - 1].tensor;
    let ty = last.device_type;
    if ty as i32 <= CPU {
        return 0;
    }
    for at in 0..count - 1 {
        let other = &tensors[at];
        if other.tensor.device_type == ty {
            if other.tensor.device == last.device {
                return 0;
            }
            return fail_device(subject, last, other.tensor.device, other.place, null);
        }
    }
    0
}

/// Raises the error for the layout of a tensor that [`settle`](fn@super::view::settle) has refused. Returns -1.
#[routine]
pub(crate) fn fail_layout(subject: &Subject, refused: &DlTensor, indices: &i64) -> i32 {
    let dl = refused_tensor(refused);
    let failure = failure(subject, indices);
    let place = place_of(subject);
    let tensor = required_of(subject) as &TensorRecord;
    let ndim = dl.ndim as i64;
    for dim in 0..ndim {
        let extent = dl.shape[dim];
        if extent < 0 {
            raise!(failure, Complaint::NegativeAt, place, dim, extent);
        }
    }
    if tensor.compact && is_compact(dl) == 0 {
        for dim in 0..ndim {
            let (stride, compact) = (stride_at(dl, dim), compact_at(dl, dim));
            if dl.shape[dim] != 1 && stride != compact {
                raise!(failure, Complaint::Contiguous, place, dim, compact, stride);
            }
        }
    }
    if dl.data == null && not_empty(dl) != 0 {
        raise!(failure, Complaint::NoData, place);
    }
    let mask = tensor.mask;
    let remainder = &dl.data[dl.byte_offset] as u64 & mask;
    raise!(failure, Complaint::Misaligned, place, mask + 1, remainder);
}
