//! Symbols: occurrences that bind them or are compared.

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::operators;
use crate::lower::state::{Scope, SymbolState};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::SymbolId;
use crate::resolve::operator::Unary;
use crate::resolve::step::{Linear, Place, Rule};
use crate::resolve::term::Term;

impl Wrapper<'_, '_> {
    /// Checks one occurrence, or binds a symbol by it.
    pub(crate) fn occurrence(&mut self, place: Place, rule: &Rule) {
        let (value, counts) = self.place(place);
        match rule {
            Rule::Any => self.sign(place, value),
            Rule::Symbol(symbol) => {
                let extent = matches!(place, Place::Extent { .. });
                if !self.known_sign[*symbol] {
                    self.sign(place, value);
                    let new = matches!(self.symbols[*symbol], SymbolState::Unbound);
                    let stays = new || self.scope == Scope::OUTER;
                    self.known_sign[*symbol] = extent && counts.is_none() && stays;
                }
                self.bind(*symbol, value, counts);
                self.is_symbol(place, *symbol, counts);
            }
            Rule::Equal { term, uncertain, .. } => {
                if term.constant().is_none() {
                    self.sign(place, value);
                }
                self.compare(value, term, uncertain, counts);
            }
            Rule::Solve { symbol, linear, .. } => {
                self.sign(place, value);
                match self.symbols[*symbol] {
                    SymbolState::Maybe(known, bound) => {
                        self.compare_or_solve(*symbol, [value, known, bound], linear, counts);
                    }
                    // A symbol that is known is compared. Solving for it would divide by a coefficient that may be 0.
                    SymbolState::Bound(known) => {
                        let expected = self.linear(linear, known);
                        self.require_equal(value, expected, counts);
                    }
                    SymbolState::Unbound => {
                        let solved = self.solve(value, linear, counts);
                        self.bind(*symbol, solved, counts);
                    }
                }
            }
        }
    }

    /// An extent that always equals a symbol is known by that from now on: it need not be kept.
    fn is_symbol(&mut self, place: Place, symbol: SymbolId, counts: Option<Value>) {
        if let (Place::Extent { value, dim }, None, SymbolState::Bound(known)) =
            (place, counts, self.symbols[symbol])
        {
            self.remember(value, |state| {
                state.extents[dim] = Some(known);
                if state.symbols.iter().all(|&(_, other)| other != symbol) {
                    state.symbols.push((dim, symbol));
                }
            });
        }
    }

    /// Compares a number with a term, where what may not be bound is.
    fn compare(
        &mut self,
        value: Value,
        term: &Term,
        uncertain: &[SymbolId],
        counts: Option<Value>,
    ) {
        let outer = self.checks.mask;
        for &symbol in uncertain {
            // What a union or an element of a sequence has bound is compared elsewhere.
            let bound = match self.symbols[symbol] {
                SymbolState::Maybe(_, bound) => bound,
                SymbolState::Bound(_) => continue,
                SymbolState::Unbound => return,
            };
            let both = self.checks.mask.map_or(bound, |mask| self.b.and(mask, bound));
            self.checks.mask = Some(both);
        }
        let expected = self.term(term);
        self.require_equal(value, expected, counts);
        self.checks.mask = outer;
    }

    /// Compares a number with an expression of a symbol that is bound, or solves it for one that is not.
    fn compare_or_solve(
        &mut self,
        symbol: SymbolId,
        [value, known, bound]: [Value; 3],
        linear: &Linear,
        counts: Option<Value>,
    ) {
        let expected = self.linear(linear, known);
        let free = self.b.not(bound);
        let (comparing, solving) = match counts {
            None => (bound, free),
            Some(counts) => (self.b.and(bound, counts), self.b.and(free, counts)),
        };
        self.require_equal(value, expected, Some(comparing));
        let solved = self.solve(value, linear, Some(solving));
        let solved = self.b.select(bound, known, solved);
        self.symbols[symbol] = match counts {
            None => SymbolState::Bound(solved),
            Some(counts) => SymbolState::Maybe(solved, self.b.or(bound, counts)),
        };
    }

    /// The number at a place, and for a stride whether it counts.
    fn place(&mut self, place: Place) -> (Value, Option<Value>) {
        match place {
            Place::Value { value } => (self.wide(value), None),
            Place::Extent { value, dim } => (self.extent(value, dim), self.mask(value)),
            Place::Number { value, dim } => (self.number_of(value, dim), self.mask(value)),
            Place::Stride { value, dim } => {
                let counts = self.stride_counts(value, dim);
                let mask = self.mask(value);
                let counts = mask.map_or(counts, |mask| self.b.and(mask, counts));
                (self.stride(value, dim), Some(counts))
            }
        }
    }

    /// Extents are never negative.
    fn sign(&mut self, place: Place, value: Value) {
        if matches!(place, Place::Extent { .. }) {
            self.checks.non_negative(&mut self.b, value);
        }
    }

    /// Requires equality, where the place counts.
    fn require_equal(&mut self, value: Value, expected: Value, counts: Option<Value>) {
        let Some(counts) = counts else {
            return self.checks.equal(&mut self.b, value, expected);
        };
        let differs = self.b.compare(Cond::Ne, value, expected);
        let violated = self.b.and(counts, differs);
        self.checks.never(&mut self.b, violated);
    }

    fn bind(&mut self, symbol: SymbolId, value: Value, counts: Option<Value>) {
        self.symbols[symbol] = match (self.symbols[symbol], counts) {
            (SymbolState::Unbound, None) => SymbolState::Bound(value),
            (SymbolState::Unbound, Some(counts)) => SymbolState::Maybe(value, counts),
            (SymbolState::Bound(known), counts) => {
                self.require_equal(value, known, counts);
                SymbolState::Bound(known)
            }
            (SymbolState::Maybe(known, bound), None) => {
                self.require_equal(value, known, Some(bound));
                SymbolState::Bound(value)
            }
            (SymbolState::Maybe(known, bound), Some(counts)) => {
                let both = self.b.and(bound, counts);
                self.require_equal(value, known, Some(both));
                let either = self.b.or(bound, counts);
                SymbolState::Maybe(self.b.select(bound, known, value), either)
            }
        };
    }

    /// The value of a linear expression where its symbol has this one.
    fn linear(&mut self, linear: &Linear, symbol: Value) -> Value {
        let constant = self.term(&linear.constant);
        let coefficient = self.term(&linear.coefficient);
        let product = self.b.binary(Binary::Mul, coefficient, symbol);
        self.b.binary(Binary::Add, product, constant)
    }

    /// The symbol's value for which the linear expression has this value; there must be one.
    fn solve(&mut self, value: Value, linear: &Linear, counts: Option<Value>) -> Value {
        if linear.is_identity() {
            return value;
        }
        let constant_part = self.term(&linear.constant);
        let difference = self.b.binary(Binary::Sub, value, constant_part);
        match linear.coefficient.constant() {
            Some(1) => return difference,
            Some(-1) => return operators::unary(&mut self.b, Unary::Neg, difference),
            Some(_) | None => {}
        }
        let coefficient = self.term(&linear.coefficient);
        let quotient = self.divide_unless_zero(difference, coefficient, counts);
        let product = self.b.binary(Binary::Mul, quotient, coefficient);
        self.require_equal(product, difference, counts);
        quotient
    }

    /// Floor division that requires a divisor that is not zero only where the place counts.
    fn divide_unless_zero(&mut self, value: Value, by: Value, counts: Option<Value>) -> Value {
        let zero = self.b.compare_const(Cond::Eq, by, 0);
        let violated = match counts {
            Some(counts) => self.b.and(zero, counts),
            None => zero,
        };
        self.checks.never(&mut self.b, violated);
        let one = self.b.i64(1);
        let by = self.b.select(zero, one, by);
        operators::floor(&mut self.b, value, by).0
    }

    /// A symbol that no stride has bound takes the compact value of its first one.
    pub(crate) fn settle_symbol(&mut self, symbol: SymbolId, place: Place, linear: &Linear) {
        let (SymbolState::Maybe(known, bound), Place::Stride { value, dim }) =
            (self.symbols[symbol], place)
        else {
            return;
        };
        let compact = self.compact_stride(value, dim);
        let fallback = if linear.is_identity() {
            compact
        } else {
            let constant = self.term(&linear.constant);
            let difference = self.b.binary(Binary::Sub, compact, constant);
            let coefficient = self.term(&linear.coefficient);
            let never = self.b.constant(Type::Bool, 0);
            self.divide_unless_zero(difference, coefficient, Some(never))
        };
        self.symbols[symbol] = SymbolState::Bound(self.b.select(bound, known, fallback));
    }
}
