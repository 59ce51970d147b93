//! Expressions: dims, constraints and call arguments.

use abi_spec::Scalar;

use super::Comparison;

/// An expression over symbols and parameters. Integer arithmetic is `int64`, wrapping, with floor
/// division; an operation of an integer and a float is one of `float64`.
///
/// `Display` prints the canonical text: one space around binary operators, no needless parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// An integer literal.
    Int(i64),
    /// An integer literal above `int64`, in a comparison with a `uint64`.
    Unsigned(u64),
    /// A float literal; finite.
    Float(f64),
    /// Text, which compares with what is text, names a type of elements or names a device.
    Text(String),
    /// `null`, a pointer.
    Null,
    /// A symbol or a parameter. A tensor stands for its `DLTensor*`.
    Name(String),
    /// `x.shape[0]`.
    Member(Box<Expr>, Member),
    /// `t[1]`: an element of a tuple, or a number of a shape.
    Element(Box<Expr>, u32),
    /// `t.x`: an element of a tuple by its name.
    Field(Box<Expr>, String),
    /// `-e`.
    Neg(Box<Expr>),
    /// `a + b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `min(a, b)`.
    Call(Builtin, Box<Expr>, Box<Expr>),
    /// `stream(x)`: the environment's stream of the device of tensor `x`; NULL for cpu.
    Stream(Box<Expr>),
    /// `int32(e)`: a checked narrowing, or a rounding to a float type.
    Cast(Scalar, Box<Expr>),
    /// `True` or `False`.
    Bool(bool),
    /// `None`, an argument of a function of the FFI.
    None,
    /// `a < b`: a truth.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `not a`.
    Not(Box<Expr>),
    /// `a and b`: the second operand is evaluated only if the first does not decide.
    Logic(Logic, Box<Expr>, Box<Expr>),
    /// `[a, b]`: an array, where a value of the FFI is made.
    Array(Vec<Expr>),
    /// `Shape(n, m)`: a shape, where a value of the FFI is made.
    Shape(Vec<Expr>),
}

/// What follows the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Member {
    /// `x.data`: the address of the first element, `byte_offset` applied.
    Data,
    /// `x.shape[i]`: the extent of dim i, in elements.
    Shape(u32),
    /// `x.strides[i]`, in elements; the compact value where the strides are NULL.
    Strides(u32),
    /// `x.ndim`.
    Ndim,
    /// `x.device_type`, the number of a type of device.
    DeviceType,
    /// `x.device_id`.
    DeviceId,
    /// `x.byte_offset`, in bytes.
    ByteOffset,
    /// `x.dtype`, the type of the elements.
    DType,
    /// `x.numel`, the number of elements.
    Numel,
    /// `x.is_contiguous`: whether the strides are compact.
    IsContiguous,
    /// `s.size`: how many bytes, numbers or elements there are.
    Size,
    /// `x.is_some`: whether an optional value is there.
    IsSome,
}

impl Member {
    /// The members that take no index, with their names.
    pub(crate) const PLAIN: [(&'static str, Member); 10] = [
        ("data", Member::Data),
        ("ndim", Member::Ndim),
        ("device_type", Member::DeviceType),
        ("device_id", Member::DeviceId),
        ("byte_offset", Member::ByteOffset),
        ("dtype", Member::DType),
        ("numel", Member::Numel),
        ("is_contiguous", Member::IsContiguous),
        ("size", Member::Size),
        ("is_some", Member::IsSome),
    ];

    /// True for the names of members, which elements of tuples cannot have.
    pub(crate) fn is_name(word: &str) -> bool {
        matches!(word, "shape" | "strides") || Member::PLAIN.iter().any(|(name, _)| *name == word)
    }
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`: floor division of integers, division of floats.
    Div,
    /// `%`: the remainder of floor division; integers only.
    Rem,
}

impl BinaryOp {
    /// The operator as it is written.
    pub const fn text(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }
}

/// Operators of truths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// `and`
    And,
    /// `or`
    Or,
}

impl Logic {
    /// The operator as it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Logic::And => "and",
            Logic::Or => "or",
        }
    }
}

/// Functions of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `ceildiv(a, b)`: the quotient rounded up; integers only.
    CeilDiv,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

impl Builtin {
    /// The name as it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Builtin::CeilDiv => "ceildiv",
            Builtin::Min => "min",
            Builtin::Max => "max",
        }
    }
}

impl Expr {
    /// Direct subexpressions, in order.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        let (first, second, rest) = match self {
            Expr::Int(_)
            | Expr::Unsigned(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Name(_)
            | Expr::Bool(_)
            | Expr::None => (None, None, &[][..]),
            Expr::Member(e, _)
            | Expr::Element(e, _)
            | Expr::Field(e, _)
            | Expr::Neg(e)
            | Expr::Not(e)
            | Expr::Stream(e)
            | Expr::Cast(_, e) => (Some(&**e), None, &[][..]),
            Expr::Binary(_, a, b)
            | Expr::Call(_, a, b)
            | Expr::Compare(_, a, b)
            | Expr::Logic(_, a, b) => (Some(&**a), Some(&**b), &[][..]),
            Expr::Array(all) | Expr::Shape(all) => (None, None, &all[..]),
        };
        first.into_iter().chain(second).chain(rest)
    }
}
