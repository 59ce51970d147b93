//! Integers that do not fit `int64`, which are objects: their text.

use abi_spec::TypeIndex;
use abi_spec::layout::big_int;

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// The most words of 64 bits of a number that is written in full.
const WORDS: i64 = 32;

/// Bytes that its sign and its digits take, in whole groups: a digit is more than 3.32 bits.
const ROOM: i64 = 1 + (64 * WORDS * 100 / 332 + 2 * GROUP);

/// How many digits are split off at a time; what divides by must fit 32 bits.
const GROUP: i64 = 9;

/// What stands for a longer number.
const LONG: &str = "an integer of over 2048 bits";

impl Builder<'_> {
    /// A `Bool`: a value of this type index and payload is an integer that is an object.
    pub(crate) fn is_big_int(&mut self, index: Value, object: Value) -> Value {
        let typed = self.compare_const(Cond::Eq, index, TypeIndex::BIG_INT.0.into());
        let some = self.compare_const(Cond::Ne, object, 0);
        let typed = self.and(typed, some);
        let nothing = self.table(&[0; big_int::SIZE.in_object() as usize + 8]);
        let readable = self.select(typed, object, nothing);
        let size = self.load(Type::I64, readable, big_int::SIZE.in_object());
        // One with fewer words is no object that the runtime makes.
        self.compare_const(Cond::Ugt, size, 1)
    }

    /// Complains of an integer that is an object, with the head of the step and what was expected or which number of a
    /// shape it is, and returns 1.
    pub(crate) fn complain_big(
        &mut self,
        s: Value,
        complaint: Value,
        [head, expected, object]: [Value; 3],
    ) {
        let args = [s, complaint, head, self.as_word(expected), object];
        let raised = self.routine_value(Routine::ComplainBig, &args);
        self.ret(Some(raised));
    }
}

/// `(state, complaint, head, expected, object)`: raises, unless a fault is no error now; 1.
pub(crate) fn complain(b: &mut Builder<'_>, _: Used) {
    let [s, complaint, head, expected, object] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let quiet = b.is_quiet(s);
    b.return_if(quiet, 1);
    let size = b.load(Type::I64, object, big_int::SIZE.in_object());
    let long = b.compare_const(Cond::Ugt, size, WORDS);
    b.if_then(long, |b| {
        let [text, length] = b.text(LONG);
        b.complain_of(s, complaint, &[head, expected, text, length]);
    });
    let words = b.ptr_offset(object, big_int::WORDS.in_object().into());
    let (number, negative) = magnitude(b, words, size);
    let [text, length] = decimal(b, number, size, negative);
    b.complain_of(s, complaint, &[head, expected, text, length]);
}

/// A copy of words in two's complement without their sign, and a `Bool`: it was negative.
fn magnitude(b: &mut Builder<'_>, words: Value, size: Value) -> (Value, Value) {
    let number = b.stack_slot(8 * WORDS as u32, 8);
    let last = b.binary_const(Binary::Sub, size, 1);
    let last = b.load_element(words, last);
    let sign = b.binary_const(Binary::Ashr, last, 63);
    let carry = b.binary_const(Binary::And, sign, 1);
    // A negative number is turned round: all bits, and one is added.
    b.fold(size, [carry], |b, at, [carry]| {
        let word = b.load_element(words, at);
        let word = b.binary(Binary::Xor, word, sign);
        let word = b.binary(Binary::Add, word, carry);
        let to = b.element(number, at);
        b.store(word, to, 0);
        let over = b.compare(Cond::Ult, word, carry);
        [b.truth(over)]
    });
    (number, b.compare_const(Cond::Ne, sign, 0))
}

/// The digits of a number, which becomes 0: address and length of the text.
fn decimal(b: &mut Builder<'_>, number: Value, size: Value, negative: Value) -> [Value; 2] {
    let text = b.stack_slot(ROOM as u32, 8);
    let (end, halves) = (b.i64(ROOM), b.binary_const(Binary::Shl, size, 1));
    // From the last group to the first, each with all of its digits.
    let [start, _] = b.repeat(
        [end, halves],
        |b, [_, halves]| b.compare_const(Cond::Ne, halves, 0),
        |b, [at, halves]| {
            let group = divide(b, number, halves);
            let at = digits(b, text, at, group);
            let top = b.binary_const(Binary::Sub, halves, 1);
            let half = b.binary_const(Binary::Shl, top, 2);
            let half = b.ptr_add(number, half);
            let rest = b.unsigned(half, 0);
            let empty = b.compare_const(Cond::Eq, rest, 0);
            [at, b.select(empty, top, halves)]
        },
    );
    let [start] = b.repeat(
        [start],
        |b, [at]| {
            let last = b.binary_const(Binary::Add, at, 1);
            let more = b.compare(Cond::Slt, last, end);
            let byte = b.ptr_add(text, at);
            let byte = b.load(Type::I8, byte, 0);
            let zero = b.compare_const(Cond::Eq, byte, b'0'.into());
            b.and(more, zero)
        },
        |b, [at]| [b.binary_const(Binary::Add, at, 1)],
    );
    let before = b.binary_const(Binary::Sub, start, 1);
    let start = b.select(negative, before, start);
    let first = b.ptr_add(text, start);
    b.if_then(negative, |b| {
        let sign = b.constant(Type::I8, b'-'.into());
        b.store(sign, first, 0);
    });
    [first, b.binary(Binary::Sub, end, start)]
}

/// Divides a number of so many halves of words by 10 to the power of [`GROUP`]; yields what is left.
fn divide(b: &mut Builder<'_>, number: Value, halves: Value) -> Value {
    let zero = b.i64(0);
    let [rest] = b.fold(halves, [zero], |b, at, [rest]| {
        let from_top = b.binary(Binary::Sub, halves, at);
        let half = b.binary_const(Binary::Sub, from_top, 1);
        let half = b.binary_const(Binary::Shl, half, 2);
        let half = b.ptr_add(number, half);
        let low = b.unsigned(half, 0);
        let all = b.binary_const(Binary::Shl, rest, 32);
        let all = b.or(all, low);
        let divisor = b.i64(10_i64.pow(GROUP as u32));
        let quotient = b.binary(Binary::Udiv, all, divisor);
        let quotient = b.convert(Convert::Trunc, quotient, Type::I32);
        b.store(quotient, half, 0);
        [b.binary(Binary::Urem, all, divisor)]
    });
    rest
}

/// Writes a group of digits that ends at an offset; yields where it starts.
fn digits(b: &mut Builder<'_>, text: Value, end: Value, group: Value) -> Value {
    let count = b.i64(GROUP);
    let [at, _] = b.fold(count, [end, group], |b, _, [at, rest]| {
        let ten = b.i64(10);
        let digit = b.binary(Binary::Urem, rest, ten);
        let digit = b.binary_const(Binary::Add, digit, b'0'.into());
        let digit = b.convert(Convert::Trunc, digit, Type::I8);
        let at = b.binary_const(Binary::Sub, at, 1);
        let to = b.ptr_add(text, at);
        b.store(digit, to, 0);
        [at, b.binary(Binary::Udiv, rest, ten)]
    });
    at
}

const _: () = assert!(WORDS * 64 == 2048);
