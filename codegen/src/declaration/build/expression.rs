//! Expressions: conversions, operators, and what follows a point.

use std::ops::{Add, Div, Mul, Neg, Not, Rem, Sub};

use abi_spec::Scalar;

use crate::declaration::{BinaryOp, Builtin, Comparison, Expr, Logic, Member};

/// Expressions of several kinds in one list: numbers, names, and what is made of them.
///
/// ```
/// use tvm_ffi_codegen::{Expr, exprs};
///
/// let x = Expr::name("x");
/// let list = exprs![x.data(), "n", 4, 0.5, Expr::text("relu")];
/// assert_eq!(Expr::array(list).to_string(), r#"[x.data, n, 4, 0.5, "relu"]"#);
/// ```
#[macro_export]
macro_rules! exprs {
    ($($expr:expr),* $(,)?) => { ::std::vec::Vec::<$crate::Expr>::from([$($crate::Expr::from($expr)),*]) };
}

/// An integer literal.
impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::Int(value)
    }
}

/// A float literal.
impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        Expr::Float(value)
    }
}

/// `True` or `False`.
impl From<bool> for Expr {
    fn from(value: bool) -> Expr {
        Expr::Bool(value)
    }
}

/// A symbol or parameter of this name; text is [`Expr::text`].
impl From<&str> for Expr {
    fn from(name: &str) -> Expr {
        Expr::name(name)
    }
}

/// The same again.
impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

/// What follows is an expression of the one before; the operators of Rust make arithmetic, and `!` a denial.
///
/// ```
/// use tvm_ffi_codegen::Expr;
///
/// let [n, m, x] = ["n", "m", "x"].map(Expr::name);
/// let tiles = (&n + 1).ceildiv(&m) * 64;
/// assert_eq!(tiles.to_string(), "ceildiv(n + 1, m) * 64");
/// let fits = (&n % 4).equal(0).and(!x.is_contiguous().or(x.shape(0).less(m)));
/// assert_eq!(fits.to_string(), "n % 4 == 0 and not (x.is_contiguous or x.shape[0] < m)");
/// ```
impl Expr {
    /// A symbol or parameter.
    pub fn name(name: impl Into<String>) -> Expr {
        Expr::Name(name.into())
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Expr {
        Expr::Text(text.into())
    }

    /// `[a, b]`, where a value of the FFI is made.
    pub fn array(entries: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        Expr::Array(entries.into_iter().map(Into::into).collect())
    }

    /// `Shape(n, m)`, where a value of the FFI is made.
    pub fn shape_of(numbers: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        Expr::Shape(numbers.into_iter().map(Into::into).collect())
    }

    /// `self.member`.
    pub fn member(&self, member: Member) -> Expr {
        Expr::Member(Box::new(self.clone()), member)
    }

    /// `self.shape[dim]`.
    pub fn shape(&self, dim: u32) -> Expr {
        self.member(Member::Shape(dim))
    }

    /// `self.strides[dim]`.
    pub fn strides(&self, dim: u32) -> Expr {
        self.member(Member::Strides(dim))
    }

    /// `self[index]`: an element of a tuple, or a number of a shape.
    pub fn element(&self, index: u32) -> Expr {
        Expr::Element(Box::new(self.clone()), index)
    }

    /// `self.name`: an element of a tuple by its name.
    pub fn field(&self, name: impl Into<String>) -> Expr {
        Expr::Field(Box::new(self.clone()), name.into())
    }

    /// `stream(self)`.
    pub fn stream(&self) -> Expr {
        Expr::Stream(Box::new(self.clone()))
    }

    /// `int32(self)`: a checked narrowing, or a rounding to a float type.
    pub fn cast(self, scalar: Scalar) -> Expr {
        Expr::Cast(scalar, Box::new(self))
    }

    /// `self op rhs`.
    pub fn binary(self, op: BinaryOp, rhs: impl Into<Expr>) -> Expr {
        Expr::Binary(op, Box::new(self), Box::new(rhs.into()))
    }

    /// `self op rhs`, a truth.
    pub fn compare(self, op: Comparison, rhs: impl Into<Expr>) -> Expr {
        Expr::Compare(op, Box::new(self), Box::new(rhs.into()))
    }

    /// `self and rhs`, or `self or rhs`.
    pub fn logic(self, op: Logic, rhs: impl Into<Expr>) -> Expr {
        Expr::Logic(op, Box::new(self), Box::new(rhs.into()))
    }

    /// `builtin(self, rhs)`.
    pub fn builtin(self, builtin: Builtin, rhs: impl Into<Expr>) -> Expr {
        Expr::Call(builtin, Box::new(self), Box::new(rhs.into()))
    }
}

macro_rules! members {
    ($($method:ident $member:ident;)*) => {
        impl Expr {
            $(
                #[doc = concat!("`self.", stringify!($method), "`, see [`Member::", stringify!($member), "`].")]
                pub fn $method(&self) -> Expr {
                    self.member(Member::$member)
                }
            )*
        }
    };
}

members! {
    data Data;
    ndim Ndim;
    device_type DeviceType;
    device_id DeviceId;
    byte_offset ByteOffset;
    dtype DType;
    numel Numel;
    is_contiguous IsContiguous;
    size Size;
    is_some IsSome;
}

macro_rules! of_two {
    ($($by:ident $method:ident $op:ident::$variant:ident $text:literal;)*) => {
        impl Expr {
            $(
                #[doc = concat!("`", $text, "`, see [`", stringify!($op), "::", stringify!($variant), "`].")]
                pub fn $method(self, rhs: impl Into<Expr>) -> Expr {
                    self.$by($op::$variant, rhs)
                }
            )*
        }
    };
}

of_two! {
    compare equal Comparison::Eq "self == rhs";
    compare not_equal Comparison::Ne "self != rhs";
    compare less Comparison::Lt "self < rhs";
    compare less_equal Comparison::Le "self <= rhs";
    compare greater Comparison::Gt "self > rhs";
    compare greater_equal Comparison::Ge "self >= rhs";
    logic and Logic::And "self and rhs";
    logic or Logic::Or "self or rhs";
    builtin ceildiv Builtin::CeilDiv "ceildiv(self, rhs)";
    builtin min Builtin::Min "min(self, rhs)";
    builtin max Builtin::Max "max(self, rhs)";
}

/// With anything on the right, and a number on the left.
macro_rules! operators {
    ($($operator:ident $method:ident;)*) => {$(
        impl<R: Into<Expr>> $operator<R> for Expr {
            type Output = Expr;

            fn $method(self, rhs: R) -> Expr {
                self.binary(BinaryOp::$operator, rhs)
            }
        }

        impl<R: Into<Expr>> $operator<R> for &Expr {
            type Output = Expr;

            fn $method(self, rhs: R) -> Expr {
                self.clone().binary(BinaryOp::$operator, rhs)
            }
        }

        impl $operator<Expr> for i64 {
            type Output = Expr;

            fn $method(self, rhs: Expr) -> Expr {
                Expr::from(self).binary(BinaryOp::$operator, rhs)
            }
        }

        impl $operator<Expr> for f64 {
            type Output = Expr;

            fn $method(self, rhs: Expr) -> Expr {
                Expr::from(self).binary(BinaryOp::$operator, rhs)
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
    Rem rem;
}

impl Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        Expr::Neg(Box::new(self))
    }
}

impl Neg for &Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        -self.clone()
    }
}

/// `not self`.
impl Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        Expr::Not(Box::new(self))
    }
}
