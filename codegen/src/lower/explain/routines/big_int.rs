//! Integers that do not fit `int64`, which are objects: their text.

use abi_spec::TypeIndex;
use abi_spec::layout::big_int;

use crate::ir::typed::{Bool, Int, Ref, Single, Text, handles, routine, words as words_of};
use crate::ir::{Builder, Cond, Type, Value};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::memory::slice;

/// The most words of 64 bits of a number that is written in full.
const WORDS: u64 = 32;

/// Bytes that its sign and its digits take, in whole groups: a digit is more than 3.32 bits.
const ROOM: u64 = 1 + (64 * WORDS * 100 / 332 + 2 * GROUP);

/// How many digits are split off at a time; what divides by must fit 32 bits.
const GROUP: u64 = 9;

/// What splits them off.
const DIVISOR: u64 = 10_u64.pow(GROUP as u32);

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
    let long = b.compare_const(Cond::Ugt, size, WORDS as i64);
    b.if_then(long, |b| {
        let [text, length] = b.text(LONG);
        b.complain_of(s, complaint, &[head, expected, text, length]);
    });
    let words = b.ptr_offset(object, big_int::WORDS.in_object().into());
    let number = magnitude(b, Ref::new(words), Int::new(size));
    let text = decimal(b, number);
    let text = words_of(b, text);
    b.complain_of(s, complaint, &[head, expected, text[0], text[1]]);
}

handles! {
    /// A number without its sign.
    struct Magnitude {
        words: Ref<u64>,
        size: Int<u64>,
        is_negative: Bool,
    }
}

/// A copy of words in two's complement without their sign.
#[routine(inline)]
fn magnitude(from: &u64, size: u64) -> Magnitude {
    let words: [u64; WORDS];
    let sign = (from[size - 1] as i64 >> 63) as u64;
    let mut carry = sign & 1;
    // A negative number is turned round: all bits, and one is added.
    for at in 0..size {
        let word = (from[at] ^ sign) + carry;
        words[at] = word;
        carry = (word < carry) as u64;
    }
    Magnitude { words, size, is_negative: sign != 0 }
}

/// The digits of a number, which becomes 0.
#[routine(inline)]
fn decimal(number: Magnitude) -> Text {
    let text: [u8; ROOM];
    let halves = number.words as &u32;
    let mut left = number.size << 1;
    let mut start: u64 = ROOM;
    // From the last group to the first, each with all of its digits.
    while left != 0 {
        let mut group = divide(halves, left);
        for _ in 0..GROUP {
            start -= 1;
            text[start] = b'0' + (group % 10) as u8;
            group /= 10;
        }
        left -= (halves[left - 1] == 0) as u64;
    }
    while start < ROOM - 1 && text[start] == b'0' {
        start += 1;
    }
    if number.is_negative {
        start -= 1;
        text[start] = b'-';
    }
    slice(&text[start], ROOM - start)
}

/// Divides a number of so many halves of words by 10 to the power of [`GROUP`]; yields what is left.
#[routine(inline)]
fn divide(halves: &u32, count: u64) -> u64 {
    let mut rest: u64 = 0;
    for at in (0..count).rev() {
        let all = rest << 32 | halves[at] as u64;
        halves[at] = (all / DIVISOR) as u32;
        rest = all % DIVISOR;
    }
    rest
}

const _: () = assert!(WORDS * 64 == 2048);
