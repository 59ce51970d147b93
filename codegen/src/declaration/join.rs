//! Expressions of any number of operands.

use super::call::list;
use super::expr::{BinaryOp, Expr, Logic};

/// Constructors of expressions of any number of operands.
impl Expr {
    /// Builds `a and b and c`, the condition that all of several hold; `True` if there are none.
    ///
    /// A long list becomes a tree of small height, whose operands are still evaluated in their order.
    ///
    /// ```
    /// use tvm_ffi_codegen::Expr;
    ///
    /// let small = ["n", "m", "k"].map(|name| Expr::name(name).less(64));
    /// assert_eq!(Expr::all(&small).to_string(), "n < 64 and m < 64 and k < 64");
    /// assert_eq!(Expr::any(small).to_string(), "n < 64 or m < 64 or k < 64");
    /// assert_eq!(Expr::product(["n", "m"]).to_string(), "n * m");
    /// let none: [Expr; 0] = [];
    /// assert_eq!([Expr::all(&none), Expr::any(&none), Expr::product(none)].map(|e| e.to_string()), ["True", "False", "1"]);
    /// ```
    pub fn all(conditions: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        let all = list(conditions);
        joined(all, |a, b| a.logic(Logic::And, b)).unwrap_or(Expr::Bool(true))
    }

    /// Builds `a or b or c`, the condition that one of several holds; `False` if there are none. See [`Expr::all`].
    pub fn any(conditions: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        let all = list(conditions);
        joined(all, |a, b| a.logic(Logic::Or, b)).unwrap_or(Expr::Bool(false))
    }

    /// Builds `a * b * c`, as of the extents of a tensor; `1` if there are no factors. See [`Expr::all`].
    pub fn product(factors: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        let all = list(factors);
        joined(all, |a, b| a.binary(BinaryOp::Mul, b)).unwrap_or(Expr::Int(1))
    }

    /// Builds `a + b + c`, as of offsets in a buffer that several tensors share; `0` if there are none. See
    /// [`Expr::all`].
    ///
    /// ```
    /// use tvm_ffi_codegen::Expr;
    ///
    /// assert_eq!(Expr::sum(["n", "m", "k"]).to_string(), "n + m + k");
    /// assert_eq!(Expr::sum([] as [Expr; 0]).to_string(), "0");
    /// ```
    pub fn sum(terms: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        let all = list(terms);
        joined(all, |a, b| a.binary(BinaryOp::Add, b)).unwrap_or(Expr::Int(0))
    }
}

/// Largest number of operands that are joined one after the other, as `a + b + c` is read.
const CHAIN: usize = 16;

/// Joins operands in their order; `None` if there are none. The halves of a long list are joined by themselves, so that
/// its height grows with the logarithm of its length.
fn joined(mut operands: Vec<Expr>, join: fn(Expr, Expr) -> Expr) -> Option<Expr> {
    if operands.len() <= CHAIN {
        return operands.into_iter().reduce(join);
    }
    let second = operands.split_off(operands.len() / 2);
    let halves = [operands, second].into_iter().filter_map(|half| joined(half, join));
    halves.reduce(join)
}
