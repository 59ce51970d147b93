//! Properties of values in the expressions of a descriptor: one that is not there has only zeros.

use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor, seq_cell, shape_cell};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Rpn, head};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};
use crate::lower::explain::routines::evaluate::Machine;

impl Code<'_> {
    /// What is in the slot that the next word names.
    fn take_word(&mut self, m: Machine) -> Value {
        let word = self.take_words(m.s, 1);
        let slot = self.word(word, 0);
        let slot = self.slot(m.s, slot);
        self.b.load(Type::I64, slot, 0)
    }

    /// The object or tensor whose slot the next word names, and whether it is there. One that is not is all
    /// zeros.
    fn take_pointer(&mut self, m: Machine) -> (Value, Value) {
        let word = self.take_word(m);
        let there = self.b.compare_const(Cond::Ne, word, 0);
        let zeros = self.table(&[0; OBJECT.size as usize + DL_TENSOR.size as usize]);
        let pointer = self.b.convert(Convert::IntToPtr, word, Type::Ptr);
        (self.b.select(there, pointer, zeros), there)
    }

    /// A property of something, which is zero where that is not there.
    fn property(
        &mut self,
        m: Machine,
        op: Rpn,
        read: impl FnOnce(&mut Self, Value, Value) -> Value,
    ) {
        self.operation(m.op, op, m.next, |c| {
            let (pointer, there) = c.take_pointer(m);
            let value = read(c, pointer, there);
            let is_address = c.b.ty(value) == Type::Ptr;
            let value =
                if is_address { c.b.convert(Convert::PtrToInt, value, Type::I64) } else { value };
            let zero = c.b.i64(0);
            let value = c.b.select(there, value, zero);
            c.push(m, value);
        });
    }

    /// Number `index` of an array at `base`, which may be NULL where there is nothing.
    fn number_at(&mut self, base: Value, index: Value) -> Value {
        let some = self.b.compare_const(Cond::Ne, base, 0);
        let zero = self.table(&[0; 8]);
        let at = self.element(base, index);
        let at = self.b.select(some, at, zero);
        self.b.load(Type::I64, at, 0)
    }

    fn signed_field(&mut self, base: Value, offset: i32) -> Value {
        let field = self.b.load(Type::I32, base, offset);
        self.b.convert(Convert::Sext, field, Type::I64)
    }
}

/// `index, head`: raises unless there are more than `index`, where the value is there.
fn at_least(c: &mut Code<'_>, m: Machine, count: Value, there: Value, what: &str) {
    let words = c.take_words(m.s, 1 + i64::from(head::END));
    let index = c.word(words, 0);
    let few = c.b.compare(Cond::Sle, count, index);
    let missing = c.b.and(few, there);
    c.when(missing, |c| {
        let place = c.b.ptr_offset(words, 4);
        let argument = c.word(place, head::ARGUMENT);
        c.begin(m.s, "Mismatched ", place, what, argument);
        c.say(m.s, "at least ");
        let least = c.b.binary_const(Binary::Add, index, 1);
        c.call(Routine::PutInt, &[m.s, least]);
        c.say(m.s, " but got ");
        c.call(Routine::PutInt, &[m.s, count]);
        c.raise_and_stop(m.s, "ValueError");
    });
}

pub(crate) fn fields(c: &mut Code<'_>, m: Machine) {
    c.property(m, Rpn::Extent, |c, dl, _| {
        let word = c.take_words(m.s, 1);
        let dim = c.word(word, 0);
        let shape = c.b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
        c.number_at(shape, dim)
    });
    c.property(m, Rpn::Stride, |c, dl, _| {
        let word = c.take_words(m.s, 1);
        let dim = c.word(word, 0);
        c.call_value(Routine::StrideAt, &[dl, dim])
    });
    c.operation(m.op, Rpn::Rank, m.next, |c| {
        let (dl, there) = c.take_pointer(m);
        let ndim = c.ndim(dl);
        at_least(c, m, ndim, there, ".ndim");
    });
    c.property(m, Rpn::Ndim, |c, dl, _| c.ndim(dl));
    c.property(m, Rpn::DeviceType, |c, dl, _| c.signed_field(dl, dl_tensor::DEVICE_TYPE.offset));
    c.property(m, Rpn::DeviceId, |c, dl, _| c.signed_field(dl, dl_tensor::DEVICE_ID.offset));
    c.property(m, Rpn::ByteOffset, |c, dl, _| {
        c.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset)
    });
    c.property(m, Rpn::Data, |c, dl, _| c.first_element(dl));
    c.property(m, Rpn::Dtype, |c, dl, _| {
        let dtype = c.b.load(Type::I32, dl, dl_tensor::DTYPE.offset);
        c.b.convert(Convert::Zext, dtype, Type::I64)
    });
    c.property(m, Rpn::Numel, |c, dl, _| c.call_value(Routine::Numel, &[dl]));
    c.property(m, Rpn::IsCompact, |c, dl, _| {
        let compact = c.call_value(Routine::IsCompact, &[dl]);
        c.b.convert(Convert::Zext, compact, Type::I64)
    });
}

/// Properties of other values.
pub(crate) fn properties(c: &mut Code<'_>, m: Machine) {
    c.property(m, Rpn::Length, |c, object, _| {
        c.b.load(Type::I64, object, seq_cell::SIZE.in_object())
    });
    c.property(m, Rpn::NumberCount, |c, object, _| {
        c.b.load(Type::I64, object, shape_cell::SIZE.in_object())
    });
    c.property(m, Rpn::Number, |c, object, _| {
        let word = c.take_words(m.s, 1);
        let index = c.word(word, 0);
        c.number_of(object, index)
    });
    c.operation(m.op, Rpn::Count, m.next, |c| {
        let (object, there) = c.take_pointer(m);
        let count = c.b.load(Type::I64, object, shape_cell::SIZE.in_object());
        at_least(c, m, count, there, ".size");
    });
    c.operation(m.op, Rpn::IsSome, m.next, |c| {
        let word = c.take_words(m.s, 1);
        let slot = c.word(word, 0);
        let there = c.is_some(m.s, slot);
        c.push(m, there);
    });
    c.operation(m.op, Rpn::TextSize, m.next, |c| {
        let word = c.take_words(m.s, 1);
        let slot = c.word(word, 0);
        let [_, size] = c.text_of(m.s, slot);
        c.push(m, size);
    });
    c.operation(m.op, Rpn::SameText, m.next, |c| {
        let words = c.take_words(m.s, 3);
        let slot = c.word(words, 0);
        let [data, size] = c.text_of(m.s, slot);
        let [text, length] = c.text_at(m.s, words, 1);
        let same = c.call_value(Routine::SameText, &[data, size, text, length]);
        let same = c.b.convert(Convert::Zext, same, Type::I64);
        c.push(m, same);
    });
    c.operation(m.op, Rpn::TypeOfDevice, m.next, |c| {
        let device = c.take_word(m);
        let ty = c.b.convert(Convert::Trunc, device, Type::I32);
        let ty = c.b.convert(Convert::Sext, ty, Type::I64);
        c.push(m, ty);
    });
    c.operation(m.op, Rpn::IndexOfDevice, m.next, |c| {
        let device = c.take_word(m);
        let index = c.b.binary_const(Binary::Ashr, device, 32);
        c.push(m, index);
    });
    c.operation(m.op, Rpn::RestSize, m.next, |c| {
        let word = c.take_words(m.s, 1);
        let first = c.word(word, 0);
        let count = c.b.load(Type::I64, m.s, state::NUM_ARGS);
        let rest = c.b.binary(Binary::Sub, count, first);
        c.push(m, rest);
    });
    c.unary(m, Rpn::Not, |c, value| c.b.compare_const(Cond::Eq, value, 0));
}
