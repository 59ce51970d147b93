//! Terms that are linear in one symbol.

use super::ids::SymbolId;
use super::operator::Exact;
use super::step::Linear;
use super::term::{Kind, Node, Term};

/// Writes a term as a linear function of `symbol`; returns `None` if it is not linear or does not depend on it.
pub(crate) fn linear(term: &Term, symbol: SymbolId) -> Option<Linear> {
    let (coefficient, constant) = split(term, symbol)?;
    let coefficient = coefficient.filter(|c| c.constant() != Some(0))?;
    let text = if let Node::Exact(_, _, text) = &term.node { text.clone() } else { String::new() };
    Some(Linear { coefficient, constant, term: term.clone(), text })
}

/// Splits a term into coefficient, `None` for zero, and constant.
fn split(term: &Term, symbol: SymbolId) -> Option<(Option<Term>, Term)> {
    if !mentions(term, symbol) {
        return Some((None, term.clone()));
    }
    if let Node::Symbol(_) = term.node {
        return Some((Some(Term::int(1)), Term::int(0)));
    }
    let Node::Exact(op, operands, _) = &term.node else { return None };
    match *op == Exact::Mul {
        true => product(operands, symbol),
        false => sum(*op, operands, symbol),
    }
}

/// Splits a sum or a difference.
fn sum(op: Exact, operands: &[Term; 2], symbol: SymbolId) -> Option<(Option<Term>, Term)> {
    let [(a, b), (c, d)] = [split(&operands[0], symbol)?, split(&operands[1], symbol)?];
    let coefficient = match (a, c) {
        (Some(a), Some(c)) => Some(fold(op, a, c)),
        (Some(a), None) => Some(a),
        (None, Some(c)) => Some(fold(op, Term::int(0), c)),
        (None, None) => None,
    };
    Some((coefficient, fold(op, b, d)))
}

/// Splits a product of which one factor mentions the symbol.
fn product([lhs, rhs]: &[Term; 2], symbol: SymbolId) -> Option<(Option<Term>, Term)> {
    let (factor, inner) = if mentions(lhs, symbol) { (rhs, lhs) } else { (lhs, rhs) };
    if mentions(factor, symbol) {
        return None;
    }
    let (a, b) = split(inner, symbol)?;
    let times = |term| fold(Exact::Mul, term, factor.clone());
    Some((a.map(times), times(b)))
}

/// Returns true if a term mentions a symbol.
pub(crate) fn mentions(term: &Term, symbol: SymbolId) -> bool {
    term.any(&mut |node| *node == Node::Symbol(symbol))
}

/// Builds `lhs op rhs` modulo 2^64, folding literals and dropping neutral operands. The declaration has no such
/// expression, so that the result has no text.
fn fold(op: Exact, lhs: Term, rhs: Term) -> Term {
    match (op, lhs.constant(), rhs.constant()) {
        (_, Some(a), Some(b)) => Term::int(op.wrapping(a, b)),
        (Exact::Add, Some(0), _) | (Exact::Mul, Some(1), _) => rhs,
        (Exact::Mul, Some(0), _) | (Exact::Mul, _, Some(0)) => Term::int(0),
        (Exact::Add | Exact::Sub, _, Some(0)) | (Exact::Mul, _, Some(1)) => lhs,
        _ => Term::new(Kind::Int, Node::Exact(op, Box::new([lhs, rhs]), String::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;
    use crate::resolve::ids::Id;

    /// Returns coefficient and constant of `n` in the extent `dim`, where they are literals.
    fn row(dim: &str) -> Option<(Option<i64>, Option<i64>)> {
        let text = format!("f(n: int64, m: int64, x: Tensor([{dim}], int8)) -> None = k();");
        let library: Library = text.parse().unwrap();
        let names = crate::resolve::names::Names::new(
            &library.functions[0],
            crate::Platform::Cuda,
            Vec::new(),
            Vec::new(),
        )
        .unwrap()
        .0;
        let shape = library.functions[0].signature.params[2].ty.shape().unwrap();
        let crate::Shape::Dims(dims) = shape else { panic!("{dim}") };
        let crate::Dim::Expr(expr) = &dims[0] else { panic!("{dim}") };
        let linear = linear(&names.term(expr).unwrap(), SymbolId::new(0))?;
        Some((linear.coefficient.constant(), linear.constant.constant()))
    }

    #[test]
    fn linear_in_one_symbol() {
        let rows = [
            ("n", Some((Some(1), Some(0)))),
            ("2 * n + 1", Some((Some(2), Some(1)))),
            ("1 - n", Some((Some(-1), Some(1)))),
            ("-(n * 3 - 4)", Some((Some(-3), Some(4)))),
            ("n + n", Some((Some(2), Some(0)))),
            ("n * m", Some((None, Some(0)))),
            ("n + m", Some((Some(1), None))),
            ("n - n", None),
            ("n * n", None),
            ("n / 2", None),
            ("m + 1", None),
            ("min(n, 4)", None),
        ];
        for (dim, expected) in rows {
            assert_eq!(row(dim), expected, "{dim}");
        }
    }
}
