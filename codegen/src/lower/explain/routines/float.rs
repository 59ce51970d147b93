//! Floating-point numbers in messages: the shortest digits that read back as the same number.
//!
//! Exact, by the method of Steele and White on big integers of [`WORDS`] words. It is slow and small,
//! which is what a message needs. The text is that of Rust's `{:?}`: a point and a digit after it, and
//! an exponent below 1e-4 and from 1e16.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// Words of 32 bits in a big integer: enough for 2^1074 times a few digits.
const WORDS: i64 = 40;
const MANTISSA: i64 = 52;
const INFINITY: i64 = 0x7ff << MANTISSA;
/// More than any shortest representation has.
const MAX_DIGITS: u32 = 24;

/// The number is `numerator / denominator`; another one reads back the same if it is less than `below`
/// smaller or `above` larger, in units of the denominator.
#[derive(Clone, Copy)]
struct Ratio {
    numerator: Value,
    denominator: Value,
    below: Value,
    above: Value,
    zero: Value,
    /// `Bool`: the bounds themselves read back the same too.
    inclusive: Value,
}

/// `(state, value)`: appends a float.
pub(crate) fn put_float(b: &mut Builder<'_>, _: Used) {
    let [s, value] = [0, 1].map(|i| b.param(i));
    let bits = b.convert(Convert::Bitcast, value, Type::I64);
    let magnitude = b.binary_const(Binary::And, bits, i64::MAX);
    let nan = b.compare_const(Cond::Sgt, magnitude, INFINITY);
    say_and_return(b, s, nan, "NaN");
    let negative = b.compare_const(Cond::Slt, bits, 0);
    b.if_then(negative, |b| b.say(s, "-"));
    let infinite = b.compare_const(Cond::Eq, magnitude, INFINITY);
    say_and_return(b, s, infinite, "inf");
    let zero = b.compare_const(Cond::Eq, magnitude, 0);
    say_and_return(b, s, zero, "0.0");
    b.routine(Routine::PutDigits, &[s, magnitude]);
    b.ret(None);
}

fn say_and_return(b: &mut Builder<'_>, s: Value, cond: Value, text: &str) {
    b.if_then(cond, |b| {
        b.say(s, text);
        b.ret(None);
    });
}

/// `(state, bits)`: appends a positive number.
pub(crate) fn put_digits(b: &mut Builder<'_>, _: Used) {
    let [s, magnitude] = [0, 1].map(|i| b.param(i));
    let ratio = ratio(b, magnitude);
    let point = scale(b, ratio);
    let digits = b.stack_slot(MAX_DIGITS, 8);
    let count = generate(b, ratio, digits);
    layout(b, s, [digits, count, point]);
}

/// A big integer of one word pair.
fn big(b: &mut Builder<'_>, value: Value) -> Value {
    let number = b.stack_slot(4 * WORDS as u32, 8);
    let pairs = b.i64(WORDS / 2);
    let zero = b.i64(0);
    b.count_to(pairs, |b, at| {
        let to = b.element(number, at);
        b.store(zero, to, 0);
    });
    b.store(value, number, 0);
    number
}

/// Multiplies a big integer by a power of two.
fn shift(b: &mut Builder<'_>, number: Value, power: Value) {
    b.repeat(
        [power],
        |b, [rest]| b.compare_const(Cond::Sgt, rest, 0),
        |b, [rest]| {
            let most = b.i64(28);
            let less = b.compare(Cond::Slt, rest, most);
            let step = b.select(less, rest, most);
            let one = b.i64(1);
            let factor = b.binary(Binary::Shl, one, step);
            b.routine(Routine::BigScale, &[number, factor]);
            [b.binary(Binary::Sub, rest, step)]
        },
    );
}

/// The number as a ratio of integers, with the distances to the middle of its neighbours. All is
/// doubled once, and twice where the lower neighbour is nearer, so that the distances are integers.
fn ratio(b: &mut Builder<'_>, magnitude: Value) -> Ratio {
    let field = b.binary_const(Binary::Lshr, magnitude, MANTISSA);
    let fraction = b.binary_const(Binary::And, magnitude, (1 << MANTISSA) - 1);
    let normal = b.compare_const(Cond::Ne, field, 0);
    let leading = b.binary_const(Binary::Or, fraction, 1 << MANTISSA);
    let significand = b.select(normal, leading, fraction);
    let (zero, one) = (b.i64(0), b.i64(1));
    let field = b.select(normal, field, one);
    let exponent = b.binary_const(Binary::Sub, field, 1023 + MANTISSA);
    let boundary = b.compare_const(Cond::Eq, fraction, 0);
    let above_least = b.compare_const(Cond::Sgt, field, 1);
    let boundary = b.and(boundary, above_least);
    let closer = b.truth(boundary);
    let positive = b.compare_const(Cond::Sgt, exponent, 0);
    let up = b.select(positive, exponent, zero);
    let negated = b.binary(Binary::Sub, zero, exponent);
    let down = b.select(positive, zero, negated);
    let doublings = b.binary(Binary::Add, closer, one);
    let [numerator, denominator, below, above, empty] =
        [significand, one, one, one, zero].map(|value| big(b, value));
    let numerator_power = b.binary(Binary::Add, up, doublings);
    let denominator_power = b.binary(Binary::Add, down, doublings);
    let above_power = b.binary(Binary::Add, up, closer);
    shift(b, numerator, numerator_power);
    shift(b, denominator, denominator_power);
    shift(b, below, up);
    shift(b, above, above_power);
    let odd = b.and(significand, one);
    let inclusive = b.compare_const(Cond::Eq, odd, 0);
    Ratio { numerator, denominator, below, above, zero: empty, inclusive }
}

impl Ratio {
    /// Whether `numerator + above` reaches the denominator, so that rounding up is allowed.
    fn reaches(self, b: &mut Builder<'_>) -> Value {
        let args = [self.numerator, self.above, self.denominator];
        self.beyond(b, args, Cond::Sgt)
    }

    /// Whether `numerator` is below the lower distance, so that rounding down is allowed.
    fn within(self, b: &mut Builder<'_>) -> Value {
        self.beyond(b, [self.numerator, self.zero, self.below], Cond::Slt)
    }

    /// Whether a sum differs from a number as `cond` says, or is the same and that counts.
    fn beyond(self, b: &mut Builder<'_>, args: [Value; 3], cond: Cond) -> Value {
        let sign = b.routine_value(Routine::BigCompare, &args);
        let strictly = b.compare_const(cond, sign, 0);
        let equal = b.compare_const(Cond::Eq, sign, 0);
        let equal = b.and(equal, self.inclusive);
        b.or(strictly, equal)
    }

    /// Multiplies the number and its distances by ten.
    fn times_ten(self, b: &mut Builder<'_>) {
        let ten = b.i64(10);
        for number in [self.numerator, self.below, self.above] {
            b.routine(Routine::BigScale, &[number, ten]);
        }
    }
}

/// Finds the power of ten for which the number is `0.d…` times it, and scales by it. The ratio is multiplied by
/// ten once more, for the first digit.
fn scale(b: &mut Builder<'_>, ratio: Ratio) -> Value {
    let zero = b.i64(0);
    let [point] = b.repeat(
        [zero],
        |b, _| ratio.reaches(b),
        |b, [point]| {
            let ten = b.i64(10);
            b.routine(Routine::BigScale, &[ratio.denominator, ten]);
            [b.binary_const(Binary::Add, point, 1)]
        },
    );
    // Ten times the number is tried, and kept while it stays below one.
    let [point] = b.repeat(
        [point],
        |b, _| {
            ratio.times_ten(b);
            let enough = ratio.reaches(b);
            b.not(enough)
        },
        |b, [point]| [b.binary_const(Binary::Sub, point, 1)],
    );
    point
}

/// Generates digits until the number is told from its neighbours; how many.
fn generate(b: &mut Builder<'_>, ratio: Ratio, digits: Value) -> Value {
    let zero = b.i64(0);
    let next = b.block("digit");
    let count = b.block_param(next, Type::I64, "count");
    b.jump(next, &[zero]);
    b.switch_to(next);
    let [digit] = b.repeat(
        [zero],
        |b, _| {
            let args = [ratio.numerator, ratio.zero, ratio.denominator];
            let sign = b.routine_value(Routine::BigCompare, &args);
            b.compare_const(Cond::Sge, sign, 0)
        },
        |b, [digit]| {
            b.routine(Routine::BigSubtract, &[ratio.numerator, ratio.denominator]);
            [b.binary_const(Binary::Add, digit, 1)]
        },
    );
    let (down, up) = (ratio.within(b), ratio.reaches(b));
    let last = b.or(down, up);
    let to = b.ptr_add(digits, count);
    let after = b.binary_const(Binary::Add, count, 1);
    b.unless(last, |b| {
        store_digit(b, digit, to);
        ratio.times_ten(b);
        b.jump(next, &[after]);
    });
    // Where both are allowed the nearer one wins, half up.
    let args = [ratio.numerator, ratio.numerator, ratio.denominator];
    let half = b.routine_value(Routine::BigCompare, &args);
    let nearer_up = b.compare_const(Cond::Sge, half, 0);
    let not_down = b.not(down);
    let preferred = b.or(not_down, nearer_up);
    let round_up = b.and(up, preferred);
    let one = b.truth(round_up);
    let digit = b.binary(Binary::Add, digit, one);
    store_digit(b, digit, to);
    after
}

fn store_digit(b: &mut Builder<'_>, digit: Value, to: Value) {
    let character = b.binary_const(Binary::Add, digit, b'0'.into());
    let character = b.convert(Convert::Trunc, character, Type::I8);
    b.store(character, to, 0);
}

/// Writes `0.d…` times ten to the power of `point`, and returns.
fn layout(b: &mut Builder<'_>, s: Value, [digits, count, point]: [Value; 3]) {
    let high = b.compare_const(Cond::Sgt, point, 16);
    let low = b.compare_const(Cond::Slt, point, -3);
    let scientific = b.or(high, low);
    let one = b.i64(1);
    b.if_then(scientific, |b| {
        b.routine(Routine::Put, &[s, digits, one]);
        let several = b.compare(Cond::Sgt, count, one);
        b.if_then(several, |b| {
            b.say(s, ".");
            put_from(b, s, [digits, count], one);
        });
        b.say(s, "e");
        let exponent = b.binary_const(Binary::Sub, point, 1);
        b.routine(Routine::PutInt, &[s, exponent]);
        b.ret(None);
    });
    let small = b.compare_const(Cond::Sle, point, 0);
    b.if_then(small, |b| {
        b.say(s, "0.");
        let zero = b.i64(0);
        let zeros = b.binary(Binary::Sub, zero, point);
        b.count_to(zeros, |b, _| b.say(s, "0"));
        b.routine(Routine::Put, &[s, digits, count]);
        b.ret(None);
    });
    let fewer = b.compare(Cond::Slt, count, point);
    let whole = b.select(fewer, count, point);
    b.routine(Routine::Put, &[s, digits, whole]);
    let zeros = b.binary(Binary::Sub, point, whole);
    b.count_to(zeros, |b, _| b.say(s, "0"));
    b.say(s, ".");
    let fraction = b.compare(Cond::Sgt, count, whole);
    b.unless(fraction, |b| {
        b.say(s, "0");
        b.ret(None);
    });
    put_from(b, s, [digits, count], whole);
    b.ret(None);
}

/// Appends the digits from number `from`.
fn put_from(b: &mut Builder<'_>, s: Value, [digits, count]: [Value; 2], from: Value) {
    let start = b.ptr_add(digits, from);
    let length = b.binary(Binary::Sub, count, from);
    b.routine(Routine::Put, &[s, start, length]);
}

/// Runs `body` with the address of each word of some big integers, and the word, and with a carry; the last
/// carry, and what `body` has gathered.
fn each_word<const N: usize>(
    b: &mut Builder<'_>,
    numbers: [Value; N],
    body: impl FnOnce(&mut Builder<'_>, [(Value, Value); N], [Value; 2]) -> [Value; 2],
) -> [Value; 2] {
    let (zero, words) = (b.i64(0), b.i64(WORDS));
    b.fold(words, [zero, zero], |b, at, carried| {
        let offset = b.binary_const(Binary::Shl, at, 2);
        let words = numbers.map(|number| {
            let at = b.ptr_add(number, offset);
            (at, b.unsigned(at, 0))
        });
        body(b, words, carried)
    })
}

fn store_word(b: &mut Builder<'_>, value: Value, to: Value) {
    let word = b.convert(Convert::Trunc, value, Type::I32);
    b.store(word, to, 0);
}

/// `(number, factor)`: multiplies a big integer by less than 2^31.
pub(crate) fn big_scale(b: &mut Builder<'_>, _: Used) {
    let [number, factor] = [0, 1].map(|i| b.param(i));
    each_word(b, [number], |b, [(at, word)], [carry, rest]| {
        let product = b.binary(Binary::Mul, word, factor);
        let sum = b.binary(Binary::Add, product, carry);
        store_word(b, sum, at);
        [b.binary_const(Binary::Lshr, sum, 32), rest]
    });
    b.ret(None);
}

/// `(a, b, c)`: the sign of `a + b - c`.
pub(crate) fn big_compare(b: &mut Builder<'_>, _: Used) {
    let numbers = [0, 1, 2].map(|i| b.param(i));
    let [carry, any] = each_word(b, numbers, |b, [(_, x), (_, y), (_, z)], [carry, seen]| {
        let sum = b.binary(Binary::Add, x, y);
        let difference = b.binary(Binary::Sub, sum, z);
        let total = b.binary(Binary::Add, difference, carry);
        let low = b.binary_const(Binary::And, total, 0xffff_ffff);
        [b.binary_const(Binary::Ashr, total, 32), b.or(seen, low)]
    });
    let negative = b.compare_const(Cond::Slt, carry, 0);
    let rest = b.or(carry, any);
    let some = b.compare_const(Cond::Ne, rest, 0);
    let some = b.widen_bool(some, Type::I32);
    let minus = b.i32(-1);
    let sign = b.select(negative, minus, some);
    b.ret(Some(sign));
}

/// `(a, b)`: subtracts `b` from `a`, which is not less.
pub(crate) fn big_subtract(b: &mut Builder<'_>, _: Used) {
    let numbers = [0, 1].map(|i| b.param(i));
    each_word(b, numbers, |b, [(to, x), (_, y)], [borrow, rest]| {
        let difference = b.binary(Binary::Sub, x, y);
        let total = b.binary(Binary::Add, difference, borrow);
        store_word(b, total, to);
        [b.binary_const(Binary::Ashr, total, 32), rest]
    });
    b.ret(None);
}
