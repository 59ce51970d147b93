//! Appending text, quoted text and integers to a message.

use crate::ir::typed::{Text, routine};
use crate::lower::routines::memory::{MAX_TEXT, MessageBuffer, slice};

/// Ellipsis at the end of a message that was cut off.
const CUT: &str = "…";

/// Largest size of a message in bytes.
const CAPACITY: u64 = MAX_TEXT as u64;

/// Offset of [`CUT`] in a full message.
const CUT_AT: u64 = CAPACITY - CUT.len() as u64;

/// Largest number of bytes that remain of a UTF-8 character whose end is overwritten.
const REST: u64 = 3;

/// Appends text. A message that becomes too long is cut off and ends in [`CUT`].
#[routine]
pub(crate) fn put(s: &MessageBuffer, text: Text) {
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

/// Writes [`CUT`] at the end of a full message. If it overwrites the end of a character, the remaining bytes of that
/// character become dots.
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

/// Returns true if a byte is a UTF-8 continuation byte.
#[routine(inline)]
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Appends a signed integer in decimal.
#[routine]
pub(crate) fn put_int(s: &MessageBuffer, value: i64) {
    if value < 0 {
        put(s, "-");
    }
    let magnitude = if value < 0 { -value } else { value };
    put_unsigned(s, magnitude as u64);
}

/// Size of the buffer for the digits of a `u64`, which has at most 20.
const DIGITS: u64 = 24;

/// Appends an unsigned integer in decimal. Digits are generated from the last to the first.
#[routine]
pub(crate) fn put_unsigned(s: &MessageBuffer, value: u64) {
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

/// Largest number of bytes of a quoted text; the rest is elided.
const QUOTED: u64 = 64;

/// Appends text in quotes. Quotes, backslashes, control characters and bytes that are not well-formed UTF-8 are
/// escaped. `...` stands for the end of a text of more than [`QUOTED`] bytes.
#[routine]
pub(crate) fn put_quoted(s: &MessageBuffer, text: Text) {
    put(s, "\"");
    let count = if text.len > QUOTED { QUOTED } else { text.len };
    let mut at: u64 = 0;
    while at < count {
        let from = &text.data[at];
        let size = character(from, text.len - at);
        if size != 0 {
            put(s, slice(from, size));
        } else {
            put_byte(s, *from as u64);
        }
        at += if size != 0 { size } else { 1 };
    }
    if text.len > QUOTED {
        put(s, "...");
    }
    put(s, "\"");
}

/// Appends text without quotes. Bytes that are not well-formed UTF-8, which a message must be, are escaped.
#[routine]
pub(crate) fn put_unquoted(s: &MessageBuffer, text: Text) {
    let mut at: u64 = 0;
    while at < text.len {
        let from = &text.data[at];
        let mut size: u64 = 1;
        if *from >= 0x80 {
            size = character(from, text.len - at);
        }
        if size != 0 {
            put(s, slice(from, size));
        } else {
            put_byte(s, *from as u64);
        }
        at += if size != 0 { size } else { 1 };
    }
}

/// Appends a byte: printable ASCII but for quote and backslash as it is, all else as `\xNN`.
#[routine(inline)]
fn put_byte(s: &MessageBuffer, byte: u64) {
    if is_within(byte, 0x20, 0x7e) && byte != 0x22 && byte != 0x5c {
        let plain: u8;
        *plain = byte as u8;
        put(s, slice(plain, 1));
    } else {
        let digits = "0123456789abcdef";
        put(s, "\\x");
        put(s, slice(&digits.data[byte >> 4], 1));
        put(s, slice(&digits.data[byte & 15], 1));
    }
}

/// Returns the size of the multi-byte character at `from`, where `left` bytes are left. Returns 0 if there is none, or
/// if it is a control character. The ranges are those of table 3-7, well-formed UTF-8 byte sequences, of the Unicode
/// standard.
#[routine(inline)]
fn character(from: &u8, left: u64) -> u64 {
    let lead = *from;
    let size: u64 = match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 0,
    };
    if size == 0 || size > left {
        return 0;
    }
    // After 0xc2 the range starts at 0xa0, since U+0080 to U+009F are control characters.
    let low: u8 = match lead {
        0xc2 | 0xe0 => 0xa0,
        0xf0 => 0x90,
        _ => 0x80,
    };
    let high: u8 = match lead {
        0xed => 0x9f,
        0xf4 => 0x8f,
        _ => 0xbf,
    };
    let second = from[1];
    if second < low || second > high {
        return 0;
    }
    for at in 2..size {
        if !continues(from[at]) {
            return 0;
        }
    }
    size
}

/// Returns true if a number is in `first..=last`.
#[routine(inline)]
fn is_within(value: u64, first: u64, last: u64) -> bool {
    value - first <= last - first
}
