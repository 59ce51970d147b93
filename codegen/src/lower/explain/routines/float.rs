//! Floating-point numbers in messages: the shortest digits that read back as the same number.
//!
//! Exact, by the method of Steele and White on big integers of [`WORDS`] words. It is slow and small,
//! which is what a message needs. The text is that of Rust's `{:?}`: a point and a digit after it, and
//! an exponent below 1e-4 and from 1e16.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, Variable};

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

/// `(state, value)`
pub(crate) fn put_float(c: &mut Code<'_>) {
    let (s, value) = (c.state(), c.b.param(1));
    let bits = c.b.convert(Convert::Bitcast, value, Type::I64);
    let magnitude = c.b.binary_const(Binary::And, bits, i64::MAX);
    let nan = c.b.compare_const(Cond::Sgt, magnitude, INFINITY);
    say_and_return(c, s, nan, "NaN");
    let negative = c.b.compare_const(Cond::Slt, bits, 0);
    c.when(negative, |c| c.say(s, "-"));
    let infinite = c.b.compare_const(Cond::Eq, magnitude, INFINITY);
    say_and_return(c, s, infinite, "inf");
    let zero = c.b.compare_const(Cond::Eq, magnitude, 0);
    say_and_return(c, s, zero, "0.0");
    let ratio = ratio(c, magnitude);
    let nothing = c.b.i64(0);
    let point = c.variable(nothing);
    scale(c, ratio, point);
    let digits = c.b.stack_slot(MAX_DIGITS, 8);
    let count = c.variable(nothing);
    generate(c, ratio, digits, count);
    let (count, point) = (c.get(count), c.get(point));
    layout(c, s, digits, count, point);
}

fn say_and_return(c: &mut Code<'_>, s: Value, cond: Value, text: &str) {
    c.when(cond, |c| {
        c.say(s, text);
        c.b.ret(None);
    });
}

/// A big integer of one word pair.
fn big(c: &mut Code<'_>, value: Value) -> Value {
    let number = c.b.stack_slot(4 * WORDS as u32, 8);
    let zero = c.b.i64(0);
    for pair in 1..WORDS / 2 {
        c.b.store(zero, number, 8 * pair as i32);
    }
    c.b.store(value, number, 0);
    number
}

/// Multiplies a big integer by a power of two.
fn shift(c: &mut Code<'_>, number: Value, power: Value) {
    let rest = c.variable(power);
    c.repeat(
        |c| {
            let rest = c.get(rest);
            c.b.compare_const(Cond::Sgt, rest, 0)
        },
        |c| {
            let left = c.get(rest);
            let most = c.b.i64(28);
            let less = c.b.compare(Cond::Slt, left, most);
            let step = c.b.select(less, left, most);
            let one = c.b.i64(1);
            let factor = c.b.binary(Binary::Shl, one, step);
            c.call(Routine::BigScale, &[number, factor]);
            let left = c.b.binary(Binary::Sub, left, step);
            c.set(rest, left);
        },
    );
}

/// The number as a ratio of integers, with the distances to the middle of its neighbours. All is
/// doubled once, and twice where the lower neighbour is nearer, so that the distances are integers.
fn ratio(c: &mut Code<'_>, magnitude: Value) -> Ratio {
    let field = c.b.binary_const(Binary::Lshr, magnitude, MANTISSA);
    let fraction = c.b.binary_const(Binary::And, magnitude, (1 << MANTISSA) - 1);
    let normal = c.b.compare_const(Cond::Ne, field, 0);
    let leading = c.b.binary_const(Binary::Or, fraction, 1 << MANTISSA);
    let significand = c.b.select(normal, leading, fraction);
    let one = c.b.i64(1);
    let field = c.b.select(normal, field, one);
    let exponent = c.b.binary_const(Binary::Sub, field, 1023 + MANTISSA);
    let boundary = c.b.compare_const(Cond::Eq, fraction, 0);
    let above_least = c.b.compare_const(Cond::Sgt, field, 1);
    let boundary = c.b.and(boundary, above_least);
    let closer = c.b.widen_bool(boundary, Type::I64);
    let zero = c.b.i64(0);
    let positive = c.b.compare_const(Cond::Sgt, exponent, 0);
    let up = c.b.select(positive, exponent, zero);
    let negated = c.b.binary(Binary::Sub, zero, exponent);
    let down = c.b.select(positive, zero, negated);
    let doublings = c.b.binary(Binary::Add, closer, one);
    let [numerator, denominator] = [significand, one].map(|value| big(c, value));
    let [below, above, empty] = [one, one, zero].map(|value| big(c, value));
    let power = c.b.binary(Binary::Add, up, doublings);
    shift(c, numerator, power);
    let power = c.b.binary(Binary::Add, down, doublings);
    shift(c, denominator, power);
    shift(c, below, up);
    let power = c.b.binary(Binary::Add, up, closer);
    shift(c, above, power);
    let odd = c.b.and(significand, one);
    let inclusive = c.b.compare_const(Cond::Eq, odd, 0);
    Ratio { numerator, denominator, below, above, zero: empty, inclusive }
}

impl Ratio {
    /// Whether `numerator + above` reaches the denominator, so that rounding up is allowed.
    fn reaches(self, c: &mut Code<'_>) -> Value {
        let sign =
            c.call_value(Routine::BigCompare, &[self.numerator, self.above, self.denominator]);
        let more = c.b.compare_const(Cond::Sgt, sign, 0);
        let equal = c.b.compare_const(Cond::Eq, sign, 0);
        let equal = c.b.and(equal, self.inclusive);
        c.b.or(more, equal)
    }

    /// Whether `numerator` is below the lower distance, so that rounding down is allowed.
    fn within(self, c: &mut Code<'_>) -> Value {
        let sign = c.call_value(Routine::BigCompare, &[self.numerator, self.zero, self.below]);
        let less = c.b.compare_const(Cond::Slt, sign, 0);
        let equal = c.b.compare_const(Cond::Eq, sign, 0);
        let equal = c.b.and(equal, self.inclusive);
        c.b.or(less, equal)
    }

    /// Multiplies the number and its distances by ten.
    fn times_ten(self, c: &mut Code<'_>) {
        let ten = c.b.i64(10);
        for number in [self.numerator, self.below, self.above] {
            c.call(Routine::BigScale, &[number, ten]);
        }
    }
}

/// Finds the power of ten, `point`, for which the number is `0.d…` times it, and scales by it.
fn scale(c: &mut Code<'_>, ratio: Ratio, point: Variable) {
    c.repeat(
        |c| ratio.reaches(c),
        |c| {
            let ten = c.b.i64(10);
            c.call(Routine::BigScale, &[ratio.denominator, ten]);
            c.add_to(point, 1);
        },
    );
    // Ten times the number is tried, and kept while it stays below one.
    let done = c.b.block("scaled");
    let try_ten = c.b.block("try_ten");
    c.b.jump(try_ten, &[]);
    c.b.switch_to(try_ten);
    ratio.times_ten(c);
    let enough = ratio.reaches(c);
    let again = c.b.block("again");
    c.b.branch(enough, done, again);
    c.b.switch_to(again);
    c.add_to(point, -1);
    c.b.jump(try_ten, &[]);
    c.b.switch_to(done);
}

/// Generates digits until the number is told from its neighbours. The ratio has been multiplied by ten
/// for the first one.
fn generate(c: &mut Code<'_>, ratio: Ratio, digits: Value, count: Variable) {
    let zero = c.b.i64(0);
    let digit = c.variable(zero);
    let (next, done) = (c.b.block("digit"), c.b.block("digits"));
    c.b.jump(next, &[]);
    c.b.switch_to(next);
    c.set(digit, zero);
    c.repeat(
        |c| {
            let args = [ratio.numerator, ratio.zero, ratio.denominator];
            let sign = c.call_value(Routine::BigCompare, &args);
            c.b.compare_const(Cond::Sge, sign, 0)
        },
        |c| {
            c.call(Routine::BigSubtract, &[ratio.numerator, ratio.denominator]);
            c.add_to(digit, 1);
        },
    );
    let (down, up) = (ratio.within(c), ratio.reaches(c));
    let last = c.b.or(down, up);
    let (more, finish) = (c.b.block("more"), c.b.block("last"));
    c.b.branch(last, finish, more);
    c.b.switch_to(more);
    store_digit(c, digits, digit, count);
    ratio.times_ten(c);
    c.b.jump(next, &[]);
    c.b.switch_to(finish);
    // Where both are allowed the nearer one wins, half up.
    let args = [ratio.numerator, ratio.numerator, ratio.denominator];
    let half = c.call_value(Routine::BigCompare, &args);
    let nearer_up = c.b.compare_const(Cond::Sge, half, 0);
    let not_down = c.b.not(down);
    let preferred = c.b.or(not_down, nearer_up);
    let round_up = c.b.and(up, preferred);
    let one = c.b.widen_bool(round_up, Type::I64);
    let value = c.get(digit);
    let value = c.b.binary(Binary::Add, value, one);
    c.set(digit, value);
    store_digit(c, digits, digit, count);
    c.b.jump(done, &[]);
    c.b.switch_to(done);
}

fn store_digit(c: &mut Code<'_>, digits: Value, digit: Variable, count: Variable) {
    let value = c.get(digit);
    let value = c.b.binary_const(Binary::Add, value, b'0'.into());
    let value = c.b.convert(Convert::Trunc, value, Type::I8);
    let at = c.get(count);
    let to = c.b.ptr_add(digits, at);
    c.b.store(value, to, 0);
    c.add_to(count, 1);
}

/// Writes `0.d…` times ten to the power of `point`.
fn layout(c: &mut Code<'_>, s: Value, digits: Value, count: Value, point: Value) {
    let high = c.b.compare_const(Cond::Sgt, point, 16);
    let low = c.b.compare_const(Cond::Slt, point, -3);
    let scientific = c.b.or(high, low);
    c.when(scientific, |c| {
        let one = c.b.i64(1);
        c.call(Routine::Put, &[s, digits, one]);
        let several = c.b.compare(Cond::Sgt, count, one);
        c.when(several, |c| {
            c.say(s, ".");
            put_from(c, s, digits, count, one);
        });
        c.say(s, "e");
        let exponent = c.b.binary_const(Binary::Sub, point, 1);
        c.call(Routine::PutInt, &[s, exponent]);
        c.b.ret(None);
    });
    let small = c.b.compare_const(Cond::Sle, point, 0);
    c.when(small, |c| {
        c.say(s, "0.");
        let zero = c.b.i64(0);
        let zeros = c.b.binary(Binary::Sub, zero, point);
        c.count_to(zeros, |c, _| c.say(s, "0"));
        c.call(Routine::Put, &[s, digits, count]);
        c.b.ret(None);
    });
    let fewer = c.b.compare(Cond::Slt, count, point);
    let whole = c.b.select(fewer, count, point);
    c.call(Routine::Put, &[s, digits, whole]);
    let zeros = c.b.binary(Binary::Sub, point, whole);
    c.count_to(zeros, |c, _| c.say(s, "0"));
    c.say(s, ".");
    let fraction = c.b.compare(Cond::Sgt, count, whole);
    c.when(fraction, |c| {
        put_from(c, s, digits, count, whole);
        c.b.ret(None);
    });
    c.say(s, "0");
    c.b.ret(None);
}

/// Appends the digits from number `from`.
fn put_from(c: &mut Code<'_>, s: Value, digits: Value, count: Value, from: Value) {
    let start = c.b.ptr_add(digits, from);
    let length = c.b.binary(Binary::Sub, count, from);
    c.call(Routine::Put, &[s, start, length]);
}

/// The address of word `at`.
fn word_at(c: &mut Code<'_>, number: Value, at: Value) -> Value {
    let offset = c.b.binary_const(Binary::Shl, at, 2);
    c.b.ptr_add(number, offset)
}

fn store_word(c: &mut Code<'_>, value: Value, to: Value) {
    let word = c.b.convert(Convert::Trunc, value, Type::I32);
    c.b.store(word, to, 0);
}

/// `(number, factor)`: multiplies a big integer by less than 2^31.
pub(crate) fn big_scale(c: &mut Code<'_>) {
    let [number, factor] = [0, 1].map(|i| c.b.param(i));
    let zero = c.b.i64(0);
    let carry = c.variable(zero);
    let words = c.b.i64(WORDS);
    c.count_to(words, |c, at| {
        let at = word_at(c, number, at);
        let word = c.word(at, 0);
        let product = c.b.binary(Binary::Mul, word, factor);
        let before = c.get(carry);
        let sum = c.b.binary(Binary::Add, product, before);
        store_word(c, sum, at);
        let high = c.b.binary_const(Binary::Lshr, sum, 32);
        c.set(carry, high);
    });
    c.b.ret(None);
}

/// `(a, b, c)`: the sign of `a + b - c`.
pub(crate) fn big_compare(c: &mut Code<'_>) {
    let [first, second, third] = [0, 1, 2].map(|i| c.b.param(i));
    let zero = c.b.i64(0);
    let (carry, any) = (c.variable(zero), c.variable(zero));
    let words = c.b.i64(WORDS);
    c.count_to(words, |c, at| {
        let [a, b, d] = [first, second, third].map(|number| {
            let at = word_at(c, number, at);
            c.word(at, 0)
        });
        let sum = c.b.binary(Binary::Add, a, b);
        let difference = c.b.binary(Binary::Sub, sum, d);
        let before = c.get(carry);
        let total = c.b.binary(Binary::Add, difference, before);
        let low = c.b.binary_const(Binary::And, total, 0xffff_ffff);
        let seen = c.get(any);
        let seen = c.b.or(seen, low);
        c.set(any, seen);
        let high = c.b.binary_const(Binary::Ashr, total, 32);
        c.set(carry, high);
    });
    let (carry, any) = (c.get(carry), c.get(any));
    let negative = c.b.compare_const(Cond::Slt, carry, 0);
    let rest = c.b.or(carry, any);
    let some = c.b.compare_const(Cond::Ne, rest, 0);
    let some = c.b.widen_bool(some, Type::I32);
    let minus = c.b.i32(-1);
    let sign = c.b.select(negative, minus, some);
    c.b.ret(Some(sign));
}

/// `(a, b)`: subtracts `b` from `a`, which is not less.
pub(crate) fn big_subtract(c: &mut Code<'_>) {
    let [from, number] = [0, 1].map(|i| c.b.param(i));
    let zero = c.b.i64(0);
    let borrow = c.variable(zero);
    let words = c.b.i64(WORDS);
    c.count_to(words, |c, at| {
        let to = word_at(c, from, at);
        let b = word_at(c, number, at);
        let (a, b) = (c.word(to, 0), c.word(b, 0));
        let difference = c.b.binary(Binary::Sub, a, b);
        let before = c.get(borrow);
        let total = c.b.binary(Binary::Add, difference, before);
        store_word(c, total, to);
        let high = c.b.binary_const(Binary::Ashr, total, 32);
        c.set(borrow, high);
    });
    c.b.ret(None);
}
