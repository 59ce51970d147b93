//! Properties of values in the expressions of a descriptor: one that is not there has only zeros.

use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor, seq_cell, shape_cell};

use crate::ir::{Binary, Builder, Cond, Type, Value};
use crate::lower::explain::codes::{Head, Rpn, operation};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::machine::Machine;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::schema::At;

/// A tensor or object that an operation is about.
#[derive(Clone, Copy)]
struct Subject {
    /// Its address, or that of zeros.
    address: Value,
    /// A `Bool`: it is there.
    there: Value,
}

/// The subject in a slot.
fn subject(b: &mut Builder<'_>, m: Machine, find: Routine, slot: Value) -> Subject {
    let found = b.routine_value(find, &[m.s, slot]);
    let there = b.compare_const(Cond::Ne, found, 0);
    let zeros = b.table(&[0; OBJECT.size as usize + DL_TENSOR.size as usize]);
    Subject { address: b.select(there, found, zeros), there }
}

/// A property of a tensor, at the slot that the next word names.
fn of_tensor(
    b: &mut Builder<'_>,
    m: Machine,
    op: Rpn,
    read: impl FnOnce(&mut Builder<'_>, Value) -> Value,
) {
    m.load(b, op, |b| {
        let slot = b.take_word(m.s);
        let dl = subject(b, m, Routine::TensorOf, slot);
        let value = read(b, dl.address);
        let value = b.as_word(value);
        or_zero(b, dl, value)
    });
}

fn or_zero(b: &mut Builder<'_>, subject: Subject, value: Value) -> Value {
    let zero = b.i64(0);
    b.select(subject.there, value, zero)
}

/// Complains unless there are more than `index`, where the value is there.
fn at_least(
    b: &mut Builder<'_>,
    m: Machine,
    [count, index]: [Value; 2],
    there: Value,
    head: At<Head>,
    complaint: Complaint,
) {
    let few = b.compare(Cond::Sle, count, index);
    let missing = b.and(few, there);
    b.if_then(missing, |b| {
        let head = head.address(b);
        let least = b.binary_const(Binary::Add, index, 1);
        b.complain(m.s, complaint, &[head, least, count]);
    });
}

/// Properties of tensors.
pub(crate) fn fields(b: &mut Builder<'_>, m: Machine) {
    m.load(b, Rpn::Extent, |b| {
        let record = b.take::<operation::Extent>(m.s);
        let (slot, dim) = (record.slot(b), record.dim(b));
        of_dim(b, m, slot, dim, |b, dl| b.extent(dl, dim))
    });
    m.load(b, Rpn::Stride, |b| {
        let record = b.take::<operation::Stride>(m.s);
        let (slot, dim) = (record.slot(b), record.dim(b));
        of_dim(b, m, slot, dim, |b, dl| b.routine_value(Routine::StrideAt, &[dl, dim]))
    });
    m.check(b, Rpn::Rank, |b| {
        let record = b.take::<operation::Rank>(m.s);
        let (slot, index, head) = (record.slot(b), record.index(b), record.head(b));
        let dl = subject(b, m, Routine::TensorOf, slot);
        let ndim = b.ndim(dl.address);
        at_least(b, m, [ndim, index], dl.there, head, Complaint::RankLeast);
    });
    of_tensor(b, m, Rpn::Ndim, |b, dl| b.ndim(dl));
    of_tensor(b, m, Rpn::DeviceType, |b, dl| b.signed(dl, dl_tensor::DEVICE_TYPE.offset));
    of_tensor(b, m, Rpn::DeviceId, |b, dl| b.signed(dl, dl_tensor::DEVICE_ID.offset));
    of_tensor(b, m, Rpn::ByteOffset, |b, dl| b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset));
    of_tensor(b, m, Rpn::Data, |b, dl| b.first_element(dl));
    of_tensor(b, m, Rpn::Dtype, |b, dl| b.unsigned(dl, dl_tensor::DTYPE.offset));
    of_tensor(b, m, Rpn::Numel, |b, dl| b.routine_value(Routine::Numel, &[dl]));
    of_tensor(b, m, Rpn::IsCompact, |b, dl| b.ask(Routine::IsCompact, &[dl]));
}

/// A number of a dim that a tensor must have, if it is there.
fn of_dim(
    b: &mut Builder<'_>,
    m: Machine,
    slot: Value,
    dim: Value,
    read: impl FnOnce(&mut Builder<'_>, Value) -> Value,
) -> Value {
    let dl = subject(b, m, Routine::TensorOf, slot);
    b.if_else(
        dl.there,
        Type::I64,
        |b| {
            b.has_dim(m.s, dl.address, dim);
            read(b, dl.address)
        },
        |b| b.i64(0),
    )
}

/// Properties of other values, objects first.
pub(crate) fn properties(b: &mut Builder<'_>, m: Machine) {
    for (op, field) in [(Rpn::Length, seq_cell::SIZE), (Rpn::NumberCount, shape_cell::SIZE)] {
        m.load(b, op, |b| {
            let slot = b.take_word(m.s);
            let object = subject(b, m, Routine::ObjectOf, slot);
            let count = b.load(Type::I64, object.address, field.in_object());
            or_zero(b, object, count)
        });
    }
    m.load(b, Rpn::Number, |b| {
        let record = b.take::<operation::Number>(m.s);
        let (slot, index) = (record.slot(b), record.index(b));
        let object = subject(b, m, Routine::ObjectOf, slot);
        b.routine_value(Routine::NumberAt, &[object.address, index])
    });
    m.check(b, Rpn::Count, |b| {
        let record = b.take::<operation::Count>(m.s);
        let (slot, index, head) = (record.slot(b), record.index(b), record.head(b));
        let object = subject(b, m, Routine::ObjectOf, slot);
        let count = b.load(Type::I64, object.address, shape_cell::SIZE.in_object());
        at_least(b, m, [count, index], object.there, head, Complaint::SizeLeast);
    });
    others(b, m);
}

/// Properties of what is no object.
fn others(b: &mut Builder<'_>, m: Machine) {
    m.load(b, Rpn::IsSome, |b| {
        let slot = b.take_word(m.s);
        b.is_some(m.s, slot)
    });
    m.load(b, Rpn::TextSize, |b| {
        let slot = b.take_word(m.s);
        b.text_of(m.s, slot)[1]
    });
    m.load(b, Rpn::SameText, |b| {
        let record = b.take::<operation::SameText>(m.s);
        let (slot, text) = (record.slot(b), record.text(b));
        let [data, size] = b.text_of(m.s, slot);
        let [text, length] = b.text_at(m.s, text);
        b.ask(Routine::SameText, &[data, size, text, length])
    });
    for (op, part) in [(Rpn::TypeOfDevice, 0), (Rpn::IndexOfDevice, 1)] {
        m.load(b, op, |b| {
            let slot = b.take_word(m.s);
            b.in_count(m.s, slot, Field::SlotCount);
            let device = b.symbol_value(m.s, slot);
            b.split_device(device)[part]
        });
    }
    m.load(b, Rpn::RestSize, |b| {
        let first = b.take_word(m.s);
        let count = b.field(m.s, Field::NumArgs);
        b.binary(Binary::Sub, count, first)
    });
}
