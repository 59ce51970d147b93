//! Explaining extents, strides and integer parameters.

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::explain::codes::{RuleCode, Suffix, head};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, Variable, state};
use crate::lower::explain::routines::evaluate::divide;

/// What the check of one occurrence has found out.
#[derive(Clone, Copy)]
struct Found {
    s: Value,
    /// The words of the step: head, rule.
    words: Value,
    /// The number at the place.
    value: Variable,
    /// 1 if it is to be compared or to bind.
    counts: Variable,
}

/// `(state)`: one occurrence, at the program counter.
pub(crate) fn occurrence(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(head::END) + 1);
    let (zero, one) = (c.b.i64(0), c.b.i64(1));
    let found = Found { s, words, value: c.variable(zero), counts: c.variable(one) };
    load(c, found);
    let rule = c.word(words, head::END);
    let unknown = c.b.block("rules");
    c.case(rule, RuleCode::Any as u32, unknown, |c| c.return_code(0));
    c.case(rule, RuleCode::Symbol as u32, unknown, |c| symbol(c, found, true));
    c.case(rule, RuleCode::SymbolOfMany as u32, unknown, |c| symbol(c, found, false));
    c.case(rule, RuleCode::Equal as u32, unknown, |c| equal(c, found));
    solve(c, found);
    c.b.switch_to(unknown);
    c.return_code(0);
}

/// Reads the number, and requires that no extent is negative.
fn load(c: &mut Code<'_>, found: Found) {
    let Found { s, words, value, counts } = found;
    let slot = c.word(words, 5);
    let slot = c.slot(s, slot);
    let (suffix, dim) = (c.word(words, 2), c.word(words, 3));
    let loaded = c.b.block("loaded");
    c.case(suffix, Suffix::None as u32, loaded, |c| {
        let scalar = c.b.load(Type::I64, slot, 0);
        c.set(value, scalar);
    });
    let dl = c.b.load(Type::Ptr, slot, 0);
    c.case(suffix, Suffix::Number as u32, loaded, |c| {
        let number = c.number_of(dl, dim);
        c.set(value, number);
    });
    let extent = c.extent(dl, dim);
    c.case(suffix, Suffix::Shape as u32, loaded, |c| {
        c.set(value, extent);
        let negative = c.b.compare_const(Cond::Slt, extent, 0);
        c.when(negative, |c| {
            let argument = c.word(words, head::ARGUMENT);
            c.begin(s, "Mismatched ", words, "", argument);
            c.say(s, "a non-negative extent but got ");
            c.call(Routine::PutInt, &[s, extent]);
            c.raise_and_stop(s, "ValueError");
        });
    });
    let stride = c.call_value(Routine::StrideAt, &[dl, dim]);
    c.set(value, stride);
    let several = c.b.compare_const(Cond::Sgt, extent, 1);
    let several = c.b.widen_bool(several, Type::I32);
    let elements = c.call_value(Routine::NotEmpty, &[dl]);
    let both = c.b.and(several, elements);
    let both = c.b.convert(crate::ir::Convert::Zext, both, Type::I64);
    c.set(counts, both);
    c.b.jump(loaded, &[]);
    c.b.switch_to(loaded);
}

impl Code<'_> {
    /// Evaluates an expression; returns 1 if that has raised.
    pub(crate) fn evaluate_or_stop(&mut self, s: Value) {
        let raised = self.call_value(Routine::Evaluate, &[s]);
        let raised = self.b.compare_const(Cond::Ne, raised, 0);
        self.when(raised, |c| c.return_code(1));
    }

    fn counts(&mut self, found: Found) -> Value {
        let counts = self.get(found.counts);
        self.b.compare_const(Cond::Ne, counts, 0)
    }

    /// Starts `Mismatched x.shape[0] on argument #0 …, expected `.
    fn begin_mismatch(&mut self, found: Found) {
        let argument = self.word(found.words, head::ARGUMENT);
        self.begin(found.s, "Mismatched ", found.words, "", argument);
    }

    /// Ends the message with the number that was found, raises and returns 1.
    fn but_got(&mut self, found: Found) {
        let value = self.get(found.value);
        self.say(found.s, " but got ");
        self.call(Routine::PutInt, &[found.s, value]);
        self.raise_and_stop(found.s, "ValueError");
    }
}

/// `slot, text`: binds the symbol, or compares with it.
fn symbol(c: &mut Code<'_>, found: Found, plain: bool) {
    let s = found.s;
    let operands = c.take_words(s, 3);
    let value = c.get(found.value);
    bind(c, found, operands, value, plain, |c, known| {
        c.begin_mismatch(found);
        c.call(Routine::PutInt, &[s, known]);
        c.say(s, " (= ");
        let index = c.word(operands, 0);
        let origin = c.origin(s, index);
        let origin = c.b.load(Type::I64, origin, 0);
        let placed = c.b.compare_const(Cond::Ne, origin, 1);
        let named = c.b.block("named");
        let quoted = c.b.block("quoted");
        let at_place = c.b.block("place");
        c.b.branch(placed, at_place, named);
        c.b.switch_to(at_place);
        let place = c.b.convert(crate::ir::Convert::IntToPtr, origin, Type::Ptr);
        c.call(Routine::PutPlace, &[s, place]);
        c.b.jump(quoted, &[]);
        c.b.switch_to(named);
        c.say_text(s, operands, 1);
        c.b.jump(quoted, &[]);
        c.b.switch_to(quoted);
        c.say(s, ")");
        c.but_got(found);
    });
    c.return_code(0);
}

/// Binds a symbol to `value` where the place counts, or calls `mismatch` with the symbol's value if
/// it is bound to another. A `plain` place shows the symbol's own value, so messages quote it.
fn bind(
    c: &mut Code<'_>,
    found: Found,
    operands: Value,
    value: Value,
    plain: bool,
    mismatch: impl FnOnce(&mut Code<'_>, Value),
) {
    let counts = c.counts(found);
    c.when(counts, |c| {
        let index = c.word(operands, 0);
        let slot = c.slot(found.s, index);
        let origin = c.origin(found.s, index);
        let bound = c.b.load(Type::I64, origin, 0);
        let free = c.b.compare_const(Cond::Eq, bound, 0);
        c.when(free, |c| {
            c.b.store(value, slot, 0);
            let place = match plain {
                true => c.b.convert(crate::ir::Convert::PtrToInt, found.words, Type::I64),
                false => c.b.i64(1),
            };
            c.b.store(place, origin, 0);
            c.return_code(0);
        });
        let known = c.b.load(Type::I64, slot, 0);
        let differs = c.b.compare(Cond::Ne, known, value);
        c.when(differs, |c| mismatch(c, known));
    });
}

/// `text, expression`
fn equal(c: &mut Code<'_>, found: Found) {
    let s = found.s;
    let operands = c.take_words(s, 2);
    c.evaluate_or_stop(s);
    let expected = c.b.load(Type::I64, s, state::STACK);
    let counts = c.counts(found);
    let value = c.get(found.value);
    let differs = c.b.compare(Cond::Ne, value, expected);
    let fault = c.b.and(counts, differs);
    c.when(fault, |c| {
        c.begin_mismatch(found);
        c.call(Routine::PutInt, &[s, expected]);
        let [text, length] = c.text_at(s, operands, 0);
        let shown = c.b.compare_const(Cond::Ne, length, 0);
        c.when(shown, |c| {
            c.say(s, " (= ");
            c.call(Routine::Put, &[s, text, length]);
            c.say(s, ")");
        });
        c.but_got(found);
    });
    c.return_code(0);
}

/// `slot, text, text of the expression, coefficient, constant`
fn solve(c: &mut Code<'_>, found: Found) {
    let s = found.s;
    let operands = c.take_words(s, 5);
    c.evaluate_or_stop(s);
    let coefficient = c.b.load(Type::I64, s, state::STACK);
    c.evaluate_or_stop(s);
    let constant = c.b.load(Type::I64, s, state::STACK);
    let value = c.get(found.value);
    let index = c.word(operands, 0);
    let origin = c.origin(s, index);
    let bound = c.b.load(Type::I64, origin, 0);
    let bound = c.b.compare_const(Cond::Ne, bound, 0);
    c.when(bound, |c| {
        let known = c.slot(s, index);
        let known = c.b.load(Type::I64, known, 0);
        let expected = c.b.binary(Binary::Mul, known, coefficient);
        let expected = c.b.binary(Binary::Add, expected, constant);
        let differs = c.b.compare(Cond::Ne, expected, value);
        let counts = c.counts(found);
        let fault = c.b.and(differs, counts);
        c.when(fault, |c| {
            c.begin_mismatch(found);
            c.call(Routine::PutInt, &[s, expected]);
            c.say(s, " (= ");
            c.say_text(s, operands, 3);
            c.say(s, ")");
            c.but_got(found);
        });
        c.return_code(0);
    });
    let difference = c.b.binary(Binary::Sub, value, constant);
    let zero = c.b.compare_const(Cond::Eq, coefficient, 0);
    let one = c.b.i64(1);
    let divisor = c.b.select(zero, one, coefficient);
    let (quotient, _) = divide(c, difference, divisor);
    let product = c.b.binary(Binary::Mul, quotient, divisor);
    let inexact = c.b.compare(Cond::Ne, product, difference);
    let unsolved = c.b.or(zero, inexact);
    let counts = c.counts(found);
    let fault = c.b.and(unsolved, counts);
    c.when(fault, |c| {
        c.begin_mismatch(found);
        c.say_text(s, operands, 3);
        c.but_got(found);
    });
    bind(c, found, operands, quotient, false, |c, known| {
        c.begin_mismatch(found);
        let expected = c.b.binary(Binary::Mul, known, coefficient);
        let expected = c.b.binary(Binary::Add, expected, constant);
        c.call(Routine::PutInt, &[s, expected]);
        c.say(s, " (= ");
        c.say_text(s, operands, 3);
        c.say(s, ")");
        c.but_got(found);
    });
    c.return_code(0);
}
