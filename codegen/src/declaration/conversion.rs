//! Conversions into expressions, literals, dims and lists of them.

use super::{Body, Dim, Expr, Literal, Output, ResultType, Shape, Statement};

/// Builds a `Vec<Expr>` from operands of several types: numbers, names and expressions.
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

/// Implements conversions of integers that are all `int64`, and of references to them.
macro_rules! integers {
    ($($ty:ty)*) => {$(
        /// Builds an integer literal.
        impl From<$ty> for Expr {
            fn from(value: $ty) -> Expr {
                Expr::Int(value.into())
            }
        }

        /// Builds an integer literal.
        impl From<&$ty> for Expr {
            fn from(value: &$ty) -> Expr {
                Expr::from(*value)
            }
        }

        /// Builds an integer literal.
        impl From<$ty> for Literal {
            fn from(value: $ty) -> Literal {
                Literal::Int(value.into())
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32);

/// Builds an integer literal. Above `int64` it is one of [`Expr::Unsigned`], which declarations accept in a comparison
/// with a `uint64`, and refuse elsewhere.
impl From<u64> for Expr {
    fn from(value: u64) -> Expr {
        i64::try_from(value).map_or(Expr::Unsigned(value), Expr::Int)
    }
}

/// Builds an integer literal, as from a `u64`.
impl From<usize> for Expr {
    fn from(value: usize) -> Expr {
        Expr::from(value as u64)
    }
}

/// Builds an integer literal, as from a `u64`.
impl From<&usize> for Expr {
    fn from(value: &usize) -> Expr {
        Expr::from(*value)
    }
}

/// Builds a float literal.
impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        Expr::Float(value)
    }
}

impl From<f32> for Expr {
    fn from(value: f32) -> Expr {
        Expr::Float(value.into())
    }
}

/// Builds a name, whatever the text is: `"64"` and `"2 * n"` are names that no symbol may have, which is an error of
/// the declaration. [`Expr::text`] builds text, and `"2 * n".parse::<Expr>()` the expression.
impl From<&str> for Expr {
    fn from(name: &str) -> Expr {
        Expr::name(name)
    }
}

/// Builds a name.
impl From<&&str> for Expr {
    fn from(name: &&str) -> Expr {
        Expr::name(*name)
    }
}

/// Builds a name; [`Expr::text`] builds text.
impl From<String> for Expr {
    fn from(name: String) -> Expr {
        Expr::Name(name)
    }
}

/// Builds a name; [`Expr::text`] builds text.
impl From<&String> for Expr {
    fn from(name: &String) -> Expr {
        Expr::name(name)
    }
}

/// Clones the expression.
impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

/// Builds a constant, so that a compiler's own constants need one conversion, for defaults and for expressions. Text of
/// a literal is text in quotes.
///
/// ```
/// use tvm_ffi_codegen::{Expr, Literal, Scalar, Signature};
///
/// enum Constant { Flag(bool), Count(u32) }
///
/// impl From<Constant> for Literal {
///     fn from(constant: Constant) -> Literal {
///         match constant {
///             Constant::Flag(flag) => flag.into(),
///             Constant::Count(count) => count.into(),
///         }
///     }
/// }
///
/// let signature = Signature::new("f")
///     .param_or("fast", Scalar::Bool, Constant::Flag(true))
///     .param_or("n", Scalar::Int64, Constant::Count(3))
///     .require(Expr::name("n").greater(Literal::from(Constant::Count(2))));
/// assert_eq!(signature.to_string(), "f(fast: bool = True, n: int64 = 3) -> None where n > 2");
/// ```
impl From<Literal> for Expr {
    fn from(literal: Literal) -> Expr {
        match literal {
            Literal::None => Expr::None,
            Literal::Bool(value) => Expr::Bool(value),
            Literal::Int(value) => Expr::Int(value),
            Literal::Float(value) => Expr::Float(value),
            Literal::Str(text) => Expr::Text(text),
        }
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Literal {
        Literal::Bool(value)
    }
}

impl From<f64> for Literal {
    fn from(value: f64) -> Literal {
        Literal::Float(value)
    }
}

/// Builds text.
impl From<&str> for Literal {
    fn from(text: &str) -> Literal {
        Literal::Str(text.to_owned())
    }
}

/// Builds text.
impl From<String> for Literal {
    fn from(text: String) -> Literal {
        Literal::Str(text)
    }
}

/// Builds text.
impl From<&String> for Literal {
    fn from(text: &String) -> Literal {
        Literal::Str(text.clone())
    }
}

/// Builds a dim from a number, a symbol or an expression over symbols.
impl<E: Into<Expr>> From<E> for Dim {
    fn from(expr: E) -> Dim {
        Dim::Expr(expr.into())
    }
}

impl<D: Into<Dim>, const N: usize> From<[D; N]> for Shape {
    fn from(dims: [D; N]) -> Shape {
        Shape::of(dims)
    }
}

impl<'d, D, const N: usize> From<&'d [D; N]> for Shape
where
    Dim: From<&'d D>,
{
    fn from(dims: &'d [D; N]) -> Shape {
        Shape::of(dims)
    }
}

impl<D: Into<Dim>> From<Vec<D>> for Shape {
    fn from(dims: Vec<D>) -> Shape {
        Shape::of(dims)
    }
}

impl<'d, D> From<&'d Vec<D>> for Shape
where
    Dim: From<&'d D>,
{
    fn from(dims: &'d Vec<D>) -> Shape {
        Shape::of(dims)
    }
}

impl<'d, D> From<&'d [D]> for Shape
where
    Dim: From<&'d D>,
{
    fn from(dims: &'d [D]) -> Shape {
        Shape::of(dims)
    }
}

/// Builds the result type of several allocated tensors.
impl From<Vec<Output>> for ResultType {
    fn from(outputs: Vec<Output>) -> ResultType {
        ResultType::Allocated(outputs)
    }
}

/// Builds the result type of several allocated tensors.
impl<const N: usize> From<[Output; N]> for ResultType {
    fn from(outputs: [Output; N]) -> ResultType {
        ResultType::Allocated(outputs.into())
    }
}

impl From<Vec<Statement>> for Body {
    fn from(statements: Vec<Statement>) -> Body {
        Body::Block(statements)
    }
}

impl<const N: usize> From<[Statement; N]> for Body {
    fn from(statements: [Statement; N]) -> Body {
        Body::Block(statements.into())
    }
}

/// Collects the statements of a program.
impl FromIterator<Statement> for Body {
    fn from_iter<I: IntoIterator<Item = Statement>>(statements: I) -> Body {
        Body::Block(statements.into_iter().collect())
    }
}
