//! Solution of linear expressions for their symbol.

use crate::ir::{Binary, Cond, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms;
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::operators;
use crate::resolve::ids::SymbolId;
use crate::resolve::linear::mentions;
use crate::resolve::operator::{Division, Exact};
use crate::resolve::range::Range;
use crate::resolve::step::Linear;
use crate::resolve::term::{Node, Term};

/// How an expression is solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inverse {
    pub(super) symbol: SymbolId,
    /// A `Bool`: checks apply only if it is true; `None` if they always apply.
    pub(super) counts: Option<Value>,
    /// True if the solution is rounded down and a divisor of 0 is taken for 1; else both are errors.
    pub(super) rounds: bool,
}

/// A number and a range that it is in.
type Number = (Value, Range);

/// Solves `linear = number` for the symbol. Leaves through the exit of the current checks if no `int64` solves it.
pub(super) fn invert(
    c: &mut Checker<'_, '_>,
    inverse: &Inverse,
    linear: &Linear,
    number: Number,
) -> Value {
    if linear.is_once(inverse.symbol) {
        return undo(c, inverse, &linear.term, number);
    }
    solve_sum(c, inverse, linear, number.0)
}

/// Undoes the operations of a term that mentions the symbol once, the outermost first, so that every step of the
/// term has the number that it had.
fn undo(c: &mut Checker<'_, '_>, inverse: &Inverse, term: &Term, (number, range): Number) -> Value {
    let Node::Exact(op, operands, _) = &term.node else { return number };
    let [first, second] = &operands[..] else { return number };
    let is_first = mentions(first, inverse.symbol);
    let (inner, other) = if is_first { (first, second) } else { (second, first) };
    let undone = match (op, is_first) {
        (Exact::Add, _) => step(c, inverse, Exact::Sub, (number, range), other, true),
        (Exact::Sub, true) => step(c, inverse, Exact::Add, (number, range), other, true),
        (Exact::Sub, false) => step(c, inverse, Exact::Sub, (number, range), other, false),
        (Exact::Mul, _) => divided(c, inverse, (number, range), other),
    };
    undo(c, inverse, inner, undone)
}

/// Returns the sum or difference of a number and a term, in this order if `is_left`. Leaves if it is no `int64`.
fn step(
    c: &mut Checker<'_, '_>,
    inverse: &Inverse,
    op: Exact,
    (number, range): Number,
    other: &Term,
    is_left: bool,
) -> Number {
    let other_range = terms::range(c, other);
    let other = terms::eval(c, other);
    let (values, ranges) = match is_left {
        true => ([number, other], [range, other_range]),
        false => ([other, number], [other_range, range]),
    };
    let range = Range::exact(op, ranges[0], ranges[1]);
    if range.fits() || c.checks.passed {
        let result = operators::wrapping(&mut c.e.b, op, values[0], values[1]);
        return (result, range.and(Range::INT64));
    }
    let (result, flag) = c.e.b.checked(operators::checked(op), values[0], values[1]);
    unless(c, inverse, flag);
    (result, range.and(Range::INT64))
}

/// Returns the quotient of a number and a term. Leaves if it is no `int64`, or not exact.
fn divided(
    c: &mut Checker<'_, '_>,
    inverse: &Inverse,
    (number, range): Number,
    by: &Term,
) -> Number {
    let by_range = terms::range(c, by);
    if let Some(by) = by.constant() {
        let quotient = operators::divide_by(&mut c.e.b, Division::Div, number, by);
        if by == -1 && range.has(i64::MIN) {
            let least = c.e.b.compare_const(Cond::Eq, number, i64::MIN);
            unless(c, inverse, least);
        }
        let by = c.e.b.i64(by);
        require_product(c, inverse, [quotient, by], number);
        return (quotient, Range::divide(Division::Div, range, by_range).and(Range::INT64));
    }
    let by = terms::eval(c, by);
    let zero = c.e.b.compare_const(Cond::Eq, by, 0);
    if !inverse.rounds {
        unless(c, inverse, zero);
    }
    let one = c.e.b.i64(1);
    let divisor = c.e.b.select(zero, one, by);
    if range.has(i64::MIN) && by_range.has(-1) {
        let is_least = c.e.b.compare_const(Cond::Eq, number, i64::MIN);
        let is_minus_one = c.e.b.compare_const(Cond::Eq, divisor, -1);
        let both = c.e.b.and(is_least, is_minus_one);
        unless(c, inverse, both);
    }
    let (quotient, _) = operators::floor(&mut c.e.b, number, divisor);
    require_product(c, inverse, [quotient, by], number);
    (quotient, Range::INT64)
}

/// Leaves unless a quotient is exact.
fn require_product(c: &mut Checker<'_, '_>, inverse: &Inverse, factors: [Value; 2], number: Value) {
    if !inverse.rounds {
        let product = c.e.b.binary(Binary::Mul, factors[0], factors[1]);
        let differs = c.e.b.compare(Cond::Ne, product, number);
        unless(c, inverse, differs);
    }
}

/// Leaves if a condition holds where the solution counts.
fn unless(c: &mut Checker<'_, '_>, inverse: &Inverse, condition: Value) {
    let condition = match inverse.counts {
        Some(counts) => c.e.b.and(counts, condition),
        None => condition,
    };
    c.checks.never(&mut c.e.b, condition);
}

/// Solves an expression that mentions the symbol more than once: computes a solution modulo 2^64, and whether the
/// expression really has the number there.
fn solve_sum(c: &mut Checker<'_, '_>, inverse: &Inverse, linear: &Linear, number: Value) -> Value {
    let exit = c.checks.fail;
    let outer = std::mem::replace(&mut c.checks.passed, true);
    let constant = terms::eval(c, &linear.constant);
    let coefficient = terms::eval(c, &linear.coefficient);
    c.checks.passed = outer;
    let difference = c.e.b.binary(Binary::Sub, number, constant);
    let zero = c.e.b.compare_const(Cond::Eq, coefficient, 0);
    let one = c.e.b.i64(1);
    let divisor = c.e.b.select(zero, one, coefficient);
    let (solution, _) = operators::floor(&mut c.e.b, difference, divisor);
    if inverse.rounds {
        return solution;
    }
    unless(c, inverse, zero);
    let before = c.e.known.symbol(inverse.symbol);
    c.e.known.set_symbol(inverse.symbol, SymbolState::Bound(solution, Origin::UNNAMED));
    let (outer, mask) = (c.overflow_exit.replace(exit), c.checks.mask);
    c.checks.mask = inverse.counts;
    let value = terms::eval(c, &linear.term);
    c.checks.mask = mask;
    c.overflow_exit = outer;
    c.e.known.set_symbol(inverse.symbol, before);
    let differs = c.e.b.compare(Cond::Ne, value, number);
    unless(c, inverse, differs);
    solution
}
