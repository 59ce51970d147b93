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

/// Implements Rust's operators for `Expr` and `&Expr`, with any operand on the right and a number on the left. Of
/// integers only `i64` stands on the left: with a second type, `2 * n` would not say which one its literal is of, and
/// `(2 * n).equal(0)` would not compile.
macro_rules! rust_operators {
    ($($operator:ident $method:ident;)*) => {
        $(
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
        )*

        $(rust_operators! { @left $operator $method: i64, Expr; i64, &Expr; f64, Expr; f64, &Expr; })*
    };
    (@left $operator:ident $method:ident: $($number:ty, $expr:ty;)*) => {$(
        impl $operator<$expr> for $number {
            type Output = Expr;

            fn $method(self, rhs: $expr) -> Expr {
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

/// Implements Rust's operators of one operand for `Expr` and `&Expr`.
macro_rules! rust_prefixes {
    ($($operator:ident $method:ident $text:literal;)*) => {$(
        #[doc = concat!("Builds `", $text, "`.")]
        impl $operator for Expr {
            type Output = Expr;

            fn $method(self) -> Expr {
                Expr::$operator(Box::new(self))
            }
        }

        #[doc = concat!("Builds `", $text, "`.")]
        impl $operator for &Expr {
            type Output = Expr;

            fn $method(self) -> Expr {
                self.clone().$method()
            }
        }
    )*};
}

rust_prefixes! {
    Neg neg "-self";
    Not not "not self";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operator takes expressions and references to them on both sides, and numbers on either.
    #[test]
    fn operators_are_complete() {
        let n = || Expr::name("n");
        let r = &n();
        macro_rules! forms {
            ($op:tt) => {
                [
                    n() $op n(), n() $op r, r $op n(), r $op r, n() $op "m", r $op 2, n() $op 2_usize, r $op 0.5,
                    2 $op n(), 2 $op r, 0.5 $op n(), 0.5 $op r,
                ]
            };
        }
        for (text, forms) in [
            ("+", forms!(+)),
            ("-", forms!(-)),
            ("*", forms!(*)),
            ("/", forms!(/)),
            ("%", forms!(%)),
        ] {
            let operands = "n n,n n,n n,n n,n m,n 2,n 2,n 0.5,2 n,2 n,0.5 n,0.5 n".split(',');
            let expected: Vec<String> =
                operands.map(|pair| pair.replace(' ', &format!(" {text} "))).collect();
            assert_eq!(forms.map(|form| form.to_string()).to_vec(), expected);
        }
        assert_eq!(
            [-n(), -r, !n(), !r].map(|form| form.to_string()),
            ["-n", "-n", "not n", "not n"]
        );
        // The literal has one type.
        assert_eq!((2 * r).equal(0).to_string(), "2 * n == 0");
    }
}
