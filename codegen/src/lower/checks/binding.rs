//! Symbols. The first occurrence of a symbol binds it; at each later occurrence, the number is compared with it.

use crate::declaration::reserved::spelling;
use crate::ir::{Cond, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::inverse::{self, Inverse};
use crate::lower::checks::{scope, terms};
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::failure::NumberCheck;
use crate::lower::routines::records::{NumberRule as Is, place};
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::range::Range;
use crate::resolve::step::{Linear, Place, Rule};
use crate::resolve::term::Term;
use crate::trace::explain;

/// A number that was read at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) value: Value,
    /// A `Bool`: false if the number is ignored, such as the stride of an extent of 1. `None` if the number is never
    /// ignored.
    pub(super) counts: Option<Value>,
}

/// Reads the number at a place, and checks it or binds a symbol to it, as the rule says.
pub(super) fn occurrence(c: &mut Checker<'_, '_>, place: Place, rule: &Rule) {
    let found = found(c, place);
    check_number(c, &found, rule);
}

/// Checks a number or binds a symbol to it, as the rule says.
pub(super) fn check_number(c: &mut Checker<'_, '_>, found: &Found, rule: &Rule) {
    match rule {
        Rule::Any => sign(c, found),
        Rule::Symbol(symbol) => check_symbol(c, *symbol, found),
        Rule::Equal { term, text, uncertain } => compare(c, found, term, text, uncertain),
        Rule::Solve { symbol, text, linear } => {
            sign(c, found);
            match c.e.known.symbol(*symbol) {
                SymbolState::Maybe(known, origin) => {
                    compare_or_solve(c, *symbol, [known, origin], found, (linear, text));
                }
                // The value of the expression is compared. Solving the expression would divide by a coefficient that
                // may be 0.
                SymbolState::Bound(..) => {
                    let expected = terms::eval(c, &linear.term);
                    expect(c, found, (Is::Solve, text), (expected, Origin::UNNAMED));
                    require_equal(c, found, expected, found.counts);
                }
                SymbolState::Unbound => {
                    let solved = solve(c, *symbol, found, (linear, text), found.counts);
                    bind(c, *symbol, solved, found.counts, place::UNNAMED);
                }
            }
        }
    }
}

/// Handles a number whose rule is a symbol alone.
fn check_symbol(c: &mut Checker<'_, '_>, symbol: SymbolId, found: &Found) {
    let name = spelling(c.e.function.symbols[symbol].name);
    let state = c.e.known.symbol(symbol);
    let (expected, origin) = match state {
        SymbolState::Unbound => (None, Origin::NONE),
        SymbolState::Maybe(known, origin) => (Some(known), Origin::Computed(origin)),
        SymbolState::Bound(known, origin) => (Some(known), origin),
    };
    let is_extent = matches!(found.place, Place::Extent { .. });
    let has_sign = is_extent && !c.e.known.is_natural(symbol);
    if has_sign || expected.is_some() {
        fail_as(c, found, (Is::Symbol, &name), (expected, origin));
    }
    if has_sign {
        c.checks.non_negative(&mut c.e.b, found.value);
    } else if is_extent {
        let function = c.e.function;
        let (of, place) = (&function.declared.signature.name, found.place);
        explain!(
            "{of}: the sign of {} is not checked: {name} is not negative",
            place.spelled(&function.values)
        );
    }
    if !c.e.known.is_natural(symbol) {
        let is_new = matches!(state, SymbolState::Unbound);
        let stays = is_new || c.e.known.is_outermost();
        c.e.known.set_natural(symbol, is_extent && found.counts.is_none() && stays);
    }
    if let Place::Value { value } = found.place
        && let Some(scalar) = c.e.function.values[value].ty.scalar()
        && c.e.known.is_outermost()
        && c.e.known.mask(value).is_none()
    {
        c.e.known.restrict(symbol, Range::of(scalar));
    }
    let value = found.place.value();
    // Behind the checks of a function its arguments have places as they have in front of them.
    let reports = c.exits.other().is_none() || c.checks.passed && c.e.function.is_given(value);
    let named = !c.e.function.values[value].dynamic && reports && !state.is_bound();
    let here = if named { c.exits.subjects.packed_place(found.place) } else { place::UNNAMED };
    bind_or_compare(c, symbol, found, here);
    reuse_symbol(c, found.place, symbol, found.counts);
}

/// Uses the value of a symbol as the extent if both are equal in every call, so that the extent need not stay in a
/// register.
fn reuse_symbol(c: &mut Checker<'_, '_>, place: Place, symbol: SymbolId, counts: Option<Value>) {
    if let (Place::Extent { value, dim }, None, SymbolState::Bound(known, _)) =
        (place, counts, c.e.known.symbol(symbol))
    {
        c.e.known.remember(value, |state| {
            state.extents[dim] = Some(known);
            if state.symbols.iter().all(|&(_, other)| other != symbol) {
                state.symbols.push((dim, symbol));
            }
        });
    }
}

/// Checks that a number equals a term if all `uncertain` symbols of the term are bound at run time.
fn compare(
    c: &mut Checker<'_, '_>,
    found: &Found,
    term: &Term,
    text: &str,
    uncertain: &[SymbolId],
) {
    // A term that may fail is computed after the sign of the extent is checked.
    let can_fail = term.can_fail() || terms::may_overflow(c, term);
    let early = uncertain.is_empty() && !can_fail && c.checks.mask.is_none();
    let expected = early.then(|| terms::eval(c, term));
    if let Some(expected) = expected {
        expect(c, found, (Is::Equal, text), (expected, Origin::UNNAMED));
        if term.constant().is_none() && matches!(found.place, Place::Extent { .. }) {
            c.checks.non_negative(&mut c.e.b, found.value);
        }
        return require_equal(c, found, expected, found.counts);
    }
    if term.constant().is_none() {
        sign(c, found);
    }
    let outer = c.checks.mask;
    for &symbol in uncertain {
        // A symbol that is bound only within a union or an element of a sequence is unbound here, so that the rule
        // does not apply.
        let origin = match c.e.known.symbol(symbol) {
            SymbolState::Maybe(_, origin) => origin,
            SymbolState::Bound(..) => continue,
            SymbolState::Unbound => {
                c.checks.mask = outer;
                return;
            }
        };
        let bound = is_bound(c, origin);
        let both = c.checks.mask.map_or(bound, |mask| c.e.b.and(mask, bound));
        c.checks.mask = Some(both);
    }
    let expected = terms::eval(c, term);
    expect(c, found, (Is::Equal, text), (expected, Origin::UNNAMED));
    require_equal(c, found, expected, found.counts);
    c.checks.mask = outer;
}

/// Compares a number with an expression if its symbol is bound, else solves the expression for the symbol.
fn compare_or_solve(
    c: &mut Checker<'_, '_>,
    symbol: SymbolId,
    [known, origin]: [Value; 2],
    found: &Found,
    (linear, text): (&Linear, &str),
) {
    let bound = is_bound(c, origin);
    let expected = c.where_true(bound, |c| terms::eval(c, &linear.term));
    let free = c.e.b.not(bound);
    let (comparing, solving) = match found.counts {
        None => (bound, free),
        Some(counts) => (c.e.b.and(bound, counts), c.e.b.and(free, counts)),
    };
    expect(c, found, (Is::Solve, text), (expected, Origin::UNNAMED));
    require_equal(c, found, expected, Some(comparing));
    let solved = solve(c, symbol, found, (linear, text), Some(solving));
    let solved = c.e.b.select(bound, known, solved);
    let unnamed = c.e.b.i64(place::UNNAMED as i64);
    let state = match found.counts {
        None => SymbolState::Bound(solved, Origin::Computed(c.e.b.select(bound, origin, unnamed))),
        Some(counts) => {
            let zero = c.e.b.i64(0);
            let new = c.e.b.select(counts, unnamed, zero);
            SymbolState::Maybe(solved, c.e.b.select(bound, origin, new))
        }
    };
    c.e.known.set_symbol(symbol, state);
}

/// Returns a `Bool`: true if a symbol is bound, given its origin.
fn is_bound(c: &mut Checker<'_, '_>, origin: Value) -> Value {
    c.e.b.compare_const(Cond::Ne, origin, 0)
}

/// Reads the number at a place.
fn found(c: &mut Checker<'_, '_>, place: Place) -> Found {
    let (value, counts) = match place {
        Place::Value { value } => (c.e.wide(value), None),
        Place::Extent { value, dim } => (c.e.tensor(value).extent(dim), c.e.known.mask(value)),
        Place::Number { value, dim } => (c.e.number_of(value, dim), c.e.known.mask(value)),
        Place::Stride { value, dim } => {
            let counts = c.e.tensor(value).stride_counts(dim);
            let mask = c.e.known.mask(value);
            let counts = mask.map_or(counts, |mask| c.e.b.and(mask, counts));
            (c.e.tensor(value).stride(dim), Some(counts))
        }
    };
    Found { place, value, counts }
}

/// Checks that an extent is not negative.
fn sign(c: &mut Checker<'_, '_>, found: &Found) {
    if matches!(found.place, Place::Extent { .. }) {
        fail_as(c, found, (Is::Any, ""), (None, Origin::NONE));
        c.checks.non_negative(&mut c.e.b, found.value);
    }
}

/// Sets the exit of later checks: its message says which value the rule expects at the place.
fn expect(
    c: &mut Checker<'_, '_>,
    found: &Found,
    rule: (Is, &str),
    (expected, origin): (Value, Origin),
) {
    fail_as(c, found, rule, (Some(expected), origin));
}

/// Sets the exit of later checks: its message names the number, the rule and the expected value if there is one.
fn fail_as(
    c: &mut Checker<'_, '_>,
    found: &Found,
    (rule, text): (Is, &str),
    (expected, origin): (Option<Value>, Origin),
) {
    let (place, found) = (found.place, found.value);
    let check = NumberCheck { place, found, rule, text, expected, origin };
    c.checks.fail = c.exits.number(&mut c.e, check);
}

/// Checks that a number is the expected one if `counts` is true or `None`.
fn require_equal(c: &mut Checker<'_, '_>, found: &Found, expected: Value, counts: Option<Value>) {
    let Some(counts) = counts else {
        return c.checks.equal(&mut c.e.b, found.value, expected);
    };
    let differs = c.e.b.compare(Cond::Ne, found.value, expected);
    let violated = c.e.b.and(counts, differs);
    c.checks.never(&mut c.e.b, violated);
}

/// Compares a number with a symbol, or binds the symbol to it. `here` is the place of the number.
fn bind_or_compare(c: &mut Checker<'_, '_>, symbol: SymbolId, found: &Found, here: u64) {
    match c.e.known.symbol(symbol) {
        SymbolState::Unbound => {}
        SymbolState::Bound(known, _) => require_equal(c, found, known, found.counts),
        SymbolState::Maybe(known, origin) => {
            let bound = is_bound(c, origin);
            let both = found.counts.map_or(bound, |counts| c.e.b.and(bound, counts));
            require_equal(c, found, known, Some(both));
        }
    }
    bind(c, symbol, found.value, found.counts, here);
}

/// Binds a symbol to a value if it is not bound and `counts` is true or `None`.
fn bind(c: &mut Checker<'_, '_>, symbol: SymbolId, value: Value, counts: Option<Value>, here: u64) {
    let place = c.e.b.i64(here as i64);
    let state = match (c.e.known.symbol(symbol), counts) {
        (SymbolState::Unbound, None) => SymbolState::Bound(value, Origin::Known(here)),
        (SymbolState::Unbound, Some(counts)) => {
            let zero = c.e.b.i64(0);
            SymbolState::Maybe(value, c.e.b.select(counts, place, zero))
        }
        (bound @ SymbolState::Bound(..), _) => bound,
        (SymbolState::Maybe(_, origin), None) => {
            let bound = is_bound(c, origin);
            SymbolState::Bound(value, Origin::Computed(c.e.b.select(bound, origin, place)))
        }
        (SymbolState::Maybe(known, origin), Some(counts)) => {
            let (bound, zero) = (is_bound(c, origin), c.e.b.i64(0));
            let new = c.e.b.select(counts, place, zero);
            let origin = c.e.b.select(bound, origin, new);
            SymbolState::Maybe(c.e.b.select(bound, known, value), origin)
        }
    };
    c.e.known.set_symbol(symbol, state);
}

/// Solves a linear expression for its symbol. Leaves with an error if no `int64` solves it. `counts` is a `Bool`:
/// false if it need not be solved, or `None`.
fn solve(
    c: &mut Checker<'_, '_>,
    symbol: SymbolId,
    found: &Found,
    (linear, text): (&Linear, &str),
    counts: Option<Value>,
) -> Value {
    if linear.is_identity() {
        return found.value;
    }
    fail_as(c, found, (Is::Solve, text), (None, Origin::NONE));
    let is_extent = matches!(found.place, Place::Extent { .. });
    let range = if is_extent { Range::NATURAL } else { Range::INT64 };
    let inverse = Inverse { symbol, counts, rounds: false };
    inverse::invert(c, &inverse, linear, (found.value, range))
}

/// Returns the compact stride of a declared dim; 0 if it is no `int64`, since the tensor then has no elements.
fn compact_or_zero(c: &mut Checker<'_, '_>, value: ValueId, dim: usize) -> Value {
    let (compact, flags) = terms::checked_product(c, value, dim + 1);
    let Some(flags) = flags else { return compact };
    let zero = c.e.b.i64(0);
    c.e.b.select(flags, zero, compact)
}

/// Returns the value of a symbol that a compact stride determines unless it is bound. Leaves with an error if no
/// `int64` solves the expression of the stride.
fn settled(
    c: &mut Checker<'_, '_>,
    (symbol, known): (SymbolId, Value),
    bound: Value,
    (value, dim): (ValueId, usize),
    linear: &Linear,
) -> Value {
    let is_settled = c.e.or_absent(value, bound);
    let (unbound, next) = (c.e.b.cold_block("unbound"), c.e.b.block("next"));
    let settled = scope::carried(c, next, symbol, "");
    c.e.b.branch(is_settled, (next, [known]), unbound);
    c.e.b.switch_to(unbound);
    let solution = c.without_dominating(|c| {
        let compact = compact_or_zero(c, value, dim);
        if linear.is_identity() {
            return compact;
        }
        let found = Found { place: Place::Stride { value, dim }, value: compact, counts: None };
        fail_as(c, &found, (Is::Solve, &linear.text), (None, Origin::NONE));
        let inverse = Inverse { symbol, counts: None, rounds: true };
        inverse::invert(c, &inverse, linear, (compact, Range::NATURAL))
    });
    c.e.b.jump(next, &[solution]);
    c.e.b.switch_to(next);
    settled
}

/// Binds a symbol that no stride has bound to the compact value of the first stride that mentions it, if its tensor
/// is there.
pub(super) fn settle_symbol(
    c: &mut Checker<'_, '_>,
    symbol: SymbolId,
    place: Place,
    linear: &Linear,
) {
    let (SymbolState::Maybe(known, origin), Place::Stride { value, dim }) =
        (c.e.known.symbol(symbol), place)
    else {
        return;
    };
    let bound = is_bound(c, origin);
    let there = c.e.known.mask(value);
    let is_extent = c.e.tensor(value).rank() - dim <= 2;
    let settled = if linear.is_identity() && (is_extent || c.e.b.is_cold()) {
        let compact = compact_or_zero(c, value, dim);
        c.e.b.select(bound, known, compact)
    } else {
        settled(c, (symbol, known), bound, (value, dim), linear)
    };
    let unnamed = c.e.b.i64(place::UNNAMED as i64);
    let state = match there {
        None => {
            let origin = Origin::Computed(c.e.b.select(bound, origin, unnamed));
            SymbolState::Bound(settled, origin)
        }
        Some(there) => {
            let zero = c.e.b.i64(0);
            let new = c.e.b.select(there, unnamed, zero);
            SymbolState::Maybe(settled, c.e.b.select(bound, origin, new))
        }
    };
    c.e.known.set_symbol(symbol, state);
}
