//! Questions about a tensor whose extents can be read.

use abi_spec::layout::{DL_TENSOR, OBJECT, any, dl_tensor};
use abi_spec::{DeviceType, TypeIndex};

use crate::ir::{Binary, Builder, Cond, Type, Value};
use crate::lower::check::Checks;
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// `(dl, alignment mask, must be compact)`: the tensor if no extent is negative, the strides are as they must be where
/// that matters, there is data where there are elements, and it is aligned; else NULL. That the tensor comes back
/// spares callers a place to keep it.
pub(crate) fn settle(b: &mut Builder<'_>, _: Used) {
    let [dl, mask, must] = [0, 1, 2].map(|i| b.param(i));
    let strides = b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
    let present = b.compare_const(Cond::Ne, strides, 0);
    let wanted = b.compare_const(Cond::Ne, must, 0);
    let checked = b.and(present, wanted);
    let checked = b.truth(checked);
    let shape = b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let readable = b.select(present, strides, shape);
    let (zero, one, ndim) = (b.i64(0), b.i64(1), b.ndim(dl));
    let last = b.binary_const(Binary::Sub, ndim, 1);
    let [odd, empty, _] = b.fold(ndim, [zero, zero, one], |b, at, [odd, empty, product]| {
        let dim = b.binary(Binary::Sub, last, at);
        let extent = b.load_element(shape, dim);
        let negative = b.compare_const(Cond::Slt, extent, 0);
        b.null_if(negative);
        let none = b.compare_const(Cond::Eq, extent, 0);
        let stride = b.load_element(readable, dim);
        let unlike = b.compare(Cond::Ne, stride, product);
        let several = b.compare_const(Cond::Ne, extent, 1);
        let wrong = b.and(unlike, several);
        let (wrong, none) = (b.truth(wrong), b.truth(none));
        let product = b.binary(Binary::Mul, product, extent);
        [b.or(odd, wrong), b.or(empty, none), product]
    });
    let odd = b.and(odd, checked);
    let data = b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let null = b.compare_const(Cond::Eq, data, 0);
    let null = b.truth(null);
    let fault = b.or(odd, null);
    let fault = b.compare(Cond::Ugt, fault, empty);
    let address = b.first_element(dl);
    let address = b.as_word(address);
    let low = b.and(address, mask);
    let misaligned = b.compare_const(Cond::Ne, low, 0);
    let fault = b.or(fault, misaligned);
    b.null_if(fault);
    b.ret(Some(dl));
}

/// `(any, checks)`: the `DLTensor*`, or NULL if the value is no tensor, or one that some check refuses. The
/// checks are three words: dtype and ndim, the mask of the alignment, and the device type with a mask above it. Signs
/// of extents are looked at only where strides or data are unusual.
pub(crate) fn check_tensor(b: &mut Builder<'_>, _: Used) {
    let [any, checks] = [0, 1].map(|i| b.param(i));
    let dl = tensor_or_null(b, any);
    let header = b.load_aligned(Type::I64, checks, 0, 1);
    let found = b.load(Type::I64, dl, dl_tensor::NDIM.offset);
    let wrong = b.compare(Cond::Ne, header, found);
    b.null_if(wrong);
    let [device, matters] = [16, 20].map(|at| b.load_aligned(Type::I32, checks, at, 1));
    let found = b.load(Type::I32, dl, dl_tensor::DEVICE_TYPE.offset);
    let found = b.and(found, matters);
    let wrong = b.compare(Cond::Ne, device, found);
    b.null_if(wrong);
    let shape = b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let ndim = b.ndim(dl);
    let missing = b.compare_const(Cond::Eq, shape, 0);
    b.if_then(missing, |b| {
        let some = b.compare_const(Cond::Ne, ndim, 0);
        b.null_if(some);
    });
    let mask = b.load_aligned(Type::I64, checks, 8, 1);
    let unusual = b.cold_block("unusual");
    is_usual(b, dl, (shape, ndim, mask), Checks { fail: unusual, mask: None });
    b.ret(Some(dl));
    b.switch_to(unusual);
    let compact = b.i32(1);
    let settled = b.routine_value(Routine::Settle, &[dl, mask, compact]);
    b.ret(Some(settled));
}

/// The `DLTensor*` of a value that is a tensor; returns NULL for another.
fn tensor_or_null(b: &mut Builder<'_>, any: Value) -> Value {
    let index = b.load(Type::I32, any, any::TYPE_INDEX.offset);
    let payload = b.load(Type::Ptr, any, any::PAYLOAD.offset);
    let nothing = b.compare_const(Cond::Eq, payload, 0);
    b.null_if(nothing);
    let object = b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
    let inside = |b: &mut Builder<'_>| b.ptr_offset(payload, OBJECT.size.into());
    b.if_else(object, Type::Ptr, inside, |b| {
        let other = b.compare_const(Cond::Ne, index, TypeIndex::DL_TENSOR_PTR.0.into());
        b.null_if(other);
        payload
    })
}

/// Goes on if there is data, which is aligned, and the strides are NULL or compact.
fn is_usual(
    b: &mut Builder<'_>,
    dl: Value,
    (shape, ndim, mask): (Value, Value, Value),
    usual: Checks,
) {
    let data = b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    usual.non_null(b, data);
    let address = b.first_element(dl);
    let address = b.as_word(address);
    let low = b.and(address, mask);
    usual.equal_const(b, low, 0);
    let strides = b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
    let present = b.compare_const(Cond::Ne, strides, 0);
    b.if_then(present, |b| {
        let one = b.i64(1);
        let last = b.binary_const(Binary::Sub, ndim, 1);
        b.fold(ndim, [one], |b, at, [product]| {
            let dim = b.binary(Binary::Sub, last, at);
            let stride = b.load_element(strides, dim);
            usual.equal(b, stride, product);
            let extent = b.load_element(shape, dim);
            [b.binary(Binary::Mul, product, extent)]
        });
    });
}

/// `(dl)`: 1 if no extent is 0.
pub(crate) fn not_empty(b: &mut Builder<'_>, _: Used) {
    let dl = b.param(0);
    let ndim = b.ndim(dl);
    b.count_to(ndim, |b, dim| {
        let extent = b.extent(dl, dim);
        let none = b.compare_const(Cond::Eq, extent, 0);
        b.return_if(none, 0);
    });
    b.return_code(1);
}

/// `(dl, dim)`: the product of the extents to the right.
pub(crate) fn compact_at(b: &mut Builder<'_>, _: Used) {
    let [dl, dim] = [0, 1].map(|i| b.param(i));
    let (one, ndim) = (b.i64(1), b.ndim(dl));
    let right = b.binary(Binary::Add, dim, one);
    let count = b.binary(Binary::Sub, ndim, right);
    let [product] = b.fold(count, [one], |b, at, [product]| {
        let dim = b.binary(Binary::Add, right, at);
        let extent = b.extent(dl, dim);
        [b.binary(Binary::Mul, product, extent)]
    });
    b.ret(Some(product));
}

/// `(dl, dim)`: the stride, which is compact where there are none.
pub(crate) fn stride_at(b: &mut Builder<'_>, _: Used) {
    let [dl, dim] = [0, 1].map(|i| b.param(i));
    let strides = b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
    let present = b.compare_const(Cond::Ne, strides, 0);
    b.if_then(present, |b| {
        let stride = b.load_element(strides, dim);
        b.ret(Some(stride));
    });
    let compact = b.routine_value(Routine::CompactAt, &[dl, dim]);
    b.ret(Some(compact));
}

/// `(tensors, count)`: 1 if no two of these tensors are on different devices of one type, the cpu aside. NULL
/// stands for one that is not there.
pub(crate) fn same_devices(b: &mut Builder<'_>, _: Used) {
    let [tensors, count] = [0, 1].map(|i| b.param(i));
    b.count_to(count, |b, second| {
        let [ty, index] = device_at(b, tensors, second);
        let cpu = b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
        let other = b.not(cpu);
        b.if_then(other, |b| {
            b.count_to(second, |b, first| {
                let [first_ty, first_index] = device_at(b, tensors, first);
                let same = b.eq(ty, first_ty);
                let apart = b.compare(Cond::Ne, index, first_index);
                let fault = b.and(same, apart);
                b.return_if(fault, 0);
            });
        });
    });
    b.return_code(1);
}

/// Type and index of the device of a tensor of the table; type 0 if it is not there.
fn device_at(b: &mut Builder<'_>, tensors: Value, at: Value) -> [Value; 2] {
    let entry = b.element(tensors, at);
    let dl = b.load(Type::Ptr, entry, 0);
    let null = b.compare_const(Cond::Eq, dl, 0);
    let zeros = b.table(&[0; DL_TENSOR.size as usize]);
    let dl = b.select(null, zeros, dl);
    [dl_tensor::DEVICE_TYPE, dl_tensor::DEVICE_ID].map(|part| b.load(Type::I32, dl, part.offset))
}

/// `(dl)`: the product of the extents.
pub(crate) fn numel(b: &mut Builder<'_>, _: Used) {
    let dl = b.param(0);
    let first = b.i64(-1);
    let product = b.routine_value(Routine::CompactAt, &[dl, first]);
    b.ret(Some(product));
}

/// `(dl)`: 1 if the strides are compact, where that matters.
pub(crate) fn is_compact(b: &mut Builder<'_>, _: Used) {
    let dl = b.param(0);
    let elements = b.ask(Routine::NotEmpty, &[dl]);
    let empty = b.not(elements);
    b.return_if(empty, 1);
    let ndim = b.ndim(dl);
    b.count_to(ndim, |b, dim| {
        let [odd, ..] = b.odd_stride(dl, dim);
        b.return_if(odd, 0);
    });
    b.return_code(1);
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
