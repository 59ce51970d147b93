//! Composing a message: constant text, and the values in it.

use crate::ir::typed::{Text, routine};
use crate::ir::{Binary, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::explain::codes::{LeafKind, Text as DescribedText, Used};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::memory::{State, slice};
use crate::lower::explain::routines::state::{Field, MAX_TEXT};
use crate::lower::explain::schema::At;

impl Builder<'_> {
    /// Appends constant text.
    pub(crate) fn say(&mut self, s: Value, text: &str) {
        let [address, length] = self.text(text);
        self.routine(Routine::Put, &[s, address, length]);
    }

    /// Appends a text of the descriptor.
    pub(crate) fn say_text(&mut self, s: Value, text: At<DescribedText>) {
        let [address, length] = self.text_at(s, text);
        self.routine(Routine::Put, &[s, address, length]);
    }
}

/// What a message ends in that has lost its end.
const CUT: &str = "…";

/// Bytes of a message; the rest is cut off.
const CAPACITY: u64 = MAX_TEXT as u64;

/// Where [`CUT`] stands in a full message.
const CUT_AT: u64 = CAPACITY - CUT.len() as u64;

/// Bytes of a character in front of its last.
const REST: u64 = 3;

/// Appends text as far as it fits. A message that has lost its end says so.
#[routine]
pub(crate) fn put(s: &State, text: Text) {
    let room = CAPACITY - s.length;
    let count = if text.len < room { text.len } else { room };
    let to = &s.message[s.length];
    s.length += count;
    for at in 0..count {
        to[at] = text.data[at];
    }
    if text.len > room {
        cut(s.message);
    }
}

/// Writes [`CUT`] at the end of a full message. What that leaves of a character in front of it becomes points.
#[routine(inline)]
fn cut(message: &u8) {
    let mut broken = continues(message[CUT_AT]);
    let mut at: u64 = CUT_AT - 1;
    while broken && at >= CUT_AT - REST {
        broken = continues(message[at]);
        message[at] = b'.';
        at -= 1;
    }
    let mark = CUT;
    for at in 0..mark.len {
        message[at + CUT_AT] = mark.data[at];
    }
}

/// Whether a byte of UTF-8 is not the first of its character.
#[routine(inline)]
pub(super) fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
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

/// Appends a signed number.
#[routine]
pub(crate) fn put_int(s: &State, value: i64) {
    if value < 0 {
        put(s, "-");
    }
    let magnitude = if value < 0 { -value } else { value };
    put_unsigned(s, magnitude as u64);
}

/// Bytes that have room for every number: at most 20 digits.
const DIGITS: u64 = 24;

/// Appends an unsigned number, whose digits are made from the last to the first.
#[routine]
pub(crate) fn put_unsigned(s: &State, value: u64) {
    let digits: [u8; DIGITS];
    let mut at: u64 = DIGITS;
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    put(s, slice(&digits[at], DIGITS - at));
}
