//! What is known while the occurrences of symbols are visited, and what waits for more.

use super::ids::{SymbolId, Table};
use super::step::{Place, Rule};
use super::term::Term;
use crate::declaration::Expr;

/// What is known of each symbol.
pub(super) type Knowledge = Table<SymbolId, Known>;

/// What is known of a symbol while the occurrences are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Unknown,
    /// Determined by a stride, if that stride counts.
    Maybe,
    /// Determined by something in this parameter, if it is there.
    Within(usize),
    /// Whatever the call is.
    Always,
}

/// An expression with several unknowns, to be compared once these are known.
pub(super) struct Waiting<'a> {
    pub(super) place: Place,
    pub(super) expr: &'a Expr,
    pub(super) term: Term,
    /// How many of its symbols are not known.
    pub(super) unknown: usize,
}

/// Equal to a term; one that never changes is not quoted.
pub(super) fn equal(expr: &Expr, term: Term, uncertain: Vec<SymbolId>) -> Rule {
    let text = if term.constant().is_some() { String::new() } else { expr.to_string() };
    Rule::Equal { term, text, uncertain }
}
