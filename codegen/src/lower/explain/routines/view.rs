//! Questions about a tensor whose extents can be read.

use abi_spec::layout::{any, dl_tensor};
use abi_spec::{DeviceType, TypeIndex};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;

impl Code<'_> {
    /// `ndim` of a tensor, 64 bits wide.
    pub(crate) fn ndim(&mut self, dl: Value) -> Value {
        let ndim = self.b.load(Type::I32, dl, dl_tensor::NDIM.offset);
        self.b.convert(Convert::Sext, ndim, Type::I64)
    }

    /// `shape[dim]` of a tensor.
    pub(crate) fn extent(&mut self, dl: Value, dim: Value) -> Value {
        let shape = self.b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
        self.load_element(shape, dim)
    }

    /// The address of the first element.
    pub(crate) fn first_element(&mut self, dl: Value) -> Value {
        let data = self.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
        let offset = self.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
        self.b.ptr_add(data, offset)
    }

    /// The `DLTensor*` of an argument that is a tensor.
    pub(crate) fn tensor_of(&mut self, arg: Value) -> Value {
        let index = self.b.load(Type::I32, arg, any::TYPE_INDEX.offset);
        let payload = self.b.load(Type::Ptr, arg, any::PAYLOAD.offset);
        let is_object = self.b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
        let inside = self.b.ptr_offset(payload, abi_spec::layout::OBJECT.size.into());
        self.b.select(is_object, inside, payload)
    }

    /// The address of argument `index`.
    pub(crate) fn argument(&mut self, args: Value, index: Value) -> Value {
        let offset = self.b.binary_const(Binary::Mul, index, abi_spec::layout::ANY.size.into());
        self.b.ptr_add(args, offset)
    }
}

/// `(dl, alignment mask, must be compact)`: 1 if no extent is negative, the strides are as they must
/// be where that matters, there is data where there are elements, and it is aligned.
pub(crate) fn settle(c: &mut Code<'_>) {
    let [dl, mask, must] = [0, 1, 2].map(|i| c.b.param(i));
    let strides = c.b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
    let present = c.b.compare_const(Cond::Ne, strides, 0);
    let wanted = c.b.compare_const(Cond::Ne, must, 0);
    let checked = c.b.and(present, wanted);
    let checked = c.b.widen_bool(checked, Type::I64);
    let shape = c.b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let readable = c.b.select(present, strides, shape);
    let (zero, one) = (c.b.i64(0), c.b.i64(1));
    let (odd, empty, product) = (c.variable(zero), c.variable(zero), c.variable(one));
    let ndim = c.ndim(dl);
    c.count_to(ndim, |c, from_end| {
        let dim = c.b.binary(Binary::Sub, ndim, from_end);
        let dim = c.b.binary_const(Binary::Sub, dim, 1);
        let extent = c.load_element(shape, dim);
        let negative = c.b.compare_const(Cond::Slt, extent, 0);
        c.when(negative, |c| c.return_code(0));
        let none = c.b.compare_const(Cond::Eq, extent, 0);
        gather(c, empty, none);
        let stride = c.load_element(readable, dim);
        let compact = c.get(product);
        let unlike = c.b.compare(Cond::Ne, stride, compact);
        let several = c.b.compare_const(Cond::Ne, extent, 1);
        let wrong = c.b.and(unlike, several);
        gather(c, odd, wrong);
        let next = c.b.binary(Binary::Mul, compact, extent);
        c.set(product, next);
    });
    let odd = c.get(odd);
    let odd = c.b.and(odd, checked);
    let data = c.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let null = c.b.compare_const(Cond::Eq, data, 0);
    let null = c.b.widen_bool(null, Type::I64);
    let fault = c.b.or(odd, null);
    let empty = c.get(empty);
    let fault = c.b.compare(Cond::Ugt, fault, empty);
    let address = c.first_element(dl);
    let address = c.b.convert(Convert::PtrToInt, address, Type::I64);
    let low = c.b.and(address, mask);
    let misaligned = c.b.compare_const(Cond::Ne, low, 0);
    let fault = c.b.or(fault, misaligned);
    let ok = c.b.not(fault);
    let ok = c.b.widen_bool(ok, Type::I32);
    c.b.ret(Some(ok));
}

/// `(any, checks)`: the `DLTensor*`, or NULL if the value is no tensor, or one that some check refuses. The
/// checks are three words: dtype and ndim, the mask of the alignment, and the device type or 0.
pub(crate) fn check_tensor(c: &mut Code<'_>) {
    let [any, checks] = [0, 1].map(|i| c.b.param(i));
    let [header, mask, device] = [0, 8, 16].map(|at| c.b.load_aligned(Type::I64, checks, at, 1));
    let null = c.b.null();
    let refuse = |c: &mut Code<'_>, wrong: Value| c.when(wrong, |c| c.b.ret(Some(null)));
    let index = c.b.load(Type::I32, any, any::TYPE_INDEX.offset);
    let [object, view] = [TypeIndex::TENSOR, TypeIndex::DL_TENSOR_PTR]
        .map(|ty| c.b.compare_const(Cond::Ne, index, ty.0.into()));
    let neither = c.b.and(object, view);
    let payload = c.b.load(Type::Ptr, any, any::PAYLOAD.offset);
    let nothing = c.b.compare_const(Cond::Eq, payload, 0);
    let wrong = c.b.or(neither, nothing);
    refuse(c, wrong);
    let dl = c.tensor_of(any);
    let found = c.b.load(Type::I64, dl, dl_tensor::NDIM.offset);
    let wrong = c.b.compare(Cond::Ne, found, header);
    refuse(c, wrong);
    let found = c.b.load(Type::I32, dl, dl_tensor::DEVICE_TYPE.offset);
    let found = c.b.convert(Convert::Zext, found, Type::I64);
    let other = c.b.compare(Cond::Ne, found, device);
    let matters = c.b.compare_const(Cond::Ne, device, 0);
    let wrong = c.b.and(other, matters);
    let shape = c.b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let nothing = c.b.compare_const(Cond::Eq, shape, 0);
    let ndim = c.ndim(dl);
    let some = c.b.compare_const(Cond::Ne, ndim, 0);
    let nothing = c.b.and(nothing, some);
    let wrong = c.b.or(wrong, nothing);
    refuse(c, wrong);
    let compact = c.b.i32(1);
    let settled = c.call_value(Routine::Settle, &[dl, mask, compact]);
    let wrong = c.b.compare_const(Cond::Eq, settled, 0);
    refuse(c, wrong);
    c.b.ret(Some(dl));
}

/// `variable |= condition`
fn gather(
    c: &mut Code<'_>,
    variable: crate::lower::explain::routines::code::Variable,
    condition: Value,
) {
    let condition = c.b.widen_bool(condition, Type::I64);
    let before = c.get(variable);
    let after = c.b.or(before, condition);
    c.set(variable, after);
}

/// `(dl)`
pub(crate) fn not_empty(c: &mut Code<'_>) {
    let dl = c.b.param(0);
    let ndim = c.ndim(dl);
    c.count_to(ndim, |c, dim| {
        let extent = c.extent(dl, dim);
        let none = c.b.compare_const(Cond::Eq, extent, 0);
        c.when(none, |c| c.return_code(0));
    });
    c.return_code(1);
}

/// `(dl, dim)`: the product of the extents to the right.
pub(crate) fn compact_at(c: &mut Code<'_>) {
    let [dl, dim] = [0, 1].map(|i| c.b.param(i));
    let one = c.b.i64(1);
    let product = c.variable(one);
    let ndim = c.ndim(dl);
    let right = c.b.binary(Binary::Add, dim, one);
    let count = c.b.binary(Binary::Sub, ndim, right);
    c.count_to(count, |c, at| {
        let dim = c.b.binary(Binary::Add, right, at);
        let extent = c.extent(dl, dim);
        let before = c.get(product);
        let after = c.b.binary(Binary::Mul, before, extent);
        c.set(product, after);
    });
    let product = c.get(product);
    c.b.ret(Some(product));
}

/// `(dl, dim)`
pub(crate) fn stride_at(c: &mut Code<'_>) {
    let [dl, dim] = [0, 1].map(|i| c.b.param(i));
    let strides = c.b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
    let present = c.b.compare_const(Cond::Ne, strides, 0);
    c.when(present, |c| {
        let stride = c.load_element(strides, dim);
        c.b.ret(Some(stride));
    });
    let compact = c.call_value(Routine::CompactAt, &[dl, dim]);
    c.b.ret(Some(compact));
}

/// `(tensors, count)`: no two of these tensors are on different devices of one type, the cpu aside. NULL
/// stands for one that is not there.
pub(crate) fn same_devices(c: &mut Code<'_>) {
    let [tensors, count] = [0, 1].map(|i| c.b.param(i));
    c.count_to(count, |c, second| {
        let [ty, index] = device_of(c, tensors, second);
        let cpu = c.b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
        let other = c.b.not(cpu);
        c.when(other, |c| {
            c.count_to(second, |c, first| {
                let [first_ty, first_index] = device_of(c, tensors, first);
                let same = c.b.eq(ty, first_ty);
                let apart = c.b.compare(Cond::Ne, index, first_index);
                let fault = c.b.and(same, apart);
                c.when(fault, |c| c.return_code(0));
            });
        });
    });
    c.return_code(1);
}

/// Type and index of the device of a tensor of the table; type 0 if it is not there.
fn device_of(c: &mut Code<'_>, tensors: Value, at: Value) -> [Value; 2] {
    let entry = c.element(tensors, at);
    let dl = c.b.load(Type::Ptr, entry, 0);
    let null = c.b.compare_const(Cond::Eq, dl, 0);
    let zeros = c.table(&[0; abi_spec::layout::DL_TENSOR.size as usize]);
    let dl = c.b.select(null, zeros, dl);
    let ty = c.b.load(Type::I32, dl, dl_tensor::DEVICE_TYPE.offset);
    let index = c.b.load(Type::I32, dl, dl_tensor::DEVICE_ID.offset);
    [ty, index]
}

/// `(dl)`: the product of the extents.
pub(crate) fn numel(c: &mut Code<'_>) {
    let dl = c.b.param(0);
    let first = c.b.i64(-1);
    let product = c.call_value(Routine::CompactAt, &[dl, first]);
    c.b.ret(Some(product));
}

/// `(dl)`: 1 if the strides are compact, where that matters.
pub(crate) fn is_compact(c: &mut Code<'_>) {
    let dl = c.b.param(0);
    let elements = c.call_value(Routine::NotEmpty, &[dl]);
    let empty = c.b.compare_const(Cond::Eq, elements, 0);
    c.when(empty, |c| c.return_code(1));
    let ndim = c.ndim(dl);
    c.count_to(ndim, |c, dim| {
        let extent = c.extent(dl, dim);
        let several = c.b.compare_const(Cond::Ne, extent, 1);
        let stride = c.call_value(Routine::StrideAt, &[dl, dim]);
        let compact = c.call_value(Routine::CompactAt, &[dl, dim]);
        let unlike = c.b.compare(Cond::Ne, stride, compact);
        let odd = c.b.and(several, unlike);
        c.when(odd, |c| c.return_code(0));
    });
    c.return_code(1);
}
