//! Conversion of scalars between their C types and the 64-bit payloads of the FFI.
//!
//! 16-bit floats are converted by integer arithmetic in routines. A format is its number of stored mantissa bits and
//! its exponent bias: 10 and 15 for `float16`, 7 and 127 for `bfloat16`. An exponent of all ones is infinity or NaN.

use abi_spec::Scalar;

use crate::ir::typed::routine;
use crate::ir::{Builder, Convert, Linkage, Type, Value};
use crate::lower::operators::half_format;
use crate::lower::routines::Routine;

/// Stored mantissa bits, exponent bias and bits of infinity of an `f64`.
const MANTISSA: u64 = 52;
const BIAS: u64 = 1023;
const INFINITY: u64 = 0x7ff << MANTISSA;

/// Rounds an `f64`, given by its bits, to the nearest 16-bit float, ties to even. NaN stays NaN.
#[routine]
pub(crate) fn round_half(bits: u64, mantissa: u64, bias: u64) -> u16 {
    let sign = bits >> 63 << 15;
    let magnitude = bits & (u64::MAX >> 1);
    let exponent = (magnitude >> MANTISSA) as i64 - BIAS as i64 + bias as i64;
    // Subnormals share the exponent of the smallest normal number, so that more bits are dropped.
    let field = if exponent > 0 { exponent } else { 1 };
    let dropped = MANTISSA - mantissa + (field - exponent) as u64;
    let shift = if dropped > 62 { 62 } else { dropped };
    let significand = magnitude & ((1u64 << MANTISSA) - 1) | (1u64 << MANTISSA);
    // The leading one of a normal significand adds one to the exponent field.
    let result = ((field as u64 - 1) << mantissa) + shift_to_even(significand, shift);
    let infinity = infinity(mantissa);
    let result = if result > infinity { infinity } else { result };
    let result = if magnitude > INFINITY { infinity | infinity >> 1 } else { result };
    (result | sign) as u16
}

/// Returns `value >> shift`, rounded to nearest, ties to even.
#[routine(inline)]
fn shift_to_even(value: u64, shift: u64) -> u64 {
    let floor = value >> shift;
    let unit = 1 << shift;
    let rest = value & (unit - 1);
    // The sum exceeds half a unit if the rest does, or if the rest is half a unit and the floor is odd.
    let up = rest + (floor & 1) > unit >> 1;
    floor + up as u64
}

/// Returns the bits of infinity: all 15 bits but the mantissa.
#[routine(inline)]
fn infinity(mantissa: u64) -> u64 {
    0x7fff >> mantissa << mantissa
}

/// Converts the bits of a 16-bit float to an `f64`.
#[routine]
pub(crate) fn widen_half(bits: u64, mantissa: u64, bias: u64) -> f64 {
    let infinity = infinity(mantissa);
    let sign = bits >> 15 << 63;
    let magnitude = bits & 0x7fff;
    let shifted = magnitude << (MANTISSA - mantissa);
    let normal = shifted + ((BIAS - bias) << MANTISSA);
    let normal = if magnitude >= infinity { shifted | INFINITY } else { normal };
    // A subnormal is its mantissa times 2^(1 - bias - mantissa bits).
    let unit = (BIAS + 1 - bias - mantissa) << MANTISSA;
    let subnormal = (magnitude as i64 as f64 * unit.to_f64()).to_bits();
    let result = if magnitude & infinity != 0 { normal } else { subnormal };
    (result | sign).to_f64()
}

impl Builder<'_> {
    /// Converts a value of a C type to `I64`, `F64` or `Ptr`.
    pub(crate) fn widen(&mut self, native: Value, scalar: Scalar, linkage: Linkage) -> Value {
        match scalar {
            Scalar::Int64 | Scalar::Uint64 | Scalar::Float64 | Scalar::Ptr => native,
            Scalar::Int8 | Scalar::Int16 | Scalar::Int32 => {
                self.convert(Convert::Sext, native, Type::I64)
            }
            Scalar::Bool | Scalar::Uint8 | Scalar::Uint16 | Scalar::Uint32 => {
                self.convert(Convert::Zext, native, Type::I64)
            }
            Scalar::Float32 => self.convert(Convert::Promote, native, Type::F64),
            Scalar::Float16 | Scalar::BFloat16 => {
                let bits = self.convert(Convert::Zext, native, Type::I64);
                self.half(Routine::WidenHalf, bits, scalar, linkage)
            }
        }
    }

    /// Rounds an `F64` to a float type. A 16-bit float is yielded as its bits.
    pub(crate) fn round(&mut self, value: Value, scalar: Scalar, linkage: Linkage) -> Value {
        if scalar == Scalar::Float64 {
            return value;
        }
        if scalar == Scalar::Float32 {
            return self.convert(Convert::Demote, value, Type::F32);
        }
        let bits = self.convert(Convert::Bitcast, value, Type::I64);
        self.half(Routine::RoundHalf, bits, scalar, linkage)
    }

    /// Calls a routine with the bits of a float and the format of a 16-bit float.
    fn half(&mut self, routine: Routine, bits: Value, scalar: Scalar, linkage: Linkage) -> Value {
        let (mantissa, bias) = half_format(scalar);
        let (mantissa, bias) = (self.i64(mantissa), self.i64(bias));
        let routine = routine.declare(self.module, linkage);
        self.call_value(routine, &[bits, mantissa, bias])
    }
}
