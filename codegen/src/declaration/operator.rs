//! Rust's operators for expressions.

use std::ops::{Add, Div, Mul, Neg, Not, Rem, Sub};

use super::expr::{BinaryOp, Builtin, Comparison, Expr, Logic};

macro_rules! of_two {
    ($($by:ident $method:ident $op:ident::$variant:ident $text:literal;)*) => {
        impl Expr {
            $(
                #[doc = concat!("Builds `", $text, "`, see [`", stringify!($op), "::", stringify!($variant), "`].")]
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

/// Implements Rust's operators for `Expr`, with any operand on the right and a number on the left.
macro_rules! rust_operators {
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

rust_operators! {
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

/// Builds `not self`.
impl Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        Expr::Not(Box::new(self))
    }
}
