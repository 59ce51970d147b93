//! Symbols. The first occurrence of a symbol binds it; at each later occurrence, the number is compared with it.

use crate::ir::{Cond, Value};
use crate::language::spelled;
use crate::lower::emitter::state::{Origin, Scope, SymbolState};
use crate::lower::failure::NumberCheck;
use crate::lower::prologue::inverse::Inverse;
use crate::lower::routines::records::{NumberRule as Is, place};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::range::Range;
use crate::resolve::step::{Linear, Place, Rule};
use crate::resolve::term::Term;

/// A number that was read at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) value: Value,
    /// A `Bool`: false if the number is ignored, such as the stride of an extent of 1. `None` if the number is never
    /// ignored.
    pub(super) counts: Option<Value>,
}

impl Wrapper<'_, '_> {
    /// Reads the number at a place, and checks it or binds a symbol to it, as the rule says.
    pub(crate) fn occurrence(&mut self, place: Place, rule: &Rule) {
        let found = self.found(place);
        self.check_number(&found, rule);
    }

    /// Checks a number or binds a symbol to it, as the rule says.
    pub(super) fn check_number(&mut self, found: &Found, rule: &Rule) {
        match rule {
            Rule::Any => self.sign(found),
            Rule::Symbol(symbol) => self.check_symbol(*symbol, found),
            Rule::Equal { term, text, uncertain } => self.compare(found, term, text, uncertain),
            Rule::Solve { symbol, text, linear } => match self.symbols[*symbol] {
                SymbolState::Maybe(known, origin) => {
                    self.sign(found);
                    self.compare_or_solve(*symbol, [known, origin], found, (linear, text));
                }
                // The value of the expression is compared. Solving the expression would divide by a coefficient that
                // may be 0.
                SymbolState::Bound(known, _) => {
                    self.sign(found);
                    debug_assert_eq!(self.known(*symbol), Some(known));
                    let expected = self.term(&linear.term);
                    self.expect(found, (Is::Solve, text), (expected, Origin::UNNAMED));
                    self.require_equal(found, expected, found.counts);
                }
                SymbolState::Unbound => {
                    self.sign(found);
                    let solved = self.solve(*symbol, found, (linear, text), found.counts);
                    self.bind(*symbol, solved, found.counts, place::UNNAMED);
                }
            },
        }
    }

    /// Handles a number whose rule is a symbol alone.
    fn check_symbol(&mut self, symbol: SymbolId, found: &Found) {
        let name = spelled(self.function.symbols[symbol].name).to_string();
        let state = self.symbols[symbol];
        let (expected, origin) = match state {
            SymbolState::Unbound => (None, Origin::NONE),
            SymbolState::Maybe(known, origin) => (Some(known), Origin::Told(origin)),
            SymbolState::Bound(known, origin) => (Some(known), origin),
        };
        let is_extent = matches!(found.place, Place::Extent { .. });
        let has_sign = is_extent && !self.known_sign[symbol];
        if has_sign || expected.is_some() {
            self.fail_as(found, (Is::Symbol, &name), (expected, origin));
        }
        if has_sign {
            self.checks.non_negative(&mut self.b, found.value);
        }
        if !self.known_sign[symbol] {
            let is_new = matches!(state, SymbolState::Unbound);
            let stays = is_new || self.scope == Scope::OUTER;
            self.known_sign[symbol] = is_extent && found.counts.is_none() && stays;
        }
        if let Place::Value { value } = found.place
            && let Some(scalar) = self.function.values[value].ty.scalar()
            && self.scope == Scope::OUTER
            && self.mask(value).is_none()
        {
            self.bounds[symbol] = self.bounds[symbol].and(Range::of(scalar));
        }
        let is_named = !self.function.values[found.place.value()].dynamic;
        let named = is_named && self.exits.other.is_none() && !state.is_bound();
        let here = if named { self.packed_place(found.place) } else { place::UNNAMED };
        self.bind_or_compare(symbol, found, here);
        self.reuse_symbol(found.place, symbol, found.counts);
    }

    /// Uses the value of a symbol as the extent if both are equal in every call, so that the extent need not stay in a
    /// register.
    fn reuse_symbol(&mut self, place: Place, symbol: SymbolId, counts: Option<Value>) {
        if let (Place::Extent { value, dim }, None, SymbolState::Bound(known, _)) =
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

    /// Checks that a number equals a term if all `uncertain` symbols of the term are bound at run time.
    fn compare(&mut self, found: &Found, term: &Term, text: &str, uncertain: &[SymbolId]) {
        // A term that may fail is computed after the sign of the extent is checked.
        let can_fail = term.can_fail() || self.may_overflow(term);
        let early = uncertain.is_empty() && !can_fail && self.checks.mask.is_none();
        let expected = early.then(|| self.term(term));
        if let Some(expected) = expected {
            self.expect(found, (Is::Equal, text), (expected, Origin::UNNAMED));
            if term.constant().is_none() && matches!(found.place, Place::Extent { .. }) {
                self.checks.non_negative(&mut self.b, found.value);
            }
            return self.require_equal(found, expected, found.counts);
        }
        if term.constant().is_none() {
            self.sign(found);
        }
        let outer = self.checks.mask;
        for &symbol in uncertain {
            // A symbol that is bound only within a union or an element of a sequence is unbound here, so that the rule
            // does not apply.
            let origin = match self.symbols[symbol] {
                SymbolState::Maybe(_, origin) => origin,
                SymbolState::Bound(..) => continue,
                SymbolState::Unbound => {
                    self.checks.mask = outer;
                    return;
                }
            };
            let bound = self.is_bound(origin);
            let both = self.checks.mask.map_or(bound, |mask| self.b.and(mask, bound));
            self.checks.mask = Some(both);
        }
        let expected = self.term(term);
        self.expect(found, (Is::Equal, text), (expected, Origin::UNNAMED));
        self.require_equal(found, expected, found.counts);
        self.checks.mask = outer;
    }

    /// Compares a number with an expression if its symbol is bound, else solves the expression for the symbol.
    fn compare_or_solve(
        &mut self,
        symbol: SymbolId,
        [known, origin]: [Value; 2],
        found: &Found,
        (linear, text): (&Linear, &str),
    ) {
        let bound = self.is_bound(origin);
        let expected = self.where_true(bound, |w| w.term(&linear.term));
        let free = self.b.not(bound);
        let (comparing, solving) = match found.counts {
            None => (bound, free),
            Some(counts) => (self.b.and(bound, counts), self.b.and(free, counts)),
        };
        self.expect(found, (Is::Solve, text), (expected, Origin::UNNAMED));
        self.require_equal(found, expected, Some(comparing));
        let solved = self.solve(symbol, found, (linear, text), Some(solving));
        let solved = self.b.select(bound, known, solved);
        let unnamed = self.b.i64(place::UNNAMED as i64);
        self.symbols[symbol] = match found.counts {
            None => SymbolState::Bound(solved, Origin::Told(self.b.select(bound, origin, unnamed))),
            Some(counts) => {
                let zero = self.b.i64(0);
                let new = self.b.select(counts, unnamed, zero);
                SymbolState::Maybe(solved, self.b.select(bound, origin, new))
            }
        };
    }

    /// Returns a `Bool`: true if a symbol is bound, given its origin.
    fn is_bound(&mut self, origin: Value) -> Value {
        self.b.compare_const(Cond::Ne, origin, 0)
    }

    /// Reads the number at a place.
    fn found(&mut self, place: Place) -> Found {
        let (value, counts) = match place {
            Place::Value { value } => (self.wide(value), None),
            Place::Extent { value, dim } => (self.extent(value, dim), self.mask(value)),
            Place::Number { value, dim } => (self.number_of(value, dim), self.mask(value)),
            Place::Stride { value, dim } => {
                let counts = self.stride_counts(value, dim);
                let mask = self.mask(value);
                let counts = mask.map_or(counts, |mask| self.b.and(mask, counts));
                (self.stride(value, dim), Some(counts))
            }
        };
        Found { place, value, counts }
    }

    /// Checks that an extent is not negative.
    fn sign(&mut self, found: &Found) {
        if matches!(found.place, Place::Extent { .. }) {
            self.fail_as(found, (Is::Any, ""), (None, Origin::NONE));
            self.checks.non_negative(&mut self.b, found.value);
        }
    }

    /// Sets the exit of later checks: its message says which value the rule expects at the place.
    fn expect(&mut self, found: &Found, rule: (Is, &str), (expected, origin): (Value, Origin)) {
        self.fail_as(found, rule, (Some(expected), origin));
    }

    /// Sets the exit of later checks: its message names the number, the rule and the expected value if there is one.
    fn fail_as(
        &mut self,
        found: &Found,
        (rule, text): (Is, &str),
        (expected, origin): (Option<Value>, Origin),
    ) {
        let (place, found) = (found.place, found.value);
        let check = NumberCheck { place, found, rule, text, expected, origin };
        self.checks.fail = self.number_exit(check);
    }

    /// Checks that a number is the expected one if `counts` is true or `None`.
    fn require_equal(&mut self, found: &Found, expected: Value, counts: Option<Value>) {
        let Some(counts) = counts else {
            return self.checks.equal(&mut self.b, found.value, expected);
        };
        let differs = self.b.compare(Cond::Ne, found.value, expected);
        let violated = self.b.and(counts, differs);
        self.checks.never(&mut self.b, violated);
    }

    /// Compares a number with a symbol, or binds the symbol to it. `here` is the place of the number.
    fn bind_or_compare(&mut self, symbol: SymbolId, found: &Found, here: u64) {
        match self.symbols[symbol] {
            SymbolState::Unbound => {}
            SymbolState::Bound(known, _) => self.require_equal(found, known, found.counts),
            SymbolState::Maybe(known, origin) => {
                let bound = self.is_bound(origin);
                let both = found.counts.map_or(bound, |counts| self.b.and(bound, counts));
                self.require_equal(found, known, Some(both));
            }
        }
        self.bind(symbol, found.value, found.counts, here);
    }

    /// Binds a symbol to a value if it is not bound and `counts` is true or `None`.
    fn bind(&mut self, symbol: SymbolId, value: Value, counts: Option<Value>, here: u64) {
        let place = self.b.i64(here as i64);
        self.symbols[symbol] = match (self.symbols[symbol], counts) {
            (SymbolState::Unbound, None) => SymbolState::Bound(value, Origin::Known(here)),
            (SymbolState::Unbound, Some(counts)) => {
                let zero = self.b.i64(0);
                SymbolState::Maybe(value, self.b.select(counts, place, zero))
            }
            (bound @ SymbolState::Bound(..), _) => bound,
            (SymbolState::Maybe(_, origin), None) => {
                let bound = self.is_bound(origin);
                SymbolState::Bound(value, Origin::Told(self.b.select(bound, origin, place)))
            }
            (SymbolState::Maybe(known, origin), Some(counts)) => {
                let (bound, zero) = (self.is_bound(origin), self.b.i64(0));
                let new = self.b.select(counts, place, zero);
                let origin = self.b.select(bound, origin, new);
                SymbolState::Maybe(self.b.select(bound, known, value), origin)
            }
        };
    }

    /// Emits code whose checks apply only if a condition holds, besides the conditions of the code around it.
    fn where_true<T>(&mut self, condition: Value, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.checks.mask;
        let both = outer.map_or(condition, |outer| self.b.and(outer, condition));
        self.checks.mask = Some(both);
        let value = body(self);
        self.checks.mask = outer;
        value
    }

    /// Solves a linear expression for its symbol. Leaves with an error if no `int64` solves it. `counts` is a `Bool`:
    /// false if it need not be solved, or `None`.
    fn solve(
        &mut self,
        symbol: SymbolId,
        found: &Found,
        (linear, text): (&Linear, &str),
        counts: Option<Value>,
    ) -> Value {
        if linear.is_identity() {
            return found.value;
        }
        self.fail_as(found, (Is::Solve, text), (None, Origin::NONE));
        let is_extent = matches!(found.place, Place::Extent { .. });
        let range = if is_extent { Range::NATURAL } else { Range::INT64 };
        let inverse = Inverse { symbol, counts, rounds: false };
        self.invert(&inverse, linear, (found.value, range))
    }

    /// Returns the compact stride of a declared dim; 0 if it is no `int64`, since the tensor then has no elements.
    fn compact_or_zero(&mut self, value: ValueId, dim: usize) -> Value {
        let (compact, flags) = self.checked_product(value, dim + 1);
        let Some(flags) = flags else { return compact };
        let zero = self.b.i64(0);
        self.b.select(flags, zero, compact)
    }

    /// Returns the value of a symbol that a compact stride determines unless it is bound. Leaves with an error if no
    /// `int64` solves the expression of the stride.
    fn settled(
        &mut self,
        (symbol, known): (SymbolId, Value),
        bound: Value,
        (value, dim): (ValueId, usize),
        linear: &Linear,
    ) -> Value {
        let is_settled = match self.mask(value) {
            None => bound,
            Some(there) => {
                let absent = self.b.not(there);
                self.b.or(bound, absent)
            }
        };
        let (unbound, next) = (self.b.cold_block("unbound"), self.b.block("next"));
        let settled = self.carried(next, symbol, "");
        self.b.branch(is_settled, (next, [known]), unbound);
        self.b.switch_to(unbound);
        let solution = self.without_dominating(|w| {
            let compact = w.compact_or_zero(value, dim);
            if linear.is_identity() {
                return compact;
            }
            let found = Found { place: Place::Stride { value, dim }, value: compact, counts: None };
            w.fail_as(&found, (Is::Solve, &linear.text), (None, Origin::NONE));
            let inverse = Inverse { symbol, counts: None, rounds: true };
            w.invert(&inverse, linear, (compact, Range::NATURAL))
        });
        self.b.jump(next, &[solution]);
        self.b.switch_to(next);
        settled
    }

    /// Binds a symbol that no stride has bound to the compact value of the first stride that mentions it, if its tensor
    /// is there.
    pub(crate) fn settle_symbol(&mut self, symbol: SymbolId, place: Place, linear: &Linear) {
        let (SymbolState::Maybe(known, origin), Place::Stride { value, dim }) =
            (self.symbols[symbol], place)
        else {
            return;
        };
        let bound = self.is_bound(origin);
        let there = self.mask(value);
        let is_extent = self.rank(value) - dim <= 2;
        let settled = if linear.is_identity() && (is_extent || self.b.is_cold()) {
            let compact = self.compact_or_zero(value, dim);
            self.b.select(bound, known, compact)
        } else {
            self.settled((symbol, known), bound, (value, dim), linear)
        };
        let unnamed = self.b.i64(place::UNNAMED as i64);
        self.symbols[symbol] = match there {
            None => {
                let origin = Origin::Told(self.b.select(bound, origin, unnamed));
                SymbolState::Bound(settled, origin)
            }
            Some(there) => {
                let zero = self.b.i64(0);
                let new = self.b.select(there, unnamed, zero);
                SymbolState::Maybe(settled, self.b.select(bound, origin, new))
            }
        };
    }
}
