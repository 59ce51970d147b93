//! Explaining extents, strides and integer parameters.

use crate::ir::{Binary, Builder, Cond, Type, Value};
use crate::lower::explain::codes::{Head, RuleCode, Suffix, Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::schema::At;
use crate::lower::operators::floor;

/// What the check of one occurrence has found out.
#[derive(Clone, Copy)]
struct Found {
    s: Value,
    step: At<step::Occurrence>,
    /// What messages name first.
    head: Value,
    /// The number at the place.
    value: Value,
    /// A `Bool`: it is to be compared, or to bind.
    counts: Value,
}

/// `(state)`: one occurrence.
pub(crate) fn occurrence(b: &mut Builder<'_>, used: Used) {
    let (s, step) = b.step::<step::Occurrence>();
    let rule = b.take_word(s);
    let head = step.head(b).address(b);
    let [value, counts] = load(b, used, [s, head], step);
    let counts = b.compare_const(Cond::Ne, counts, 0);
    let found = Found { s, step, head, value, counts };
    let known = b.block("rules");
    b.when(used, rule, RuleCode::Any, known, |_| []);
    b.when(used, rule, RuleCode::Symbol, known, |b| symbol(b, found, head));
    b.when(used, rule, RuleCode::SymbolOfMany, known, |b| {
        let unnamed = b.i64(1);
        symbol(b, found, unnamed)
    });
    b.when(used, rule, RuleCode::Equal, known, |b| equal(b, found));
    b.when(used, rule, RuleCode::Solve, known, |b| solve(b, found));
    b.unknown(s, rule);
    b.switch_to(known);
    b.return_code(0);
}

/// The number, and 1 if it counts; no extent may be negative.
fn load(
    b: &mut Builder<'_>,
    used: Used,
    [s, head]: [Value; 2],
    step: At<step::Occurrence>,
) -> [Value; 2] {
    let (at, one) = (step.head(b), b.i64(1));
    let place = at.place(b);
    let (slot, suffix, dim) = (at.slot(b), place.suffix(b), place.index(b));
    let loaded = b.block("loaded");
    let found = [Type::I64; 2].map(|ty| b.block_param(loaded, ty, crate::ir::Hint::default()));
    b.when(used, suffix, Suffix::None, loaded, |b| {
        b.any_of(s, at);
        [b.symbol_value(s, slot), one]
    });
    b.when(used, suffix, Suffix::Number, loaded, |b| {
        let shape = b.object_of(s, at);
        [b.routine_value(Routine::NumberAt, &[shape, dim]), one]
    });
    b.when(used, suffix, Suffix::Shape, loaded, |b| {
        let [_, extent] = dim_of(b, s, at, dim);
        let negative = b.compare_const(Cond::Slt, extent, 0);
        b.refuse(s, negative, Complaint::Negative, &[head, extent]);
        [extent, one]
    });
    b.when(used, suffix, Suffix::Strides, loaded, |b| {
        let [dl, extent] = dim_of(b, s, at, dim);
        let stride = b.routine_value(Routine::StrideAt, &[dl, dim]);
        let several = b.compare_const(Cond::Sgt, extent, 1);
        let elements = b.ask(Routine::NotEmpty, &[dl]);
        let both = b.and(several, elements);
        [stride, b.truth(both)]
    });
    b.unknown(s, suffix);
    b.switch_to(loaded);
    found
}

/// A tensor, and one of its extents.
fn dim_of(b: &mut Builder<'_>, s: Value, head: At<Head>, dim: Value) -> [Value; 2] {
    let dl = b.tensor_of(s, head);
    b.has_dim(s, dl, dim);
    [dl, b.extent(dl, dim)]
}

impl Builder<'_> {
    /// Evaluates an expression; returns if that has raised.
    pub(crate) fn evaluate_or_stop(&mut self, s: Value) -> Value {
        use crate::lower::explain::routines::state::Field;
        self.try_routine(Routine::Evaluate, &[s]);
        let operands = self.field(s, Field::Operands);
        self.load(Type::I64, operands, 0)
    }
}

/// Binds the symbol, or compares with it. Messages name the place that bound it, unless that is 1.
fn symbol(b: &mut Builder<'_>, found: Found, place: Value) -> [Value; 0] {
    let Found { s, step, head, value, .. } = found;
    bind(b, found, value, place, |b, [known, origin]| {
        let placed = b.compare_const(Cond::Ne, origin, 1);
        b.refuse(s, placed, Complaint::SymbolAt, &[head, known, origin, value]);
        let name = step.shown(b).address(b);
        b.complain(s, Complaint::Symbol, &[head, known, name, value]);
    });
    []
}

/// Binds the symbol to a value where the place counts, or calls `mismatch` with the symbol's value and origin
/// if it is bound to another.
fn bind(
    b: &mut Builder<'_>,
    found: Found,
    value: Value,
    place: Value,
    mismatch: impl FnOnce(&mut Builder<'_>, [Value; 2]),
) {
    let Found { s, step, counts, .. } = found;
    let symbol = step.symbol(b);
    let origin = b.origin(s, symbol);
    b.if_then(counts, |b| {
        let bound = b.load(Type::I64, origin, 0);
        let free = b.compare_const(Cond::Eq, bound, 0);
        b.if_then(free, |b| {
            b.set_slot(s, symbol, value);
            // In a union no message names the place, and what is bound there is forgotten after it.
            let quiet = b.is_quiet(s);
            let (place, mark) = (b.as_word(place), b.union_mark(s));
            let place = b.select(quiet, mark, place);
            b.store(place, origin, 0);
            b.return_code(0);
        });
        let known = b.symbol_value(s, symbol);
        let differs = b.compare(Cond::Ne, known, value);
        b.if_then(differs, |b| mismatch(b, [known, bound]));
    });
}

/// Compares with an expression.
fn equal(b: &mut Builder<'_>, found: Found) -> [Value; 0] {
    let Found { s, step, head, value, counts } = found;
    let expected = b.evaluate_or_stop(s);
    let differs = b.compare(Cond::Ne, value, expected);
    let wrong = b.and(counts, differs);
    b.if_then(wrong, |b| {
        let shown = step.shown(b);
        let length = shown.span().length(b);
        let plain = b.compare_const(Cond::Eq, length, 0);
        b.refuse(s, plain, Complaint::Constant, &[head, expected, value]);
        let shown = shown.address(b);
        b.complain(s, Complaint::Symbol, &[head, expected, shown, value]);
    });
    []
}

/// Solves coefficient · symbol + constant = value.
fn solve(b: &mut Builder<'_>, found: Found) -> [Value; 0] {
    let Found { s, step, head, value, counts } = found;
    let coefficient = b.evaluate_or_stop(s);
    let constant = b.evaluate_or_stop(s);
    let symbol = step.symbol(b);
    let origin = b.origin(s, symbol);
    let bound = b.load(Type::I64, origin, 0);
    let bound = b.compare_const(Cond::Ne, bound, 0);
    let shown = step.shown(b).address(b);
    b.if_then(bound, |b| {
        let known = b.symbol_value(s, symbol);
        let expected = b.binary(Binary::Mul, known, coefficient);
        let expected = b.binary(Binary::Add, expected, constant);
        let differs = b.compare(Cond::Ne, expected, value);
        let wrong = b.and(differs, counts);
        b.refuse(s, wrong, Complaint::Symbol, &[head, expected, shown, value]);
        b.return_code(0);
    });
    let difference = b.binary(Binary::Sub, value, constant);
    let zero = b.compare_const(Cond::Eq, coefficient, 0);
    let one = b.i64(1);
    let divisor = b.select(zero, one, coefficient);
    let (quotient, _) = floor(b, difference, divisor);
    let product = b.binary(Binary::Mul, quotient, divisor);
    let inexact = b.compare(Cond::Ne, product, difference);
    let unsolved = b.or(zero, inexact);
    let wrong = b.and(unsolved, counts);
    b.refuse(s, wrong, Complaint::Unsolved, &[head, shown, value]);
    // It is free here, so nothing is compared.
    bind(b, found, quotient, one, |b, _| b.return_code(0));
    []
}
