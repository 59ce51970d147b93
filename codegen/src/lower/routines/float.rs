//! Floats in messages: the shortest decimal that reads back as the same `f64`.
//!
//! The method is that of Steele and White, exact arithmetic on big integers of [`WORDS`] words; messages need small
//! code, not speed. The format is that of Rust's `{:?}`: at least one digit after the point, and an exponent below 1e-4
//! and from 1e16.

use crate::ir::typed::{Bool, Int, Ref, handles, routine};
use crate::lower::routines::memory::{MessageBuffer, slice};
use crate::lower::routines::text::{put, put_int};

/// Number of 32-bit words of a big integer. The largest one is 2^1074 times ten, doubled twice.
const WORDS: u64 = 40;
/// Stored mantissa bits of an `f64`.
const MANTISSA: u64 = 52;
/// Bits of infinity.
const INFINITY: u64 = 0x7ff << MANTISSA;
/// Size of the buffer for digits; the shortest decimal of an `f64` has at most 17.
const MAX_DIGITS: u64 = 24;

handles! {
    /// The number `numerator / denominator` with its rounding interval. A decimal reads back as this number if it is
    /// smaller by less than `below / denominator` or larger by less than `above / denominator`.
    struct Ratio {
        numerator: Ref<u32>,
        denominator: Ref<u32>,
        below: Ref<u32>,
        above: Ref<u32>,
        /// The big integer 0, for comparisons.
        zero: Ref<u32>,
        /// True if the ends of the interval read back as this number, too.
        inclusive: Bool,
    }
    /// The decimal digits `d…` of the number `0.d…` times ten to the power of `point`.
    struct Digits {
        text: Ref<u8>,
        count: Int<i64>,
        point: Int<i64>,
    }
}

/// Appends a float.
#[routine]
pub(crate) fn put_float(s: &MessageBuffer, value: f64) {
    let bits = value.to_bits();
    let magnitude = bits & (u64::MAX >> 1);
    if magnitude > INFINITY {
        put(s, "NaN");
        return;
    }
    if bits != magnitude {
        put(s, "-");
    }
    match magnitude {
        INFINITY => put(s, "inf"),
        0 => put(s, "0.0"),
        _ => put_digits(s, magnitude),
    }
}

/// Appends a positive finite number, given by its bits.
#[routine]
pub(crate) fn put_digits(s: &MessageBuffer, bits: u64) {
    let ratio = ratio(bits);
    let point = scale(ratio);
    let text: [u8; MAX_DIGITS];
    let count = generate(ratio, text);
    layout(s, Digits { text, count, point });
}

/// Creates a big integer.
#[routine(inline)]
fn big(value: u64) -> &u32 {
    let number: [u64; WORDS / 2];
    for at in 0..WORDS / 2 {
        number[at] = 0;
    }
    *number = value;
    number as &u32
}

/// Multiplies a big integer by a power of two.
#[routine]
pub(crate) fn big_shift(number: &u32, power: u64) {
    let mut rest = power;
    while rest > 0 {
        let step = if rest < 28 { rest } else { 28 };
        big_scale(number, 1u64 << step);
        rest -= step;
    }
}

/// Splits a number, given by its bits, into a ratio of big integers with its rounding interval.
///
/// The ends of the interval lie halfway to the neighbours of the number. All four integers are doubled once, or twice
/// where the lower neighbour is nearer than the upper one, so that the half distances are integers.
#[routine(inline)]
fn ratio(bits: u64) -> Ratio {
    let field = bits >> MANTISSA;
    let fraction = bits & ((1u64 << MANTISSA) - 1);
    let significand = if field != 0 { fraction | (1u64 << MANTISSA) } else { fraction };
    let field = if field != 0 { field } else { 1 };
    let exponent = field as i64 - (1023 + MANTISSA as i64);
    let closer = (fraction == 0 && field > 1) as u64;
    let up = if exponent > 0 { exponent } else { 0 } as u64;
    let down = if exponent > 0 { 0 } else { -exponent } as u64;
    let numerator = big(significand);
    let denominator = big(1);
    let below = big(1);
    let above = big(1);
    big_shift(numerator, up + closer + 1);
    big_shift(denominator, down + closer + 1);
    big_shift(below, up);
    big_shift(above, up + closer);
    let inclusive = significand & 1 == 0;
    Ratio { numerator, denominator, below, above, zero: big(0), inclusive }
}

/// Returns true if `numerator + above` reaches the denominator: rounding up stays in the interval.
#[routine(inline)]
fn reaches(r: Ratio) -> bool {
    let sign = big_compare(r.numerator, r.above, r.denominator);
    sign > 0 || sign == 0 && r.inclusive
}

/// Returns true if `numerator` is less than `below`: rounding down stays in the interval.
#[routine(inline)]
fn is_within(r: Ratio) -> bool {
    let sign = big_compare(r.numerator, r.zero, r.below);
    sign < 0 || sign == 0 && r.inclusive
}

/// Multiplies the number and its interval by ten.
#[routine(inline)]
fn times_ten(r: Ratio) {
    big_scale(r.numerator, 10);
    big_scale(r.below, 10);
    big_scale(r.above, 10);
}

/// Scales the number to `0.d…` and returns the power of ten that it was divided by. The ratio is left multiplied by
/// ten, ready for the first digit.
#[routine(inline)]
fn scale(r: Ratio) -> i64 {
    let mut point: i64 = 0;
    while reaches(r) {
        big_scale(r.denominator, 10);
        point += 1;
    }
    // Each turn multiplies by ten. If the number stays below one, it had a leading zero.
    loop {
        times_ten(r);
        if reaches(r) {
            break;
        }
        point -= 1;
    }
    point
}

/// Generates digits until they lie in the rounding interval. Returns their number.
#[routine(inline)]
fn generate(r: Ratio, text: &u8) -> i64 {
    let mut count: i64 = 0;
    loop {
        let mut digit = b'0';
        while big_compare(r.numerator, r.zero, r.denominator) >= 0 {
            big_subtract(r.numerator, r.denominator);
            digit += 1;
        }
        let down = is_within(r);
        let up = reaches(r);
        if down || up {
            // If both roundings are in the interval, the nearer one is taken; if they are equally near, the upper one.
            let nearer_up = big_compare(r.numerator, r.numerator, r.denominator) >= 0;
            text[count] = digit + (up && (!down || nearer_up)) as u8;
            return count + 1;
        }
        text[count] = digit;
        count += 1;
        times_ten(r);
    }
}

/// Appends digits with a point, and with an exponent where the number is very small or large.
#[routine(inline)]
fn layout(s: &MessageBuffer, d: Digits) {
    if d.point > 16 || d.point < -3 {
        put(s, slice(d.text, 1));
        if d.count > 1 {
            put(s, ".");
            put_from(s, d, 1);
        }
        put(s, "e");
        put_int(s, d.point - 1);
        return;
    }
    if d.point <= 0 {
        put(s, "0.");
        put_zeros(s, -d.point);
        put_from(s, d, 0);
        return;
    }
    let whole = if d.count < d.point { d.count } else { d.point };
    put(s, slice(d.text, whole as u64));
    put_zeros(s, d.point - whole);
    put(s, ".");
    if d.count > whole {
        put_from(s, d, whole);
    } else {
        put(s, "0");
    }
}

#[routine(inline)]
fn put_zeros(s: &MessageBuffer, count: i64) {
    for _ in 0..count {
        put(s, "0");
    }
}

/// Appends the digits from index `from` on.
#[routine(inline)]
fn put_from(s: &MessageBuffer, d: Digits, from: i64) {
    put(s, slice(&d.text[from], (d.count - from) as u64));
}

/// Multiplies a big integer by a factor below 2^31.
#[routine]
pub(crate) fn big_scale(number: &u32, factor: u64) {
    let mut carry: u64 = 0;
    for at in 0..WORDS {
        carry += number[at] as u64 * factor;
        number[at] = carry as u32;
        carry >>= 32;
    }
}

/// Returns the sign of `x + y - z`.
#[routine]
pub(crate) fn big_compare(x: &u32, y: &u32, z: &u32) -> i32 {
    let mut carry: i64 = 0;
    let mut seen: i64 = 0;
    for at in 0..WORDS {
        carry += x[at] as i64 + y[at] as i64 - z[at] as i64;
        seen |= carry & 0xffff_ffff;
        carry >>= 32;
    }
    if carry < 0 { -1 } else { ((carry | seen) != 0) as i32 }
}

/// Subtracts `y` from `x`, which must be at least as large.
#[routine]
pub(crate) fn big_subtract(x: &u32, y: &u32) {
    let mut borrow: i64 = 0;
    for at in 0..WORDS {
        borrow += x[at] as i64 - y[at] as i64;
        x[at] = borrow as u32;
        borrow >>= 32;
    }
}
