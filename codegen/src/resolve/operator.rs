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

/// An operator with two operands of one type. `F…` operators take floats and `U…` operators take `uint64`;
/// comparisons yield a truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Min,
    Max,
    Fadd,
    Fsub,
    Fmul,
    Fdiv,
    Fmin,
    Fmax,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Ult,
    Ule,
    Ugt,
    Uge,
    Feq,
    Fne,
    Flt,
    Fle,
    Fgt,
    Fge,
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
        (BinaryOp::Add, true) => Arithmetic::Total(Binary::Fadd),
        (BinaryOp::Sub, true) => Arithmetic::Total(Binary::Fsub),
        (BinaryOp::Mul, true) => Arithmetic::Total(Binary::Fmul),
        (BinaryOp::Div, true) => Arithmetic::Total(Binary::Fdiv),
        (BinaryOp::Rem, true) => return None,
    })
}

/// Returns the operator of a builtin for integers or floats; `None` if there is none for floats.
pub(crate) fn builtin(builtin: Builtin, float: bool) -> Option<Arithmetic> {
    Some(match (builtin, float) {
        (Builtin::CeilDiv, false) => Arithmetic::Division(Division::CeilDiv),
        (Builtin::CeilDiv, true) => return None,
        (Builtin::Min, false) => Arithmetic::Total(Binary::Min),
        (Builtin::Max, false) => Arithmetic::Total(Binary::Max),
        (Builtin::Min, true) => Arithmetic::Total(Binary::Fmin),
        (Builtin::Max, true) => Arithmetic::Total(Binary::Fmax),
    })
}

/// Returns the comparison of floats, or of integers and words such as addresses.
pub(crate) fn comparison(op: Comparison, float: bool) -> Binary {
    let (integer, of_floats) = match op {
        Comparison::Eq => (Binary::Eq, Binary::Feq),
        Comparison::Ne => (Binary::Ne, Binary::Fne),
        Comparison::Lt => (Binary::Lt, Binary::Flt),
        Comparison::Le => (Binary::Le, Binary::Fle),
        Comparison::Gt => (Binary::Gt, Binary::Fgt),
        Comparison::Ge => (Binary::Ge, Binary::Fge),
    };
    if float { of_floats } else { integer }
}

/// Returns the comparison of `uint64`.
pub(crate) fn unsigned(op: Comparison) -> Binary {
    match op {
        Comparison::Eq => Binary::Eq,
        Comparison::Ne => Binary::Ne,
        Comparison::Lt => Binary::Ult,
        Comparison::Le => Binary::Ule,
        Comparison::Gt => Binary::Ugt,
        Comparison::Ge => Binary::Uge,
    }
}

impl Binary {
    /// Returns the comparison of integers that the operator is.
    pub(crate) fn as_comparison(self) -> Option<Comparison> {
        use Binary::{Fadd, Fdiv, Feq, Fge, Fgt, Fle, Flt, Fmax, Fmin, Fmul, Fne, Fsub};
        Some(match self {
            Binary::Eq => Comparison::Eq,
            Binary::Ne => Comparison::Ne,
            Binary::Lt | Binary::Ult => Comparison::Lt,
            Binary::Le | Binary::Ule => Comparison::Le,
            Binary::Gt | Binary::Ugt => Comparison::Gt,
            Binary::Ge | Binary::Uge => Comparison::Ge,
            Binary::Min | Binary::Max => return None,
            Fadd | Fsub | Fmul | Fdiv | Fmin | Fmax | Feq | Fne | Flt | Fle | Fgt | Fge => {
                return None;
            }
        })
    }

    /// Computes an operation of integers; truths are 1 and 0.
    ///
    /// # Panics
    ///
    /// If the operands are floats.
    pub(crate) fn fold(self, a: i64, b: i64) -> i64 {
        match self {
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Eq => i64::from(a == b),
            Binary::Ne => i64::from(a != b),
            Binary::Lt => i64::from(a < b),
            Binary::Le => i64::from(a <= b),
            Binary::Gt => i64::from(a > b),
            Binary::Ge => i64::from(a >= b),
            Binary::Ult => i64::from(a.cast_unsigned() < b.cast_unsigned()),
            Binary::Ule => i64::from(a.cast_unsigned() <= b.cast_unsigned()),
            Binary::Ugt => i64::from(a.cast_unsigned() > b.cast_unsigned()),
            Binary::Uge => i64::from(a.cast_unsigned() >= b.cast_unsigned()),
            Binary::Fadd
            | Binary::Fsub
            | Binary::Fmul
            | Binary::Fdiv
            | Binary::Fmin
            | Binary::Fmax
            | Binary::Feq
            | Binary::Fne
            | Binary::Flt
            | Binary::Fle
            | Binary::Fgt
            | Binary::Fge => unreachable!("{self:?} takes floats"),
        }
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
