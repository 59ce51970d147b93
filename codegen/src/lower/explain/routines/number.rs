//! Numbers in explanations: ranges and rounding.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::routines::Routine;

/// Whether a number fits an integer type of so many bits.
pub(crate) fn fits(b: &mut Builder<'_>, value: Value, bits: Value, is_signed: Value) -> Value {
    // What is left above the value bits must be all zeros, or all ones of a signed type.
    let one = b.i64(1);
    let lower = b.binary(Binary::Sub, bits, one);
    // A shift by 64 is not defined; for uint64 the sign bit decides.
    let value_bits = b.select(is_signed, lower, bits);
    let wide = b.compare_const(Cond::Eq, value_bits, 64);
    let value_bits = b.select(wide, lower, value_bits);
    let value_bits = b.binary_const(Binary::And, value_bits, 63);
    let above = b.binary(Binary::Ashr, value, value_bits);
    let zeros = b.compare_const(Cond::Eq, above, 0);
    let ones = b.compare_const(Cond::Eq, above, -1);
    let ones = b.and(ones, is_signed);
    b.or(zeros, ones)
}

/// A `float64` to `float32` and back.
pub(crate) fn round_single(b: &mut Builder<'_>, bits: Value) -> Value {
    let value = b.convert(Convert::Bitcast, bits, Type::F64);
    let single = b.convert(Convert::Demote, value, Type::F32);
    b.convert(Convert::Promote, single, Type::F64)
}

/// A `float64` to a 16-bit float and back; the format as in [`half`](super::half).
pub(crate) fn round_half(b: &mut Builder<'_>, bits: Value, [mantissa, bias]: [Value; 2]) -> Value {
    let half = b.routine_value(Routine::RoundHalf, &[bits, mantissa, bias]);
    let half = b.convert(Convert::Zext, half, Type::I64);
    b.routine_value(Routine::WidenHalf, &[half, mantissa, bias])
}
