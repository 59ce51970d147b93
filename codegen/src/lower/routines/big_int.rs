//! Integer objects, which hold integers beyond `int64`, in messages.

use abi_spec::TypeIndex;

use crate::ir::typed::{Bool, Int, Ref, Text, handles, routine};
use crate::lower::routines::memory::{Any, BigInt, MessageBuffer, slice};
use crate::lower::routines::text::put;

/// Largest number of 64-bit words of an integer that is written in full.
const WORDS: u64 = 32;

/// Size of the buffer for sign and digits, rounded up to whole groups. A digit has more than 3.32 bits of information.
const ROOM: u64 = 1 + (64 * WORDS * 100 / 332 + 2 * GROUP);

/// Number of digits that one division yields: [`DIVISOR`] must fit 32 bits.
const GROUP: u64 = 9;

/// Divisor that yields a group of digits as the remainder.
const DIVISOR: u64 = 10_u64.pow(GROUP as u32);

/// Text for an integer of more than [`WORDS`] words.
const LONG: &str = "an integer of over 2048 bits";

/// Returns true if a value is an integer object. The runtime makes none of fewer than two words.
#[routine(inline)]
pub(crate) fn is_big_int(value: &Any) -> bool {
    if value.type_index != TypeIndex::BIG_INT || value.object == null {
        return false;
    }
    (value.object as &BigInt).size > 1
}

/// Appends an integer object in decimal.
#[routine]
pub(crate) fn put_big(s: &MessageBuffer, number: &BigInt) {
    let size = number.size;
    if size > WORDS {
        put(s, LONG);
        return;
    }
    put_words(s, number.words, size);
}

/// Appends an integer of at most [`WORDS`] words in two's complement.
#[routine]
pub(crate) fn put_words(s: &MessageBuffer, words: &u64, size: u64) {
    put(s, decimal(magnitude(words, size)));
}

/// Appends a sum that is no `int64`.
#[routine(inline)]
pub(crate) fn put_sum(s: &MessageBuffer, a: i64, b: i64) {
    let words: [u64; 2];
    words[0] = a as u64 + b as u64;
    // Both numbers have the sign of the sum.
    words[1] = (a >> 63) as u64;
    put_words(s, words, 2);
}

/// Appends a difference that is no `int64`.
#[routine(inline)]
pub(crate) fn put_difference(s: &MessageBuffer, a: i64, b: i64) {
    let words: [u64; 2];
    words[0] = a as u64 - b as u64;
    // The sign is the opposite of that of the subtrahend; the minuend may be zero.
    words[1] = (-1 - (b >> 63)) as u64;
    put_words(s, words, 2);
}

/// Appends a product.
#[routine(inline)]
pub(crate) fn put_product(s: &MessageBuffer, a: i64, b: i64) {
    let words: [u64; 2];
    let (x, y) = (a as u64, b as u64);
    let low = (x & HALF) * (y & HALF);
    let middle = (x >> 32) * (y & HALF) + (low >> 32);
    let cross = (x & HALF) * (y >> 32) + (middle & HALF);
    let high = (x >> 32) * (y >> 32) + (middle >> 32) + (cross >> 32);
    words[0] = x * y;
    // The product of the words as unsigned numbers has 2^64 times the other number too much for each negative one.
    words[1] = high - (y & (a >> 63) as u64) - (x & (b >> 63) as u64);
    put_words(s, words, 2);
}

/// A mask of the low half of a word.
const HALF: u64 = u32::MAX as u64;

handles! {
    /// The absolute value of an integer, and its sign.
    struct Magnitude {
        words: Ref<u64>,
        size: Int<u64>,
        is_negative: Bool,
    }
}

/// Converts an integer in two's complement to absolute value and sign.
#[routine(inline)]
fn magnitude(from: &u64, size: u64) -> Magnitude {
    let words: [u64; WORDS];
    let sign = (from[size - 1] as i64 >> 63) as u64;
    let mut carry = sign & 1;
    // A negative integer is negated: all bits are inverted and one is added.
    for at in 0..size {
        let word = (from[at] ^ sign) + carry;
        words[at] = word;
        carry = (word < carry) as u64;
    }
    Magnitude { words, size, is_negative: sign != 0 }
}

/// Formats an integer in decimal. Overwrites its words with 0.
#[routine(inline)]
fn decimal(number: Magnitude) -> Text {
    let text: [u8; ROOM];
    let halves = number.words as &u32;
    let mut left = number.size << 1;
    let mut start: u64 = ROOM;
    // Groups are written from the last to the first, with leading zeros that are skipped below.
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

/// Divides an integer of `count` 32-bit halves of words by [`DIVISOR`] in place. Returns the remainder.
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
