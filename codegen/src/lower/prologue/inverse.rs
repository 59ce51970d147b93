//! Solution of linear expressions for their symbol.

use crate::ir::{Binary, Cond, Value};
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::operators;
use crate::lower::wrapper::Wrapper;
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

impl Wrapper<'_, '_> {
    /// Solves `linear = number` for the symbol. Leaves through the exit of the current checks if no `int64` solves it.
    pub(super) fn invert(&mut self, inverse: &Inverse, linear: &Linear, number: Number) -> Value {
        if linear.is_once(inverse.symbol) {
            return self.undo(inverse, &linear.term, number);
        }
        self.solve_sum(inverse, linear, number.0)
    }

    /// Undoes the operations of a term that mentions the symbol once, the outermost first, so that every step of the
    /// term has the number that it had.
    fn undo(&mut self, inverse: &Inverse, term: &Term, (number, range): Number) -> Value {
        let Node::Exact(op, operands, _) = &term.node else { return number };
        let [first, second] = &operands[..] else { return number };
        let is_first = mentions(first, inverse.symbol);
        let (inner, other) = if is_first { (first, second) } else { (second, first) };
        let undone = match (op, is_first) {
            (Exact::Add, _) => self.step(inverse, Exact::Sub, (number, range), other, true),
            (Exact::Sub, true) => self.step(inverse, Exact::Add, (number, range), other, true),
            (Exact::Sub, false) => self.step(inverse, Exact::Sub, (number, range), other, false),
            (Exact::Mul, _) => self.divided(inverse, (number, range), other),
        };
        self.undo(inverse, inner, undone)
    }

    /// Returns the sum or difference of a number and a term, in this order if `is_left`. Leaves if it is no `int64`.
    fn step(
        &mut self,
        inverse: &Inverse,
        op: Exact,
        (number, range): Number,
        other: &Term,
        is_left: bool,
    ) -> Number {
        let other_range = self.range(other);
        let other = self.term(other);
        let (values, ranges) = match is_left {
            true => ([number, other], [range, other_range]),
            false => ([other, number], [other_range, range]),
        };
        let range = Range::exact(op, ranges[0], ranges[1]);
        if range.fits() || self.checks.passed {
            let result = operators::wrapping(&mut self.b, op, values[0], values[1]);
            return (result, range.and(Range::INT64));
        }
        let (result, flag) = self.b.checked(operators::checked(op), values[0], values[1]);
        self.unless(inverse, flag);
        (result, range.and(Range::INT64))
    }

    /// Returns the quotient of a number and a term. Leaves if it is no `int64`, or not exact.
    fn divided(&mut self, inverse: &Inverse, (number, range): Number, by: &Term) -> Number {
        let by_range = self.range(by);
        if let Some(by) = by.constant() {
            let quotient = operators::divide_by(&mut self.b, Division::Div, number, by);
            if by == -1 && range.has(i64::MIN) {
                let least = self.b.compare_const(Cond::Eq, number, i64::MIN);
                self.unless(inverse, least);
            }
            let by = self.b.i64(by);
            self.require_product(inverse, [quotient, by], number);
            return (quotient, Range::divide(Division::Div, range, by_range).and(Range::INT64));
        }
        let by = self.term(by);
        let zero = self.b.compare_const(Cond::Eq, by, 0);
        if !inverse.rounds {
            self.unless(inverse, zero);
        }
        let one = self.b.i64(1);
        let divisor = self.b.select(zero, one, by);
        if range.has(i64::MIN) && by_range.has(-1) {
            let is_least = self.b.compare_const(Cond::Eq, number, i64::MIN);
            let is_minus_one = self.b.compare_const(Cond::Eq, divisor, -1);
            let both = self.b.and(is_least, is_minus_one);
            self.unless(inverse, both);
        }
        let (quotient, _) = operators::floor(&mut self.b, number, divisor);
        self.require_product(inverse, [quotient, by], number);
        (quotient, Range::INT64)
    }

    /// Leaves unless a quotient is exact.
    fn require_product(&mut self, inverse: &Inverse, factors: [Value; 2], number: Value) {
        if !inverse.rounds {
            let product = self.b.binary(Binary::Mul, factors[0], factors[1]);
            let differs = self.b.compare(Cond::Ne, product, number);
            self.unless(inverse, differs);
        }
    }

    /// Leaves if a condition holds where the solution counts.
    fn unless(&mut self, inverse: &Inverse, condition: Value) {
        let condition = match inverse.counts {
            Some(counts) => self.b.and(counts, condition),
            None => condition,
        };
        self.checks.never(&mut self.b, condition);
    }

    /// Solves an expression that mentions the symbol more than once: computes a solution modulo 2^64, and whether the
    /// expression really has the number there.
    fn solve_sum(&mut self, inverse: &Inverse, linear: &Linear, number: Value) -> Value {
        let exit = self.checks.fail;
        let outer = std::mem::replace(&mut self.checks.passed, true);
        let constant = self.term(&linear.constant);
        let coefficient = self.term(&linear.coefficient);
        self.checks.passed = outer;
        let difference = self.b.binary(Binary::Sub, number, constant);
        let zero = self.b.compare_const(Cond::Eq, coefficient, 0);
        let one = self.b.i64(1);
        let divisor = self.b.select(zero, one, coefficient);
        let (solution, _) = operators::floor(&mut self.b, difference, divisor);
        if inverse.rounds {
            return solution;
        }
        self.unless(inverse, zero);
        let before = self.symbols[inverse.symbol];
        self.symbols[inverse.symbol] = SymbolState::Bound(solution, Origin::UNNAMED);
        let (outer, mask) = (self.overflow_exit.replace(exit), self.checks.mask);
        self.checks.mask = inverse.counts;
        let value = self.term(&linear.term);
        self.checks.mask = mask;
        self.overflow_exit = outer;
        self.symbols[inverse.symbol] = before;
        let differs = self.b.compare(Cond::Ne, value, number);
        self.unless(inverse, differs);
        solution
    }
}
