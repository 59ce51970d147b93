//! Text that was received, in a message.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::text::continues;

/// After so many bytes a text loses its end.
const SHOWN: i64 = 64;

/// `(state, text, length)`: text in quotes; long text loses its end, and what is not a printable character, or is
/// no UTF-8, is escaped.
pub(crate) fn put_quoted(b: &mut Builder<'_>, _: Used) {
    let [s, text, length] = [0, 1, 2].map(|i| b.param(i));
    b.say(s, "\"");
    let (shown, zero) = (b.i64(SHOWN), b.i64(0));
    let long = b.compare(Cond::Sgt, length, shown);
    let count = b.select(long, shown, length);
    b.repeat(
        [zero],
        |b, [at]| b.compare(Cond::Slt, at, count),
        |b, [at]| {
            let from = b.ptr_add(text, at);
            let size = character(b, from, at, length);
            let whole = b.compare_const(Cond::Ne, size, 0);
            let single = b.not(whole);
            b.if_then(whole, |b| {
                b.routine(Routine::Put, &[s, from, size]);
            });
            b.if_then(single, |b| put_byte(b, s, from));
            let one = b.i64(1);
            let step = b.select(whole, size, one);
            [b.binary(Binary::Add, at, step)]
        },
    );
    b.if_then(long, |b| b.say(s, "..."));
    b.say(s, "\"");
    b.ret(None);
}

/// Appends a byte, escaped unless it is plain ASCII and no quote or backslash.
fn put_byte(b: &mut Builder<'_>, s: Value, from: Value) {
    let byte = b.load(Type::I8, from, 0);
    let byte = b.convert(Convert::Zext, byte, Type::I64);
    let graphic = is_within(b, byte, b' '.into(), b'~'.into());
    let quote = b.compare_const(Cond::Ne, byte, b'"'.into());
    let slash = b.compare_const(Cond::Ne, byte, b'\\'.into());
    let plain = b.and(quote, slash);
    let plain = b.and(plain, graphic);
    let escaped = b.not(plain);
    let one = b.i64(1);
    b.if_then(plain, |b| {
        b.routine(Routine::Put, &[s, from, one]);
    });
    b.if_then(escaped, |b| {
        b.say(s, "\\x");
        for shift in [4, 0] {
            let digit = b.binary_const(Binary::Lshr, byte, shift);
            let digit = b.binary_const(Binary::And, digit, 15);
            let [digits, _] = b.text("0123456789abcdef");
            let digit = b.ptr_add(digits, digit);
            b.routine(Routine::Put, &[s, digit, one]);
        }
    });
}

/// The size of a character of more than one byte that starts here, at an offset of a text of this length; 0 if none
/// does, or one that controls a terminal. The table is that of well-formed sequences in the Unicode standard.
fn character(b: &mut Builder<'_>, from: Value, at: Value, length: Value) -> Value {
    let lead = b.load(Type::I8, from, 0);
    let lead = b.convert(Convert::Zext, lead, Type::I64);
    let mut size = b.i64(0);
    for (first, last, bytes) in [(0xc2, 0xdf, 2), (0xe0, 0xef, 3), (0xf0, 0xf4, 4)] {
        let (here, bytes) = (is_within(b, lead, first, last), b.i64(bytes));
        size = b.select(here, bytes, size);
    }
    let end = b.binary(Binary::Add, at, size);
    let there = b.compare(Cond::Sle, end, length);
    let several = b.compare_const(Cond::Ne, size, 0);
    let there = b.and(several, there);
    b.if_else(there, Type::I64, |b| continued(b, from, lead, size), |b| b.i64(0))
}

/// The size, if what follows the first byte is as it must be; else 0.
fn continued(b: &mut Builder<'_>, from: Value, lead: Value, size: Value) -> Value {
    let second = b.load(Type::I8, from, 1);
    let second = b.convert(Convert::Zext, second, Type::I64);
    let (mut low, mut high) = (b.i64(0x80), b.i64(0xbf));
    // U+0080 to U+009F are controls.
    for (of, bound) in [(0xc2, 0xa0), (0xe0, 0xa0), (0xf0, 0x90)] {
        let (here, bound) = (b.compare_const(Cond::Eq, lead, of), b.i64(bound));
        low = b.select(here, bound, low);
    }
    for (of, bound) in [(0xed, 0x9f), (0xf4, 0x8f)] {
        let (here, bound) = (b.compare_const(Cond::Eq, lead, of), b.i64(bound));
        high = b.select(here, bound, high);
    }
    let (above, below) = (b.compare(Cond::Uge, second, low), b.compare(Cond::Ule, second, high));
    let good = b.and(above, below);
    let good = b.widen_bool(good, Type::I64);
    let rest = b.binary_const(Binary::Sub, size, 2);
    let behind = b.ptr_offset(from, 2);
    let [good] = b.fold(rest, [good], |b, at, [good]| {
        let byte = b.ptr_add(behind, at);
        let byte = b.load(Type::I8, byte, 0);
        let next = continues(b, byte);
        let next = b.widen_bool(next, Type::I64);
        [b.and(good, next)]
    });
    b.binary(Binary::Mul, good, size)
}

/// Whether a number is between two others, or one of them.
fn is_within(b: &mut Builder<'_>, value: Value, first: i64, last: i64) -> Value {
    let above = b.binary_const(Binary::Sub, value, first);
    b.compare_const(Cond::Ule, above, last - first)
}
