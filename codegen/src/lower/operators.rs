//! Operators of terms in host IR.

use abi_spec::Scalar;

use crate::declaration::Comparison;
use crate::ir::{self, Builder, Cond, Convert, Type, Value};
use crate::resolve::operator::{Binary, Division, Exact, Extreme, OfFloats, OfIntegers, Unary};

/// Emits a unary operator on an `I64`, on an `F64` if its name starts with `F`, or on a `Ptr` for its number.
pub(crate) fn unary(b: &mut Builder<'_>, op: Unary, value: Value) -> Value {
    match op {
        Unary::Fneg => {
            // 0 - x would lose the sign of zero.
            let minus_one = b.f64(-1.0);
            b.binary(ir::Binary::Fmul, value, minus_one)
        }
        Unary::Not => truth(b, Cond::Eq, value),
        Unary::Truth => truth(b, Cond::Ne, value),
        Unary::Number => b.convert(Convert::PtrToInt, value, Type::I64),
        Unary::ToFloat => b.convert(Convert::SintToFloat, value, Type::F64),
        Unary::UnsignedToFloat => b.convert(Convert::UintToFloat, value, Type::F64),
    }
}

/// Returns 1 if the comparison `cond` of an integer with 0 holds, else 0.
fn truth(b: &mut Builder<'_>, cond: Cond, value: Value) -> Value {
    let truth = b.compare_const(cond, value, 0);
    b.widen_bool(truth, Type::I64)
}

/// Emits a binary operator on `I64`, or on `F64` if it is one of floats. Comparisons return a `Bool`.
pub(crate) fn binary(b: &mut Builder<'_>, op: Binary, lhs: Value, rhs: Value) -> Value {
    match op {
        Binary::Integers(op) if lhs == rhs => of_equal(b, op, lhs),
        Binary::Integers(OfIntegers::Pick(op)) => pick(b, op, Cond::Slt, [lhs, rhs]),
        Binary::Integers(OfIntegers::Compare(op)) => b.compare(signed(op), lhs, rhs),
        Binary::Integers(OfIntegers::CompareUnsigned(op)) => b.compare(unsigned(op), lhs, rhs),
        Binary::Floats(OfFloats::Add) => b.binary(ir::Binary::Fadd, lhs, rhs),
        Binary::Floats(OfFloats::Sub) => b.binary(ir::Binary::Fsub, lhs, rhs),
        Binary::Floats(OfFloats::Mul) => b.binary(ir::Binary::Fmul, lhs, rhs),
        Binary::Floats(OfFloats::Div) => b.binary(ir::Binary::Fdiv, lhs, rhs),
        Binary::Floats(OfFloats::Pick(op)) => pick(b, op, Cond::Flt, [lhs, rhs]),
        Binary::Floats(OfFloats::Compare(op)) => b.compare(of_floats(op), lhs, rhs),
    }
}

fn signed(op: Comparison) -> Cond {
    match op {
        Comparison::Eq => Cond::Eq,
        Comparison::Ne => Cond::Ne,
        Comparison::Lt => Cond::Slt,
        Comparison::Le => Cond::Sle,
        Comparison::Gt => Cond::Sgt,
        Comparison::Ge => Cond::Sge,
    }
}

fn unsigned(op: Comparison) -> Cond {
    match op {
        Comparison::Eq => Cond::Eq,
        Comparison::Ne => Cond::Ne,
        Comparison::Lt => Cond::Ult,
        Comparison::Le => Cond::Ule,
        Comparison::Gt => Cond::Ugt,
        Comparison::Ge => Cond::Uge,
    }
}

fn of_floats(op: Comparison) -> Cond {
    match op {
        Comparison::Eq => Cond::Feq,
        Comparison::Ne => Cond::Fne,
        Comparison::Lt => Cond::Flt,
        Comparison::Le => Cond::Fle,
        Comparison::Gt => Cond::Fgt,
        Comparison::Ge => Cond::Fge,
    }
}

/// Returns what an operator yields of an integer and itself: compilers of C warn of such comparisons. Floats may be
/// NaN.
fn of_equal(b: &mut Builder<'_>, op: OfIntegers, value: Value) -> Value {
    match op {
        OfIntegers::Pick(_) => value,
        OfIntegers::Compare(op) | OfIntegers::CompareUnsigned(op) => {
            let truth = matches!(op, Comparison::Eq | Comparison::Le | Comparison::Ge);
            b.constant(Type::Bool, truth.into())
        }
    }
}

/// Returns the lesser or the greater operand; `below` compares them. If neither is below the other, that is the second
/// or the first.
fn pick(b: &mut Builder<'_>, op: Extreme, below: Cond, [lhs, rhs]: [Value; 2]) -> Value {
    let is_below = b.compare(below, lhs, rhs);
    match op {
        Extreme::Min => b.select(is_below, lhs, rhs),
        Extreme::Max => b.select(is_below, rhs, lhs),
    }
}

/// Emits an operation of integers modulo 2^64.
pub(crate) fn wrapping(b: &mut Builder<'_>, op: Exact, lhs: Value, rhs: Value) -> Value {
    let op = match op {
        Exact::Add => ir::Binary::Add,
        Exact::Sub => ir::Binary::Sub,
        Exact::Mul => ir::Binary::Mul,
    };
    b.binary(op, lhs, rhs)
}

/// Returns the operation that tells whether its result is an `int64`.
pub(crate) fn checked(op: Exact) -> ir::Checked {
    match op {
        Exact::Add => ir::Checked::CheckedAdd,
        Exact::Sub => ir::Checked::CheckedSub,
        Exact::Mul => ir::Checked::CheckedMul,
    }
}

/// Emits a division by a value that is not 0. The quotient of the least `int64` and -1 wraps.
pub(crate) fn divide(b: &mut Builder<'_>, op: Division, x: Value, y: Value) -> Value {
    let (quotient, remainder) = floor(b, x, y);
    result(b, op, quotient, remainder)
}

/// Emits a division by a literal that is not 0.
pub(crate) fn divide_by(b: &mut Builder<'_>, op: Division, x: Value, divisor: i64) -> Value {
    if divisor == -1 {
        let zero = b.i64(0);
        let quotient = b.binary(ir::Binary::Sub, zero, x);
        return result(b, op, quotient, zero);
    }
    let (quotient, remainder) = if divisor > 0 && divisor.count_ones() == 1 {
        let shift = i64::from(divisor.trailing_zeros());
        let quotient = b.binary_const(ir::Binary::Ashr, x, shift);
        (quotient, b.binary_const(ir::Binary::And, x, divisor - 1))
    } else {
        let y = b.i64(divisor);
        floor_unlike_minus_one(b, x, y)
    };
    result(b, op, quotient, remainder)
}

/// Returns the result of a division, given its floor quotient and remainder.
fn result(b: &mut Builder<'_>, op: Division, quotient: Value, remainder: Value) -> Value {
    match op {
        Division::Div => quotient,
        Division::Rem => remainder,
        Division::CeilDiv => {
            let inexact = truth(b, Cond::Ne, remainder);
            b.binary(ir::Binary::Add, quotient, inexact)
        }
    }
}

/// Returns floor quotient and remainder by a divisor that is not 0.
pub(crate) fn floor(b: &mut Builder<'_>, x: Value, y: Value) -> (Value, Value) {
    let minus = b.compare_const(Cond::Eq, y, -1);
    let one = b.i64(1);
    let safe = b.select(minus, one, y);
    let (quotient, remainder) = floor_unlike_minus_one(b, x, safe);
    let zero = b.i64(0);
    let negated = b.binary(ir::Binary::Sub, zero, x);
    (b.select(minus, negated, quotient), remainder)
}

/// Returns floor quotient and remainder by a divisor that is neither 0 nor -1.
fn floor_unlike_minus_one(b: &mut Builder<'_>, x: Value, y: Value) -> (Value, Value) {
    let quotient = b.binary(ir::Binary::Sdiv, x, y);
    let remainder = b.binary(ir::Binary::Srem, x, y);
    let inexact = b.compare_const(Cond::Ne, remainder, 0);
    let signs = b.binary(ir::Binary::Xor, remainder, y);
    let unlike = b.compare_const(Cond::Slt, signs, 0);
    let adjust = b.and(inexact, unlike);
    let one = b.widen_bool(adjust, Type::I64);
    let quotient = b.binary(ir::Binary::Sub, quotient, one);
    let zero = b.i64(0);
    let addend = b.select(adjust, y, zero);
    (quotient, b.binary(ir::Binary::Add, remainder, addend))
}

/// Returns the number of stored mantissa bits and the exponent bias of a 16-bit float type.
pub(crate) fn half_format(scalar: Scalar) -> (i64, i64) {
    if scalar == Scalar::BFloat16 { (7, 127) } else { (10, 15) }
}
