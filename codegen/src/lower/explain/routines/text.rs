//! Appending text and numbers to a message.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::Suffix;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};
use crate::resolve::value::INDEX;

/// `(state, text, length)`
pub(crate) fn put(c: &mut Code<'_>) {
    let [s, text, wanted] = [0, 1, 2].map(|i| c.b.param(i));
    let length = c.b.load(Type::I64, s, state::LENGTH);
    let capacity = c.b.i64(state::MAX_TEXT.into());
    let room = c.b.binary(Binary::Sub, capacity, length);
    let fits = c.b.compare(Cond::Ult, wanted, room);
    let count = c.b.select(fits, wanted, room);
    let end = c.b.binary(Binary::Add, length, count);
    c.b.store(end, s, state::LENGTH);
    let buffer = c.b.ptr_offset(s, state::TEXT.into());
    let to = c.b.ptr_add(buffer, length);
    c.count_to(count, |c, at| {
        let from = c.b.ptr_add(text, at);
        let to = c.b.ptr_add(to, at);
        let byte = c.b.load(Type::I8, from, 0);
        c.b.store(byte, to, 0);
    });
    c.b.ret(None);
}

/// `(state, value)`
pub(crate) fn put_int(c: &mut Code<'_>) {
    let [s, value] = [0, 1].map(|i| c.b.param(i));
    let negative = c.b.compare_const(Cond::Slt, value, 0);
    c.when(negative, |c| c.say(s, "-"));
    let zero = c.b.i64(0);
    let negated = c.b.binary(Binary::Sub, zero, value);
    let magnitude = c.b.select(negative, negated, value);
    c.call(Routine::PutUnsigned, &[s, magnitude]);
    c.b.ret(None);
}

/// `(state, value)`: at most 20 digits, from the last to the first.
pub(crate) fn put_unsigned(c: &mut Code<'_>) {
    let [s, value] = [0, 1].map(|i| c.b.param(i));
    let digits = c.b.stack_slot(24, 8);
    let rest = c.variable(value);
    let end = c.b.i64(24);
    let at = c.variable(end);
    let more = c.b.i32(1);
    let more = c.variable(more);
    c.repeat(
        |c| {
            let more = c.get(more);
            c.b.compare_const(Cond::Ne, more, 0)
        },
        |c| {
            c.add_to(at, -1);
            let value = c.get(rest);
            let ten = c.b.i64(10);
            let quotient = c.b.binary(Binary::Udiv, value, ten);
            let digit = c.b.binary(Binary::Urem, value, ten);
            let digit = c.b.binary_const(Binary::Add, digit, b'0'.into());
            let digit = c.b.convert(Convert::Trunc, digit, Type::I8);
            let index = c.get(at);
            let to = c.b.ptr_add(digits, index);
            c.b.store(digit, to, 0);
            c.set(rest, quotient);
            let again = c.b.compare_const(Cond::Ne, quotient, 0);
            let again = c.b.widen_bool(again, Type::I32);
            c.set(more, again);
        },
    );
    let start = c.get(at);
    let text = c.b.ptr_add(digits, start);
    let length = c.b.binary(Binary::Sub, end, start);
    c.call(Routine::Put, &[s, text, length]);
    c.b.ret(None);
}

/// `(state, place)`
pub(crate) fn put_place(c: &mut Code<'_>) {
    let [s, place] = [0, 1].map(|i| c.b.param(i));
    put_path(c, s, place);
    let suffix = c.word(place, 2);
    let (index, done) = (c.b.block("index"), c.b.block("done"));
    for (code, text) in
        [(Suffix::Shape, ".shape["), (Suffix::Strides, ".strides["), (Suffix::Number, "[")]
    {
        c.case(suffix, code as u32, index, |c| c.say(s, text));
    }
    c.b.jump(done, &[]);
    c.b.switch_to(index);
    let value = c.word(place, 3);
    c.call(Routine::PutUnsigned, &[s, value]);
    c.say(s, "]");
    c.b.jump(done, &[]);
    c.b.switch_to(done);
    c.b.ret(None);
}

/// The path of a value, with the number of the element where one of many is meant.
fn put_path(c: &mut Code<'_>, s: Value, place: Value) {
    let [text, length] = c.text_at(s, place, 0);
    let zero = c.b.i64(0);
    let at = c.variable(zero);
    let one = c.b.i64(1);
    c.repeat(
        |c| {
            let at = c.get(at);
            c.b.compare(Cond::Slt, at, length)
        },
        |c| {
            let index = c.get(at);
            c.add_to(at, 1);
            let from = c.b.ptr_add(text, index);
            let byte = c.b.load(Type::I8, from, 0);
            let number = c.b.compare_const(Cond::Eq, byte, i64::from(INDEX as u32));
            let (loops, plain, next) = (c.b.block("loop"), c.b.block("plain"), c.b.block("next"));
            c.b.branch(number, loops, plain);
            c.b.switch_to(plain);
            c.call(Routine::Put, &[s, from, one]);
            c.b.jump(next, &[]);
            c.b.switch_to(loops);
            c.add_to(at, 1);
            let depth = c.b.load(Type::I8, from, 1);
            let depth = c.b.convert(Convert::Zext, depth, Type::I64);
            let depth = c.b.binary_const(Binary::Sub, depth, 1);
            let base = c.b.ptr_offset(s, state::LOOPS.into());
            let number = c.load_element(base, depth);
            c.call(Routine::PutInt, &[s, number]);
            c.b.jump(next, &[]);
            c.b.switch_to(next);
        },
    );
}
