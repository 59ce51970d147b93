//! Appending text and numbers to a message.

use crate::ir::typed::{Text, routine};
use crate::lower::routines::memory::{MAX_TEXT, State, slice};

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
