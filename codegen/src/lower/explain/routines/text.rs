//! Composing a message: constant text, and the values in it.

use crate::ir::{Binary, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::explain::codes::{LeafKind, Text, Used};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::{Field, MAX_TEXT};
use crate::lower::explain::schema::At;

impl Builder<'_> {
    /// Appends constant text.
    pub(crate) fn say(&mut self, s: Value, text: &str) {
        let [address, length] = self.text(text);
        self.routine(Routine::Put, &[s, address, length]);
    }

    /// Appends a text of the descriptor.
    pub(crate) fn say_text(&mut self, s: Value, text: At<Text>) {
        let [address, length] = self.text_at(s, text);
        self.routine(Routine::Put, &[s, address, length]);
    }
}

/// What a message ends in that has lost its end.
const CUT: &str = "…";

/// `(state, text, length)`: appends text as far as it fits. A message that has lost its end says so.
pub(crate) fn put(b: &mut Builder<'_>, _: Used) {
    let [s, text, wanted] = [0, 1, 2].map(|i| b.param(i));
    let length = b.field(s, Field::Length);
    let capacity = b.i64(MAX_TEXT.into());
    let room = b.binary(Binary::Sub, capacity, length);
    let fits = b.compare(Cond::Ult, wanted, room);
    let count = b.select(fits, wanted, room);
    let end = b.binary(Binary::Add, length, count);
    b.set_field(s, Field::Length, end);
    let buffer = b.message(s);
    let to = b.ptr_add(buffer, length);
    b.count_to(count, |b, at| {
        let from = b.ptr_add(text, at);
        let to = b.ptr_add(to, at);
        let byte = b.load(Type::I8, from, 0);
        b.store(byte, to, 0);
    });
    let lost = b.compare(Cond::Ugt, wanted, room);
    b.if_then(lost, |b| cut(b, buffer));
    b.ret(None);
}

/// Writes [`CUT`] at the end of a full message. What that leaves of a character in front of it becomes points.
fn cut(b: &mut Builder<'_>, buffer: Value) {
    /// Bytes of a character in front of its last.
    const REST: i64 = 3;
    let start = i64::from(MAX_TEXT) - CUT.len() as i64;
    let first = b.load(Type::I8, buffer, start as i32);
    let broken = continues(b, first);
    let (broken, before) = (b.widen_bool(broken, Type::I64), b.i64(start - 1));
    b.repeat(
        [broken, before],
        |b, [broken, at]| {
            let broken = b.compare_const(Cond::Ne, broken, 0);
            let near = b.compare_const(Cond::Sge, at, start - REST);
            b.and(broken, near)
        },
        |b, [_, at]| {
            let to = b.ptr_add(buffer, at);
            let byte = b.load(Type::I8, to, 0);
            let point = b.constant(Type::I8, b'.'.into());
            b.store(point, to, 0);
            let more = continues(b, byte);
            [b.widen_bool(more, Type::I64), b.binary_const(Binary::Sub, at, 1)]
        },
    );
    for (at, byte) in (start as i32..).zip(CUT.bytes()) {
        let byte = b.constant(Type::I8, byte.into());
        b.store(byte, buffer, at);
    }
}

/// Whether a byte of UTF-8 is not the first of its character.
pub(super) fn continues(b: &mut Builder<'_>, byte: Value) -> Value {
    let mark = b.binary_const(Binary::And, byte, 0xc0);
    b.compare_const(Cond::Eq, mark, 0x80)
}

/// What stands for values in a message: all below this.
pub(crate) const PIECES: u32 = 32;

/// What stands for values in a path: [`LeafKind::Index`].
pub(crate) const INDICES: i64 = LeafKind::Index as i64 + 1;

/// `(state, text, length, limit)`: appends text, and a value for each character below the limit.
pub(crate) fn compose(b: &mut Builder<'_>, _: Used) {
    let [s, text, length, limit] = [0, 1, 2, 3].map(|i| b.param(i));
    let zero = b.i64(0);
    b.repeat(
        [zero],
        |b, [at]| b.compare(Cond::Slt, at, length),
        |b, [at]| {
            let [end] = b.repeat(
                [at],
                |b, [at]| {
                    let more = b.compare(Cond::Slt, at, length);
                    let readable = b.select(more, at, zero);
                    let byte = byte_at(b, text, readable);
                    let plain = b.compare(Cond::Uge, byte, limit);
                    b.and(more, plain)
                },
                |b, [at]| [b.binary_const(Binary::Add, at, 1)],
            );
            let from = b.ptr_add(text, at);
            let plain = b.binary(Binary::Sub, end, at);
            b.routine(Routine::Put, &[s, from, plain]);
            let more = b.compare(Cond::Slt, end, length);
            [b.if_else(more, Type::I64, |b| piece(b, s, [text, length], end), |_| end)]
        },
    );
    b.return_code(0);
}

/// Appends the piece at an offset; yields the offset behind it.
fn piece(b: &mut Builder<'_>, s: Value, [text, length]: [Value; 2], at: Value) -> Value {
    let code = byte_at(b, text, at);
    let next = b.binary_const(Binary::Add, at, 1);
    let after = b.block("piece");
    let behind = b.block_param(after, Type::I64, Hint::default());
    b.case(code, LeafKind::Escape as u32, after, |b| {
        // A text that ends here has no character more.
        let more = b.compare(Cond::Slt, next, length);
        let (from, count) = (b.ptr_add(text, next), b.truth(more));
        b.routine(Routine::Put, &[s, from, count]);
        [b.binary_const(Binary::Add, next, 1)]
    });
    b.case(code, LeafKind::Index as u32, after, |b| {
        let depth = byte_at(b, text, next);
        let depth = b.binary_const(Binary::Sub, depth, 1);
        b.in_count(s, depth, Field::LoopCount);
        let loops = b.field(s, Field::Loops);
        let number = b.load_element(loops, depth);
        b.routine(Routine::PutInt, &[s, number]);
        [b.binary_const(Binary::Add, next, 1)]
    });
    b.try_routine(Routine::PutPiece, &[s, code]);
    b.jump(after, &[next]);
    b.switch_to(after);
    behind
}

/// The byte at an offset of a text, widened.
fn byte_at(b: &mut Builder<'_>, text: Value, at: Value) -> Value {
    let at = b.ptr_add(text, at);
    let byte = b.load(Type::I8, at, 0);
    b.convert(Convert::Zext, byte, Type::I64)
}

/// `(state, value)`
pub(crate) fn put_int(b: &mut Builder<'_>, _: Used) {
    let [s, value] = [0, 1].map(|i| b.param(i));
    let negative = b.compare_const(Cond::Slt, value, 0);
    b.if_then(negative, |b| b.say(s, "-"));
    let zero = b.i64(0);
    let negated = b.binary(Binary::Sub, zero, value);
    let magnitude = b.select(negative, negated, value);
    b.routine(Routine::PutUnsigned, &[s, magnitude]);
    b.ret(None);
}

/// `(state, value)`: at most 20 digits, from the last to the first.
pub(crate) fn put_unsigned(b: &mut Builder<'_>, _: Used) {
    const ROOM: i64 = 24;
    let [s, value] = [0, 1].map(|i| b.param(i));
    let digits = b.stack_slot(ROOM as u32, 8);
    let (end, one) = (b.i64(ROOM), b.i64(1));
    // The first digit is written even of 0.
    let [_, start, _] = b.repeat(
        [value, end, one],
        |b, [rest, _, first]| {
            let more = b.or(rest, first);
            b.compare_const(Cond::Ne, more, 0)
        },
        |b, [rest, at, _]| {
            let ten = b.i64(10);
            let quotient = b.binary(Binary::Udiv, rest, ten);
            let digit = b.binary(Binary::Urem, rest, ten);
            let digit = b.binary_const(Binary::Add, digit, b'0'.into());
            let digit = b.convert(Convert::Trunc, digit, Type::I8);
            let at = b.binary_const(Binary::Sub, at, 1);
            let to = b.ptr_add(digits, at);
            b.store(digit, to, 0);
            [quotient, at, b.i64(0)]
        },
    );
    let text = b.ptr_add(digits, start);
    let length = b.binary(Binary::Sub, end, start);
    b.routine(Routine::Put, &[s, text, length]);
    b.ret(None);
}
