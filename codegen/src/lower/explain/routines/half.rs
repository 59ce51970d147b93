//! 16-bit floats, in integer arithmetic alone.
//!
//! A format is the number of its stored mantissa bits and its exponent bias: 10 and 15 for `float16`,
//! 7 and 127 for `bfloat16`. All ones in the exponent is infinity or NaN.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::Used;

const MANTISSA: i64 = 52;
const BIAS: i64 = 1023;
const INFINITY: i64 = 0x7ff << MANTISSA;

/// `(bits of an f64, mantissa bits, bias)`: the nearest value, ties to even; NaN stays NaN.
pub(crate) fn round(b: &mut Builder<'_>, _: Used) {
    let [bits, mantissa, bias] = [0, 1, 2].map(|i| b.param(i));
    let sign = b.binary_const(Binary::Lshr, bits, 63);
    let sign = b.binary_const(Binary::Shl, sign, 15);
    let magnitude = b.binary_const(Binary::And, bits, i64::MAX);
    let exponent = b.binary_const(Binary::Lshr, magnitude, MANTISSA);
    let exponent = b.binary_const(Binary::Sub, exponent, BIAS);
    let exponent = b.binary(Binary::Add, exponent, bias);
    // Below the smallest normal exponent the unit stays what it is there: more bits are dropped.
    let normal = b.compare_const(Cond::Sgt, exponent, 0);
    let one = b.i64(1);
    let field = b.select(normal, exponent, one);
    let below = b.binary(Binary::Sub, field, exponent);
    let kept = b.i64(MANTISSA);
    let dropped = b.binary(Binary::Sub, kept, mantissa);
    let shift = b.binary(Binary::Add, dropped, below);
    let far = b.compare_const(Cond::Sgt, shift, 62);
    let limit = b.i64(62);
    let shift = b.select(far, limit, shift);
    let significand = b.binary_const(Binary::And, magnitude, (1 << MANTISSA) - 1);
    let significand = b.binary_const(Binary::Or, significand, 1 << MANTISSA);
    let rounded = shift_to_even(b, significand, shift);
    // The significand of a normal result has its leading one, which adds one to the exponent field.
    let lower = b.binary(Binary::Sub, field, one);
    let lower = b.binary(Binary::Shl, lower, mantissa);
    let result = b.binary(Binary::Add, lower, rounded);
    let infinity = infinity(b, mantissa);
    let overflow = b.compare(Cond::Sgt, result, infinity);
    let result = b.select(overflow, infinity, result);
    let quiet = b.binary_const(Binary::Lshr, infinity, 1);
    let quiet = b.or(quiet, infinity);
    let nan = b.compare_const(Cond::Sgt, magnitude, INFINITY);
    let result = b.select(nan, quiet, result);
    let result = b.or(result, sign);
    let result = b.convert(Convert::Trunc, result, Type::I16);
    b.ret(Some(result));
}

/// `value >> shift`, rounded to nearest, ties to even.
fn shift_to_even(b: &mut Builder<'_>, value: Value, shift: Value) -> Value {
    let one = b.i64(1);
    let floor = b.binary(Binary::Lshr, value, shift);
    let unit = b.binary(Binary::Shl, one, shift);
    let mask = b.binary(Binary::Sub, unit, one);
    let rest = b.and(value, mask);
    let half = b.binary(Binary::Lshr, unit, one);
    let odd = b.and(floor, one);
    // rest + odd > half, which is "above half, or half and odd".
    let weighed = b.binary(Binary::Add, rest, odd);
    let up = b.compare(Cond::Ugt, weighed, half);
    let up = b.widen_bool(up, Type::I64);
    b.binary(Binary::Add, floor, up)
}

/// The bits of infinity: 15 bits without those of the mantissa.
fn infinity(b: &mut Builder<'_>, mantissa: Value) -> Value {
    let all = b.i64(0x7fff);
    let high = b.binary(Binary::Lshr, all, mantissa);
    b.binary(Binary::Shl, high, mantissa)
}

/// `(bits, mantissa bits, bias)`: the same value as an `f64`.
pub(crate) fn widen(b: &mut Builder<'_>, _: Used) {
    let [bits, mantissa, bias] = [0, 1, 2].map(|i| b.param(i));
    let infinity = infinity(b, mantissa);
    let sign = b.binary_const(Binary::Lshr, bits, 15);
    let sign = b.binary_const(Binary::Shl, sign, 63);
    let magnitude = b.binary_const(Binary::And, bits, 0x7fff);
    let kept = b.i64(MANTISSA);
    let shift = b.binary(Binary::Sub, kept, mantissa);
    let rebias = b.i64(BIAS);
    let rebias = b.binary(Binary::Sub, rebias, bias);
    let rebias = b.binary_const(Binary::Shl, rebias, MANTISSA);
    let shifted = b.binary(Binary::Shl, magnitude, shift);
    let normal = b.binary(Binary::Add, shifted, rebias);
    let special = b.binary_const(Binary::Or, shifted, INFINITY);
    let is_special = b.compare(Cond::Sge, magnitude, infinity);
    let normal = b.select(is_special, special, normal);
    // A subnormal is its mantissa times the unit 2^(1 - bias - mantissa bits).
    let exponent = b.i64(BIAS + 1);
    let exponent = b.binary(Binary::Sub, exponent, bias);
    let exponent = b.binary(Binary::Sub, exponent, mantissa);
    let unit = b.binary_const(Binary::Shl, exponent, MANTISSA);
    let unit = b.convert(Convert::Bitcast, unit, Type::F64);
    let count = b.convert(Convert::SintToFloat, magnitude, Type::F64);
    let subnormal = b.binary(Binary::Fmul, count, unit);
    let subnormal = b.convert(Convert::Bitcast, subnormal, Type::I64);
    let field = b.and(magnitude, infinity);
    let is_normal = b.compare_const(Cond::Ne, field, 0);
    let result = b.select(is_normal, normal, subnormal);
    let result = b.or(result, sign);
    let result = b.convert(Convert::Bitcast, result, Type::F64);
    b.ret(Some(result));
}
