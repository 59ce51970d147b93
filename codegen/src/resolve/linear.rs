//! Expressions that are linear in one symbol.

use crate::declaration::{BinaryOp, Expr};

/// `coefficient * symbol + constant`; neither part mentions the symbol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// Not the literal 0.
    pub(crate) coefficient: Expr,
    /// What is added.
    pub(crate) constant: Expr,
}

impl Linear {
    /// The symbol itself.
    pub(crate) fn identity() -> Linear {
        Linear { coefficient: Expr::Int(1), constant: Expr::Int(0) }
    }

    /// True if the expression is the symbol itself.
    pub(crate) fn is_identity(&self) -> bool {
        *self == Linear::identity()
    }
}

/// Writes `expr` as a linear function of `symbol`, if it is one and depends on it.
pub(crate) fn linear(expr: &Expr, symbol: &str) -> Option<Linear> {
    if let Expr::Name(name) = expr
        && name == symbol
    {
        return Some(Linear::identity());
    }
    let (coefficient, constant) = split(expr, symbol)?;
    let coefficient = coefficient.filter(|c| *c != Expr::Int(0))?;
    Some(Linear { coefficient, constant })
}

/// Coefficient (`None` for zero) and constant.
fn split(expr: &Expr, symbol: &str) -> Option<(Option<Expr>, Expr)> {
    if !mentions(expr, symbol) {
        return Some((None, expr.clone()));
    }
    match expr {
        Expr::Name(_) => Some((Some(Expr::Int(1)), Expr::Int(0))),
        Expr::Neg(inner) => {
            let (a, b) = split(inner, symbol)?;
            Some((a.map(negate), negate(b)))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs) => {
            let (a, b) = split(lhs, symbol)?;
            let (c, d) = split(rhs, symbol)?;
            let coefficient = match (a, c) {
                (Some(a), Some(c)) => Some(fold(*op, a, c)),
                (Some(a), None) => Some(a),
                (None, Some(c)) => Some(fold(*op, Expr::Int(0), c)),
                (None, None) => None,
            };
            Some((coefficient, fold(*op, b, d)))
        }
        Expr::Binary(BinaryOp::Mul, lhs, rhs) => {
            let (factor, inner) = if mentions(lhs, symbol) { (rhs, lhs) } else { (lhs, rhs) };
            if mentions(factor, symbol) {
                return None;
            }
            let (a, b) = split(inner, symbol)?;
            let times = |e| fold(BinaryOp::Mul, e, (**factor).clone());
            Some((a.map(times), times(b)))
        }
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..)
        | Expr::Int(_)
        | Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Call(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => None,
    }
}

fn mentions(expr: &Expr, symbol: &str) -> bool {
    match expr {
        Expr::Name(name) => name == symbol,
        Expr::Int(_)
        | Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Neg(_)
        | Expr::Binary(..)
        | Expr::Call(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => expr.children().any(|child| mentions(child, symbol)),
    }
}

fn negate(expr: Expr) -> Expr {
    fold(BinaryOp::Sub, Expr::Int(0), expr)
}

/// `lhs op rhs`, computed where both are literals and simplified where one is neutral.
fn fold(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
    match (op, &lhs, &rhs) {
        (BinaryOp::Add, Expr::Int(a), Expr::Int(b)) => Expr::Int(a.wrapping_add(*b)),
        (BinaryOp::Sub, Expr::Int(a), Expr::Int(b)) => Expr::Int(a.wrapping_sub(*b)),
        (BinaryOp::Mul, Expr::Int(a), Expr::Int(b)) => Expr::Int(a.wrapping_mul(*b)),
        (BinaryOp::Add, Expr::Int(0), _) => rhs,
        (BinaryOp::Mul, Expr::Int(1), _) => rhs,
        (BinaryOp::Mul, Expr::Int(0), _) | (BinaryOp::Mul, _, Expr::Int(0)) => Expr::Int(0),
        (BinaryOp::Add | BinaryOp::Sub, _, Expr::Int(0)) | (BinaryOp::Mul, _, Expr::Int(1)) => lhs,
        _ => lhs.binary(op, rhs),
    }
}
