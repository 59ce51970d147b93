//! Arithmetic, comparisons and conversions.

use codegen::ir::{Binary, Checked, Cond, Convert, Type};

use crate::finding::{Finding, ensure};
use crate::word::Word;

/// Returns the width of a type in bits.
const fn width(ty: Type) -> u32 {
    match ty {
        Type::Bool => 1,
        Type::I8 => 8,
        Type::I16 => 16,
        Type::I32 | Type::F32 => 32,
        Type::I64 | Type::F64 | Type::Ptr => 64,
    }
}

/// Clears the bits above the width of a type.
pub(crate) const fn truncate(ty: Type, bits: u64) -> u64 {
    if width(ty) == 64 { bits } else { bits & ((1 << width(ty)) - 1) }
}

/// Sign-extends a value of an integer type.
const fn signed(ty: Type, bits: u64) -> i64 {
    let above = 64 - width(ty);
    (bits << above) as i64 >> above
}

/// Reads the bits of a float.
fn float(ty: Type, bits: u64) -> f64 {
    if ty == Type::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Returns the bits of a float.
fn float_bits(ty: Type, value: f64) -> u64 {
    if ty == Type::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() }
}

/// Computes checked arithmetic; returns the wrapped result, and whether it left the type.
pub(crate) fn checked(op: Checked, lhs: Word, rhs: Word) -> (Word, bool) {
    let (a, b) = (i128::from(lhs.bits as i64), i128::from(rhs.bits as i64));
    let exact = match op {
        Checked::CheckedAdd => a + b,
        Checked::CheckedSub => a - b,
        Checked::CheckedMul => a * b,
    };
    (Word::bits(exact as u64), i64::try_from(exact).is_err())
}

/// Computes a binary operation on two values of a type.
pub(crate) fn binary(op: Binary, ty: Type, lhs: Word, rhs: Word) -> Result<Word, Box<Finding>> {
    let (a, b) = (lhs.bits, rhs.bits);
    let bits = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Sdiv | Binary::Srem => {
            let (a, b) = (signed(ty, a), signed(ty, b));
            ensure(b != 0, || format!("{a} is divided by zero"))?;
            let lowest = signed(ty, 1 << (width(ty) - 1));
            ensure(a != lowest || b != -1, || format!("{a} is divided by -1"))?;
            (if op == Binary::Sdiv { a / b } else { a % b }) as u64
        }
        Binary::Udiv | Binary::Urem => {
            ensure(b != 0, || format!("{a} is divided by zero"))?;
            if op == Binary::Udiv { a / b } else { a % b }
        }
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << shift(ty, a, b)?,
        Binary::Lshr => a >> shift(ty, a, b)?,
        Binary::Ashr => (signed(ty, a) >> shift(ty, a, b)?) as u64,
        Binary::Fadd => floats(ty, a, b, |a, b| a + b, |a, b| a + b),
        Binary::Fsub => floats(ty, a, b, |a, b| a - b, |a, b| a - b),
        Binary::Fmul => floats(ty, a, b, |a, b| a * b, |a, b| a * b),
        Binary::Fdiv => floats(ty, a, b, |a, b| a / b, |a, b| a / b),
    };
    // Rounding or moving an address keeps its region; the distance of two addresses is a number.
    let moves = matches!(op, Binary::Add | Binary::Sub | Binary::And | Binary::Or | Binary::Xor);
    let origin = if moves { lhs.origin.xor(rhs.origin) } else { None };
    Ok(Word { bits: truncate(ty, bits), origin })
}

/// Returns the amount of a shift, which must be below the width.
fn shift(ty: Type, value: u64, amount: u64) -> Result<u64, Box<Finding>> {
    let all = width(ty);
    ensure(amount < u64::from(all), || format!("{ty} {value:#x} is shifted by {amount} of {all}"))?;
    Ok(amount)
}

/// Computes an operation on two floats of a type.
fn floats(
    ty: Type,
    a: u64,
    b: u64,
    single: impl Fn(f32, f32) -> f32,
    double: impl Fn(f64, f64) -> f64,
) -> u64 {
    if ty == Type::F32 {
        let [a, b] = [a, b].map(|bits| f32::from_bits(bits as u32));
        return u64::from(single(a, b).to_bits());
    }
    double(f64::from_bits(a), f64::from_bits(b)).to_bits()
}

/// Compares two values of a type.
pub(crate) fn compare(cond: Cond, ty: Type, lhs: Word, rhs: Word) -> bool {
    let (a, b) = (lhs.bits, rhs.bits);
    let (signed_a, signed_b) = (signed(ty, a), signed(ty, b));
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Slt => signed_a < signed_b,
        Cond::Sle => signed_a <= signed_b,
        Cond::Sgt => signed_a > signed_b,
        Cond::Sge => signed_a >= signed_b,
        Cond::Ult => a < b,
        Cond::Ule => a <= b,
        Cond::Ugt => a > b,
        Cond::Uge => a >= b,
        Cond::Feq => float(ty, a) == float(ty, b),
        Cond::Fne => float(ty, a) != float(ty, b),
        Cond::Flt => float(ty, a) < float(ty, b),
        Cond::Fle => float(ty, a) <= float(ty, b),
        Cond::Fgt => float(ty, a) > float(ty, b),
        Cond::Fge => float(ty, a) >= float(ty, b),
    }
}

/// Converts a value to another type.
pub(crate) fn convert(op: Convert, from: Type, value: Word, to: Type) -> Word {
    let bits = value.bits;
    let result = match op {
        Convert::Zext | Convert::Bitcast | Convert::PtrToInt | Convert::IntToPtr => bits,
        Convert::Trunc => truncate(to, bits),
        Convert::Sext => truncate(to, signed(from, bits) as u64),
        Convert::SintToFloat if to == Type::F32 => u64::from((signed(from, bits) as f32).to_bits()),
        Convert::SintToFloat => (signed(from, bits) as f64).to_bits(),
        Convert::UintToFloat if to == Type::F32 => u64::from((bits as f32).to_bits()),
        Convert::UintToFloat => (bits as f64).to_bits(),
        Convert::Promote | Convert::Demote => float_bits(to, float(from, bits)),
    };
    let keeps = matches!(op, Convert::PtrToInt | Convert::IntToPtr);
    Word { bits: result, origin: if keeps { value.origin } else { None } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_and_divisions_have_limits() {
        let run = |op, ty, a: i64, b: i64| {
            binary(op, ty, Word::bits(truncate(ty, a as u64)), Word::bits(truncate(ty, b as u64)))
        };
        assert_eq!(run(Binary::Ashr, Type::I8, -128, 7).unwrap(), Word::bits(0xff));
        assert!(run(Binary::Shl, Type::I8, 1, 8).is_err());
        assert!(run(Binary::Lshr, Type::I64, 1, 64).is_err());
        assert_eq!(run(Binary::Sdiv, Type::I32, -7, 2).unwrap(), Word::int32(-3));
        assert!(run(Binary::Sdiv, Type::I32, i64::from(i32::MIN), -1).is_err());
        assert!(run(Binary::Srem, Type::I64, i64::MIN, -1).is_err());
        assert!(run(Binary::Urem, Type::I64, 1, 0).is_err());
    }

    #[test]
    fn conversions_keep_what_they_should() {
        let word = |bits| Word::bits(bits);
        assert_eq!(convert(Convert::Sext, Type::I8, word(0x80), Type::I32), word(0xffff_ff80));
        assert_eq!(convert(Convert::Zext, Type::I8, word(0x80), Type::I64), word(0x80));
        let minus_one = convert(Convert::SintToFloat, Type::I8, word(0xff), Type::F64);
        assert_eq!(f64::from_bits(minus_one.bits), -1.0);
        let large = convert(Convert::UintToFloat, Type::I64, word(u64::MAX), Type::F32);
        assert_eq!(f32::from_bits(large.bits as u32), 18446744073709551616.0);
    }

    #[test]
    fn not_a_number_is_only_unequal() {
        let nan = Word::bits(f64::NAN.to_bits());
        assert!(compare(Cond::Fne, Type::F64, nan, nan));
        for cond in [Cond::Feq, Cond::Flt, Cond::Fle, Cond::Fgt, Cond::Fge] {
            assert!(!compare(cond, Type::F64, nan, nan));
        }
    }
}
