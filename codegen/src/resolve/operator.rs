//! Operators of terms, chosen by the types of their operands.

use crate::declaration::{BinaryOp, Builtin, Comparison};

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Fneg,
    Not,
    ToFloat,
    /// Conversion of a `uint64`.
    UnsignedToFloat,
    Truth,
    /// The number of an address.
    Number,
}

/// An operator with two operands of one type that always has a result; comparisons yield a truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Integers(OfIntegers),
    Floats(OfFloats),
}

/// An operator of integers, or of words such as addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfIntegers {
    Pick(Extreme),
    Compare(Comparison),
    /// An ordering of `uint64`.
    CompareUnsigned(Comparison),
}

/// An operator of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfFloats {
    Add,
    Sub,
    Mul,
    Div,
    Pick(Extreme),
    Compare(Comparison),
}

/// The operand that an operator yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Min,
    Max,
}

/// An integer operator whose result must be an `int64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exact {
    Add,
    Sub,
    Mul,
}

/// An integer operator whose second operand must not be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    Div,
    Rem,
    CeilDiv,
}

/// An arithmetic operator.
pub(crate) enum Arithmetic {
    /// Operator that always has a result.
    Total(Binary),
    /// Operator of integers whose result must be an `int64`.
    Exact(Exact),
    /// Division of integers.
    Division(Division),
}

/// Returns the operator for integers or floats; `None` if there is none for floats.
pub(crate) fn arithmetic(op: BinaryOp, float: bool) -> Option<Arithmetic> {
    Some(match (op, float) {
        (BinaryOp::Add, false) => Arithmetic::Exact(Exact::Add),
        (BinaryOp::Sub, false) => Arithmetic::Exact(Exact::Sub),
        (BinaryOp::Mul, false) => Arithmetic::Exact(Exact::Mul),
        (BinaryOp::Div, false) => Arithmetic::Division(Division::Div),
        (BinaryOp::Rem, false) => Arithmetic::Division(Division::Rem),
        (BinaryOp::Add, true) => Arithmetic::Total(Binary::Floats(OfFloats::Add)),
        (BinaryOp::Sub, true) => Arithmetic::Total(Binary::Floats(OfFloats::Sub)),
        (BinaryOp::Mul, true) => Arithmetic::Total(Binary::Floats(OfFloats::Mul)),
        (BinaryOp::Div, true) => Arithmetic::Total(Binary::Floats(OfFloats::Div)),
        (BinaryOp::Rem, true) => return None,
    })
}

/// Returns the operator of a builtin for integers or floats; `None` if there is none for floats.
pub(crate) fn builtin(builtin: Builtin, float: bool) -> Option<Arithmetic> {
    let pick = |which| match float {
        true => Arithmetic::Total(Binary::Floats(OfFloats::Pick(which))),
        false => Arithmetic::Total(Binary::Integers(OfIntegers::Pick(which))),
    };
    match builtin {
        Builtin::CeilDiv => (!float).then_some(Arithmetic::Division(Division::CeilDiv)),
        Builtin::Min => Some(pick(Extreme::Min)),
        Builtin::Max => Some(pick(Extreme::Max)),
    }
}

/// Returns the comparison of floats, or of integers and words such as addresses.
pub(crate) fn comparison(op: Comparison, float: bool) -> Binary {
    match float {
        true => Binary::Floats(OfFloats::Compare(op)),
        false => Binary::Integers(OfIntegers::Compare(op)),
    }
}

/// Returns the comparison of `uint64`.
pub(crate) fn unsigned(op: Comparison) -> Binary {
    Binary::Integers(match op {
        Comparison::Eq | Comparison::Ne => OfIntegers::Compare(op),
        Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => {
            OfIntegers::CompareUnsigned(op)
        }
    })
}

impl Binary {
    /// Returns the comparison of integers that the operator is.
    pub(crate) fn as_comparison(self) -> Option<Comparison> {
        match self {
            Binary::Integers(OfIntegers::Compare(op) | OfIntegers::CompareUnsigned(op)) => Some(op),
            Binary::Integers(OfIntegers::Pick(_)) | Binary::Floats(_) => None,
        }
    }
}

impl OfIntegers {
    /// Computes the operation; truths are 1 and 0.
    pub(crate) fn fold(self, a: i64, b: i64) -> i64 {
        match self {
            OfIntegers::Pick(Extreme::Min) => a.min(b),
            OfIntegers::Pick(Extreme::Max) => a.max(b),
            OfIntegers::Compare(op) => holds(op, a, b).into(),
            OfIntegers::CompareUnsigned(op) => {
                holds(op, a.cast_unsigned(), b.cast_unsigned()).into()
            }
        }
    }
}

fn holds<T: Ord>(op: Comparison, a: T, b: T) -> bool {
    match op {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

impl Exact {
    /// Computes the operation, exactly.
    pub(crate) fn fold(self, a: i64, b: i64) -> i128 {
        let (a, b) = (i128::from(a), i128::from(b));
        match self {
            Exact::Add => a + b,
            Exact::Sub => a - b,
            Exact::Mul => a * b,
        }
    }

    /// Computes the operation modulo 2^64.
    pub(crate) fn wrapping(self, a: i64, b: i64) -> i64 {
        self.fold(a, b) as i64
    }
}

impl Division {
    /// Computes the division by a number other than zero, exactly.
    pub(crate) fn fold(self, a: i64, b: i64) -> i128 {
        let (a, b) = (i128::from(a), i128::from(b));
        let below = a % b != 0 && (a < 0) != (b < 0);
        let floor = a / b - i128::from(below);
        match self {
            Division::Div => floor,
            Division::Rem => a - floor * b,
            Division::CeilDiv => floor + i128::from(floor * b != a),
        }
    }
}
