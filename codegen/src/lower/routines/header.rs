//! Explaining the header of a tensor: type, NULL, ndim, dtype, device, and the pointer to its extents.

use abi_spec::layout::{any, dl_tensor};
use abi_spec::{DeviceType, TypeIndex};

use super::super::codes::{Suffix, header as at};
use super::Routine;
use super::code::{Code, state};
use crate::ir::{Binary, Cond, Convert, Type, Value};

/// `(state)`: type, NULL, ndim, dtype, device and extents of a tensor; 1 if that has raised.
pub(super) fn header(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, 10);
    let arg = argument_of(c, s, words);
    tensor_type(c, s, words, arg);
    let dl = c.tensor_of(arg);
    let slot = slot_of(c, s, words);
    c.b.store(dl, slot, 0);
    rank(c, s, words, dl);
    dtype(c, s, words, dl);
    device(c, s, words, dl);
    extents(c, s, words, dl);
    c.return_code(0);
}

fn tensor_type(c: &mut Code<'_>, s: Value, words: Value, arg: Value) {
    let index = c.b.load(Type::I32, arg, any::TYPE_INDEX.offset);
    let object = c.b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
    let view = c.b.compare_const(Cond::Eq, index, TypeIndex::DL_TENSOR_PTR.0.into());
    let tensor = c.b.or(object, view);
    let payload = c.b.load(Type::Ptr, arg, any::PAYLOAD.offset);
    let some = c.b.compare_const(Cond::Ne, payload, 0);
    let both = c.b.and(tensor, some);
    let fault = c.b.not(both);
    c.when(fault, |c| {
        let argument = c.word(words, 4);
        c.begin(s, "Mismatched type of ", words, "", argument);
        c.say(s, "Tensor but got ");
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
    let expected = c.signed_word(words, 6);
    let free = c.b.compare_const(Cond::Eq, expected, -1);
    let negative = c.b.compare_const(Cond::Slt, found, 0);
    let differs = c.b.compare(Cond::Ne, found, expected);
    let fault = c.b.select(free, negative, differs);
    c.when(fault, |c| {
        let argument = c.word(words, 4);
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
    let expected = c.word(words, 7);
    let differs = c.b.compare(Cond::Ne, found, expected);
    c.when(differs, |c| {
        let argument = c.word(words, 4);
        c.begin(s, "Mismatched ", words, ".dtype", argument);
        c.call(Routine::PutDtype, &[s, expected]);
        c.say(s, " but got ");
        c.call(Routine::PutDtype, &[s, found]);
        c.raise_and_stop(s, "TypeError");
    });
}

fn device_of(c: &mut Code<'_>, dl: Value) -> [Value; 2] {
    [dl_tensor::DEVICE_TYPE, dl_tensor::DEVICE_ID].map(|field| {
        let word = c.b.load(Type::I32, dl, field.offset);
        c.b.convert(Convert::Sext, word, Type::I64)
    })
}

fn device(c: &mut Code<'_>, s: Value, words: Value, dl: Value) {
    let [ty, index] = device_of(c, dl);
    let expected = c.signed_word(words, 8);
    let declared = c.b.compare_const(Cond::Ne, expected, 0);
    let differs = c.b.compare(Cond::Ne, ty, expected);
    let fault = c.b.and(declared, differs);
    c.when(fault, |c| {
        let argument = c.word(words, 4);
        c.begin(s, "Mismatched ", words, ".device", argument);
        device_type(c, s, expected);
        c.say(s, " but got ");
        c.call(Routine::PutDevice, &[s, ty, index]);
        c.raise_and_stop(s, "ValueError");
    });
    let cpu = c.b.compare_const(Cond::Eq, ty, DeviceType::CPU.0.into());
    let other = c.b.not(cpu);
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

/// Compares with the devices of the tensors before this one.
fn same_device(c: &mut Code<'_>, s: Value, words: Value, [ty, index]: [Value; 2]) {
    let count = c.word(words, 9);
    let descriptor = c.b.load(Type::Ptr, s, state::DESCRIPTOR);
    let offset = c.word(descriptor, at::TENSORS);
    let table = c.b.ptr_add(descriptor, offset);
    let args = c.b.load(Type::Ptr, s, state::ARGS);
    c.count_to(count, |c, before| {
        let entry = c.b.binary_const(Binary::Mul, before, 12);
        let entry = c.b.ptr_add(table, entry);
        let first = c.word(entry, 0);
        let first = c.argument(args, first);
        let first = c.tensor_of(first);
        let [first_ty, first_index] = device_of(c, first);
        let same = c.b.eq(ty, first_ty);
        let apart = c.b.compare(Cond::Ne, index, first_index);
        let fault = c.b.and(same, apart);
        c.when(fault, |c| {
            let argument = c.word(words, 4);
            c.begin(s, "Mismatched ", words, ".device", argument);
            c.call(Routine::PutDevice, &[s, first_ty, first_index]);
            c.say(s, " (= ");
            c.say_text(s, entry, 1);
            c.say(s, ".device) but got ");
            c.call(Routine::PutDevice, &[s, ty, index]);
            c.raise_and_stop(s, "ValueError");
        });
    });
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
    let rank = c.signed_word(words, 6);
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

/// The address of the argument of a step whose operands start with a place.
pub(super) fn argument_of(c: &mut Code<'_>, s: Value, words: Value) -> Value {
    let args = c.b.load(Type::Ptr, s, state::ARGS);
    let argument = c.word(words, 4);
    c.argument(args, argument)
}

pub(super) fn slot_of(c: &mut Code<'_>, s: Value, words: Value) -> Value {
    let slot = c.word(words, 5);
    c.slot(s, slot)
}

pub(super) fn non_null(c: &mut Code<'_>, s: Value, words: Value, suffix: &str) {
    let argument = c.word(words, 4);
    c.begin(s, "Mismatched ", words, suffix, argument);
    c.say(s, "a non-NULL pointer but got NULL");
}

/// Starts a message about a dim that is known at run time only.
pub(super) fn begin_at(c: &mut Code<'_>, s: Value, words: Value, suffix: &str, dim: Value) {
    // A place on the stack: the name of this one, and the dim as its index.
    let place = c.b.stack_slot(16, 8);
    let name = c.b.load_aligned(Type::I64, words, 0, 4);
    c.b.store(name, place, 0);
    let code = if suffix == ".shape[" { Suffix::Shape } else { Suffix::Strides };
    let code = c.b.i32(code as i32);
    c.b.store(code, place, 8);
    let dim = c.b.convert(Convert::Trunc, dim, Type::I32);
    c.b.store(dim, place, 12);
    let argument = c.word(words, 4);
    c.begin(s, "Mismatched ", place, "", argument);
}
