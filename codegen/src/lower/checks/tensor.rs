//! Headers of tensor parameters: type, rank, dtype, device and the pointer to the extents.

use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor};
use abi_spec::{DType, DeviceType, TypeIndex};

use crate::declaration::{Device, Shape, Tensor};
use crate::ir::{Binary, Cond, Convert, Hint, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{devices, outline, view};
use crate::lower::emitter::state::{Origin, TensorState, ValueState};
use crate::lower::emitter::tensor::dl_of;
use crate::lower::routines::Routine;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Place;

/// Checks the type index and the pointer of a tensor, and records its `DLTensor*`.
pub(super) fn tensor_type(c: &mut Checker<'_, '_>, value: ValueId) {
    let dl = match outline::outlined_tensor(c, value) {
        Some(dl) => dl,
        None => inline_tensor(c, value),
    };
    let hint = c.e.hint(value, "", None);
    c.e.b.hint(dl, hint);
    c.e.known.load(value, ValueState::Tensor(TensorState::new(Some(dl), None, 0)));
}

/// Emits the inline checks of type and pointer; returns the `DLTensor*`. Both objects and `DLTensor*` are common, since
/// Python passes either: an object takes no branch here, a `DLTensor*` takes one.
fn inline_tensor(c: &mut Checker<'_, '_>, value: ValueId) -> Value {
    let (index, payload) = c.e.words(value, Type::Ptr);
    if c.checks.mask.is_some() {
        return masked_tensor(c, value, index, payload);
    }
    c.checks.non_null(&mut c.e.b, payload);
    let [view, object, join] = ["view", "object", "tensor"].map(|label| c.e.b.block(label));
    let is_view = c.e.b.compare_const(Cond::Eq, index, TypeIndex::DL_TENSOR_PTR.0.into());
    c.e.b.branch(is_view, view, object);
    c.e.b.switch_to(view);
    c.e.b.jump(join, &[payload]);
    c.e.b.switch_to(object);
    c.checks.equal_const(&mut c.e.b, index, TypeIndex::TENSOR.0.into());
    let inside = c.e.b.ptr_offset(payload, OBJECT.size.into());
    c.e.b.jump(join, &[inside]);
    c.e.b.switch_to(join);
    c.e.b.block_param(join, Type::Ptr, Hint::default())
}

/// Emits the checks of [`inline_tensor`] for a tensor that may be absent.
fn masked_tensor(c: &mut Checker<'_, '_>, value: ValueId, index: Value, payload: Value) -> Value {
    let (checks, b) = (c.checks, &mut c.e.b);
    let [object, view] = [TypeIndex::TENSOR, TypeIndex::DL_TENSOR_PTR]
        .map(|ty| b.compare_const(Cond::Eq, index, ty.0.into()));
    let tensor = b.or(object, view);
    checks.always(b, tensor);
    checks.non_null(b, payload);
    let dl = dl_of(&mut c.e.b, index, payload);
    c.e.readable(value, dl, DL_TENSOR.size as usize)
}

/// Checks ndim, dtype, the device if `device` is true, and the pointer to the extents.
pub(super) fn tensor_header(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    tensor: &Tensor,
    device: bool,
) {
    let (accepted, of) = (tensor.accepted(), c.e.function.values[value].dtype_of);
    match (tensor.rank(), &accepted[..], of) {
        _ if outline::is_outlined(c, value) => {}
        (_, _, Some(of)) => {
            rank_is(c, value, &tensor.shape);
            same_dtype(c, value, of);
        }
        (Some(rank), &[dtype], None) => {
            // ndim and dtype are adjacent: one aligned load reads both.
            let word = c.e.tensor(value).field(Type::I64, dl_tensor::NDIM.offset, "ndim_dtype");
            let dtype = u64::from(dtype.to_word());
            let expected = (dtype << 32 | rank as u64) as i64;
            c.checks.equal_const(&mut c.e.b, word, expected);
        }
        (_, accepted, None) => {
            if !tensor.any_dtype {
                let found = c.e.tensor(value).dtype32();
                let wrong = no_dtype(c, found, accepted);
                c.checks.never(&mut c.e.b, wrong);
            }
            rank_is(c, value, &tensor.shape);
        }
    }
    if device {
        check_device(c, value, tensor.device);
    }
    check_shape(c, value, &tensor.shape);
    c.e.known.tensor(value).extents = vec![None; tensor.shape.dims().len()];
    if tensor.shape.is_trailing() {
        view::view(c, value, tensor);
    }
}

/// Checks the rank; a free one must leave room for the declared dims.
fn rank_is(c: &mut Checker<'_, '_>, value: ValueId, shape: &Shape) {
    let ndim = c.e.tensor(value).ndim32();
    let wrong = match shape.rank() {
        Some(rank) => c.e.b.compare_const(Cond::Ne, ndim, rank as i64),
        None => c.e.b.compare_const(Cond::Slt, ndim, shape.least_rank() as i64),
    };
    c.checks.never(&mut c.e.b, wrong);
}

/// Checks that a tensor has the element type of tensor `of`, which has passed its checks.
fn same_dtype(c: &mut Checker<'_, '_>, value: ValueId, of: ValueId) {
    let [found, expected] = [value, of].map(|tensor| c.e.tensor(tensor).dtype32());
    let exit = c.exits.dtype(&mut c.e, value, found, (expected, of));
    c.checks.or_go_to(exit).equal(&mut c.e.b, found, expected);
}

/// Returns a `Bool`: true if a dtype is not accepted. Dtypes of the same bits and lanes are tested together.
fn no_dtype(c: &mut Checker<'_, '_>, found: Value, accepted: &[DType]) -> Value {
    let mut groups: Vec<(DType, u64)> = Vec::new();
    for dtype in accepted {
        let same =
            |(other, _): &&mut (DType, u64)| (other.bits, other.lanes) == (dtype.bits, dtype.lanes);
        match groups.iter_mut().find(same) {
            Some((_, codes)) => *codes |= 1 << dtype.code,
            None => groups.push((*dtype, 1 << dtype.code)),
        }
    }
    let code = c.e.b.binary_const(Binary::And, found, 0xff);
    let mut none = c.e.b.constant(Type::Bool, 1);
    for (at, (dtype, codes)) in groups.into_iter().enumerate() {
        let other = if codes.count_ones() == 1 {
            c.e.b.compare_const(Cond::Ne, found, dtype.to_word().into())
        } else {
            let layout = c.e.b.binary_const(Binary::Lshr, found, 8);
            let unlike = c.e.b.compare_const(Cond::Ne, layout, (dtype.to_word() >> 8).into());
            let unknown = c.e.b.compare_const(Cond::Ugt, code, 63);
            let code = c.e.b.convert(Convert::Zext, code, Type::I64);
            let code = c.e.b.binary_const(Binary::And, code, 63);
            let codes = c.e.b.i64(codes as i64);
            let bit = c.e.b.binary(Binary::Lshr, codes, code);
            let bit = c.e.b.binary_const(Binary::And, bit, 1);
            let unset = c.e.b.compare_const(Cond::Eq, bit, 0);
            let wrong = c.e.b.or(unlike, unknown);
            c.e.b.or(wrong, unset)
        };
        none = if at == 0 { other } else { c.e.b.and(none, other) };
    }
    none
}

/// Checks the pointer to the extents, which is NULL only for rank 0.
fn check_shape(c: &mut Checker<'_, '_>, value: ValueId, declared: &Shape) {
    if declared.rank() == Some(0) {
        return;
    }
    let shape = c.e.tensor(value).own_dims(dl_tensor::SHAPE);
    match declared.least_rank() {
        _ if outline::is_outlined(c, value) => {}
        1.. => c.checks.non_null(&mut c.e.b, shape),
        0 => {
            let null = c.e.b.compare_const(Cond::Eq, shape, 0);
            let ndim = c.e.tensor(value).ndim32();
            let some = c.e.b.compare_const(Cond::Ne, ndim, 0);
            let null = c.e.b.and(null, some);
            c.checks.never(&mut c.e.b, null);
        }
    }
    let shape = c.e.readable(value, shape, 8 * declared.dims().len().max(1));
    c.e.known.tensor(value).shape = Some(shape);
}

/// Checks that a tensor is on the declared type of device, and on the same device as earlier tensors of that type.
fn check_device(c: &mut Checker<'_, '_>, value: ValueId, device: Device) {
    if let Device::Type(ty) = device
        && !outline::is_outlined(c, value)
    {
        let found = c.e.tensor(value).device_type32();
        c.checks.equal_const(&mut c.e.b, found, ty.0.into());
    }
    if device != Device::Type(DeviceType::CPU) {
        same_device(c, value, device);
    }
}

/// Checks that a tensor, which is not declared for the CPU, is on the same device as earlier tensors of that type.
pub(in crate::lower) fn same_device(c: &mut Checker<'_, '_>, value: ValueId, device: Device) {
    if c.devices.table.is_some() {
        return devices::note_device(c, value);
    }
    c.devices.tensors.push(value);
    let word = c.e.tensor(value).field(Type::I64, dl_tensor::DEVICE_TYPE.offset, "device");
    match (c.devices.first, device) {
        (None, _) => {
            let place = c.exits.subjects.packed_place(Place::Value { value });
            c.devices.first = Some((word, device, place));
        }
        (Some((first, of, place)), _) if of == device && device != Device::Any => {
            let exit = c.exits.device(&mut c.e, value, first, Origin::Known(place));
            c.checks.or_go_to(exit).equal(&mut c.e.b, word, first);
        }
        (Some((first, ..)), _) => same_device_or_type(c, value, word, first),
    }
}

/// Compares a device with the first one. If they differ, the types of the devices may differ too, so a routine
/// compares the tensor with all tensors so far.
fn same_device_or_type(c: &mut Checker<'_, '_>, value: ValueId, word: Value, first: Value) {
    let same = c.e.b.eq(word, first);
    let next = c.e.b.enter_cold_unless(same, "devices");
    let tensors = c.devices.tensors.clone();
    let table = c.e.b.stack_slot(16 * tensors.len() as u32, 8);
    for (at, &tensor) in tensors.iter().enumerate() {
        let (dl, place) = (
            c.e.tensor(tensor).dl(),
            c.exits.subjects.packed_place(Place::Value { value: tensor }),
        );
        let place = c.e.b.i64(place as i64);
        c.e.b.store(dl, table, 16 * at as i32);
        c.e.b.store(place, table, 16 * at as i32 + 8);
    }
    let (subject, count) = (c.exits.subject(&mut c.e, value), c.e.b.i64(tensors.len() as i64));
    let status = c.e.routine_value(Routine::CheckDevice, &[subject, table, count]);
    let same = c.e.b.compare_const(Cond::Eq, status, 0);
    let raised = c.exits.raised(&mut c.e);
    c.e.b.branch(same, next, raised);
    c.e.b.switch_to(next);
}
