//! Explaining the header of a tensor: type, NULL, ndim, dtype, device, and the pointer to its extents.

use abi_spec::layout::{any, dl_tensor};
use abi_spec::{DeviceType, TypeIndex};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Suffix, head};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};

/// Operands after the head.
const RANK: u32 = head::END;
const DEVICE: u32 = RANK + 1;
const MANY: u32 = DEVICE + 1;
const DTYPE_TEXT: u32 = MANY + 1;
const DTYPE_COUNT: u32 = DTYPE_TEXT + 2;
const DTYPES: u32 = DTYPE_COUNT + 1;

/// `(state)`: type, NULL, ndim, dtype, device and extents of a tensor; 1 if that has raised.
pub(crate) fn header(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, DTYPES.into());
    c.skip(s, words, DTYPE_COUNT);
    let expected = c.take_words(s, 2);
    let arg = argument_of(c, s, words);
    tensor_type(c, s, words, expected, arg);
    let dl = c.tensor_of(arg);
    let slot = slot_of(c, s, words);
    c.b.store(dl, slot, 0);
    rank(c, s, words, dl);
    dtype(c, s, words, dl);
    device(c, s, words, dl);
    extents(c, s, words, dl);
    c.return_code(0);
}

fn tensor_type(c: &mut Code<'_>, s: Value, words: Value, expected: Value, arg: Value) {
    let index = c.b.load(Type::I32, arg, any::TYPE_INDEX.offset);
    let object = c.b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
    let view = c.b.compare_const(Cond::Eq, index, TypeIndex::DL_TENSOR_PTR.0.into());
    let tensor = c.b.or(object, view);
    let payload = c.b.load(Type::Ptr, arg, any::PAYLOAD.offset);
    let some = c.b.compare_const(Cond::Ne, payload, 0);
    let both = c.b.and(tensor, some);
    let fault = c.b.not(both);
    c.when(fault, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Mismatched type of ", words, "", argument);
        c.say_text(s, expected, 0);
        c.say(s, " but got ");
        c.when(tensor, |c| {
            c.say(s, "NULL");
            c.raise_and_stop(s, "TypeError");
        });
        c.call(Routine::PutType, &[s, arg]);
        c.raise_and_stop(s, "TypeError");
    });
}

fn rank(c: &mut Code<'_>, s: Value, words: Value, dl: Value) {
    let found = c.ndim(dl);
    let expected = c.signed_word(words, RANK);
    let free = c.b.compare_const(Cond::Eq, expected, -1);
    let negative = c.b.compare_const(Cond::Slt, found, 0);
    let differs = c.b.compare(Cond::Ne, found, expected);
    let fault = c.b.select(free, negative, differs);
    c.when(fault, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Mismatched ", words, ".ndim", argument);
        let fixed = c.b.block("fixed");
        let (any, got) = (c.b.block("any"), c.b.block("got"));
        c.b.branch(free, any, fixed);
        c.b.switch_to(any);
        c.say(s, "a non-negative rank");
        c.b.jump(got, &[]);
        c.b.switch_to(fixed);
        c.call(Routine::PutInt, &[s, expected]);
        c.b.jump(got, &[]);
        c.b.switch_to(got);
        c.say(s, " but got ");
        c.call(Routine::PutInt, &[s, found]);
        c.raise_and_stop(s, "ValueError");
    });
}

fn dtype(c: &mut Code<'_>, s: Value, words: Value, dl: Value) {
    let found = c.b.load(Type::I32, dl, dl_tensor::DTYPE.offset);
    let found = c.b.convert(Convert::Zext, found, Type::I64);
    let (count, first) = (c.word(words, DTYPE_COUNT), c.b.ptr_offset(words, 4 * i64::from(DTYPES)));
    let (accepted, join) = (c.b.block("accepted"), c.b.block("join"));
    c.count_to(count, |c, at| {
        let offset = c.b.binary_const(Binary::Shl, at, 2);
        let dtype = c.b.ptr_add(first, offset);
        let dtype = c.word(dtype, 0);
        let same = c.b.eq(found, dtype);
        let other = c.b.block("other");
        c.b.branch(same, accepted, other);
        c.b.switch_to(other);
    });
    let argument = c.word(words, head::ARGUMENT);
    c.begin(s, "Mismatched ", words, ".dtype", argument);
    c.say_text(s, words, DTYPE_TEXT);
    c.say(s, " but got ");
    c.call(Routine::PutDtype, &[s, found]);
    c.raise_and_stop(s, "TypeError");
    c.b.switch_to(accepted);
    c.b.jump(join, &[]);
    c.b.switch_to(join);
}

fn device_of(c: &mut Code<'_>, dl: Value) -> [Value; 2] {
    [dl_tensor::DEVICE_TYPE, dl_tensor::DEVICE_ID].map(|field| {
        let word = c.b.load(Type::I32, dl, field.offset);
        c.b.convert(Convert::Sext, word, Type::I64)
    })
}

fn device(c: &mut Code<'_>, s: Value, words: Value, dl: Value) {
    let [ty, index] = device_of(c, dl);
    let expected = c.signed_word(words, DEVICE);
    let declared = c.b.compare_const(Cond::Sgt, expected, 0);
    let differs = c.b.compare(Cond::Ne, ty, expected);
    let fault = c.b.and(declared, differs);
    c.when(fault, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Mismatched ", words, ".device", argument);
        device_type(c, s, expected);
        c.say(s, " but got ");
        c.call(Routine::PutDevice, &[s, ty, index]);
        c.raise_and_stop(s, "ValueError");
    });
    let cpu = c.b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
    let checked = c.b.compare_const(Cond::Sge, expected, 0);
    let other = c.b.not(cpu);
    let other = c.b.and(checked, other);
    c.when(other, |c| same_device(c, s, words, [ty, index]));
}

/// Appends the name of a device type, which is that of its device 0 without the index.
fn device_type(c: &mut Code<'_>, s: Value, ty: Value) {
    let cpu = c.b.compare_const(Cond::Eq, ty, DeviceType::CPU.0.into());
    let zero = c.b.i64(0);
    c.call(Routine::PutDevice, &[s, ty, zero]);
    let indexed = c.b.not(cpu);
    c.when(indexed, |c| {
        let length = c.b.load(Type::I64, s, state::LENGTH);
        let shorter = c.b.binary_const(Binary::Sub, length, 2);
        c.b.store(shorter, s, state::LENGTH);
    });
}

/// Compares with the first device of the same type, or notes this one as the first.
fn same_device(c: &mut Code<'_>, s: Value, words: Value, [ty, index]: [Value; 2]) {
    let count = c.b.load(Type::I64, s, state::DEVICE_COUNT);
    let devices = c.b.ptr_offset(s, state::DEVICES.into());
    let known = c.b.block("known");
    c.count_to(count, |c, at| {
        let offset = c.b.binary_const(Binary::Mul, at, state::DEVICE_SIZE.into());
        let device = c.b.ptr_add(devices, offset);
        let [first_ty, first_index] = [0, 8].map(|at| c.b.load(Type::I64, device, at));
        let same = c.b.eq(ty, first_ty);
        c.when(same, |c| {
            let other = c.b.block("other");
            let agree = c.b.eq(index, first_index);
            c.b.branch(agree, known, other);
            c.b.switch_to(other);
            let argument = c.word(words, head::ARGUMENT);
            c.begin(s, "Mismatched ", words, ".device", argument);
            c.call(Routine::PutDevice, &[s, first_ty, first_index]);
            let place = c.b.load(Type::Ptr, device, 16);
            let named = c.b.compare_const(Cond::Ne, place, 0);
            c.when(named, |c| {
                c.say(s, " (= ");
                c.call(Routine::PutPlace, &[s, place]);
                c.say(s, ".device)");
            });
            c.say(s, " but got ");
            c.call(Routine::PutDevice, &[s, ty, index]);
            c.raise_and_stop(s, "ValueError");
        });
    });
    let room = c.b.compare_const(Cond::Slt, count, state::MAX_DEVICES.into());
    c.when(room, |c| {
        let offset = c.b.binary_const(Binary::Mul, count, state::DEVICE_SIZE.into());
        let device = c.b.ptr_add(devices, offset);
        c.b.store(ty, device, 0);
        c.b.store(index, device, 8);
        let many = c.word(words, MANY);
        let many = c.b.compare_const(Cond::Ne, many, 0);
        let null = c.b.null();
        let place = c.b.select(many, null, words);
        c.b.store(place, device, 16);
        let count = c.b.binary_const(Binary::Add, count, 1);
        c.b.store(count, s, state::DEVICE_COUNT);
    });
    c.b.jump(known, &[]);
    c.b.switch_to(known);
}

/// The pointer to the extents; where the rank is free also their signs.
fn extents(c: &mut Code<'_>, s: Value, words: Value, dl: Value) {
    let ndim = c.ndim(dl);
    let shape = c.b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let null = c.b.compare_const(Cond::Eq, shape, 0);
    let some = c.b.compare_const(Cond::Ne, ndim, 0);
    let fault = c.b.and(null, some);
    c.when(fault, |c| {
        non_null(c, s, words, ".shape");
        c.raise_and_stop(s, "ValueError");
    });
    let rank = c.signed_word(words, RANK);
    let free = c.b.compare_const(Cond::Eq, rank, -1);
    c.when(free, |c| {
        c.count_to(ndim, |c, dim| {
            let extent = c.load_element(shape, dim);
            let negative = c.b.compare_const(Cond::Slt, extent, 0);
            c.when(negative, |c| {
                begin_at(c, s, words, ".shape[", dim);
                c.say(s, "a non-negative extent but got ");
                c.call(Routine::PutInt, &[s, extent]);
                c.raise_and_stop(s, "ValueError");
            });
        });
    });
}

/// The `TVMFFIAny` of a step that starts with a head.
pub(crate) fn argument_of(c: &mut Code<'_>, s: Value, words: Value) -> Value {
    let slot = c.word(words, head::SLOT);
    c.any_of(s, slot)
}

pub(crate) fn slot_of(c: &mut Code<'_>, s: Value, words: Value) -> Value {
    let slot = c.word(words, head::SLOT);
    c.slot(s, slot)
}

pub(crate) fn non_null(c: &mut Code<'_>, s: Value, words: Value, suffix: &str) {
    let argument = c.word(words, head::ARGUMENT);
    c.begin(s, "Mismatched ", words, suffix, argument);
    c.say(s, "a non-NULL pointer but got NULL");
}

/// Starts a message about a dim that is known at run time only.
pub(crate) fn begin_at(c: &mut Code<'_>, s: Value, words: Value, suffix: &str, dim: Value) {
    let suffix = if suffix == ".shape[" { Suffix::Shape } else { Suffix::Strides };
    let place = place_at(c, words, suffix, dim);
    let argument = c.word(words, head::ARGUMENT);
    c.begin(s, "Mismatched ", place, "", argument);
}

/// A place on the stack: the name of this one, and an index that is known at run time only.
pub(crate) fn place_at(c: &mut Code<'_>, words: Value, suffix: Suffix, index: Value) -> Value {
    let place = c.b.stack_slot(16, 8);
    let name = c.b.load_aligned(Type::I64, words, 0, 4);
    c.b.store(name, place, 0);
    let code = c.b.i32(suffix as i32);
    c.b.store(code, place, 8);
    let index = c.b.convert(Convert::Trunc, index, Type::I32);
    c.b.store(index, place, 12);
    place
}
