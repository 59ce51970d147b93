//! Literal parameters: one of several numbers or texts.

use abi_spec::{Scalar, TypeIndex};

use crate::declaration::{Literal, is_text, literal_scalar};
use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{scalar, terms, text};
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::lower::routines::Routine;
use crate::lower::value::{Span, constant_bytes};
use crate::resolve::ids::ValueId;

/// Largest number of text literals that are compared inline.
const LISTED: usize = 32;

/// Checks a literal parameter and unpacks its value.
pub(super) fn literal(c: &mut Checker<'_, '_>, value: ValueId, literals: &[Literal]) -> ValueState {
    if literal_scalar(literals).is_some() {
        return ValueState::Scalar(literal_number(c, value, literals));
    }
    if !is_text(literals) {
        if !c.checks.passed {
            number_or_text(c, value, literals);
        }
        let address = c.e.any_address(value);
        return ValueState::Word(c.e.or_zero(value, address));
    }
    let text = text::text(c, value, TypeIndex::SMALL_STR, TypeIndex::STR);
    if !c.checks.passed {
        let known = is_text_of(c, text, literals);
        let other = c.e.b.not(known);
        c.checks.never(&mut c.e.b, other);
    }
    ValueState::Span(text)
}

/// Loads an integer or a truth value that must be one of the literals.
fn literal_number(c: &mut Checker<'_, '_>, value: ValueId, literals: &[Literal]) -> ScalarState {
    let (_, wide) = scalar::number(c, value, TypeIndex::BOOL);
    if !c.checks.passed {
        let known = is_number_of(c, wide, literals);
        let other = c.e.b.not(known);
        c.checks.never(&mut c.e.b, other);
    }
    let truth = literals.iter().any(|literal| matches!(literal, Literal::Bool(_)));
    let ty = if truth { Scalar::Bool } else { Scalar::Int64 };
    ScalarState { ty, native: c.e.b.truncate(wide, ty), wide: Some(wide) }
}

/// Checks a value against literals that include both numbers and texts.
fn number_or_text(c: &mut Checker<'_, '_>, value: ValueId, literals: &[Literal]) {
    let (index, payload) = c.e.words(value, Type::I64);
    let above = c.e.b.binary_const(Binary::Sub, index, TypeIndex::INT.0.into());
    let last = TypeIndex::BOOL.0 - TypeIndex::INT.0;
    let is_number = c.e.b.compare_const(Cond::Ule, above, last.into());
    let [number, text, join] = ["number", "text", "literal"].map(|label| c.e.b.block(label));
    let known = c.e.b.block_param(join, Type::Bool, "known");
    let same = is_number_of(c, payload, literals);
    c.e.b.branch(is_number, number, text);
    c.e.b.switch_to(number);
    c.e.b.jump(join, &[same]);
    c.e.b.switch_to(text);
    let found = text::text(c, value, TypeIndex::SMALL_STR, TypeIndex::STR);
    let same = is_text_of(c, found, literals);
    c.e.b.jump(join, &[same]);
    c.e.b.switch_to(join);
    let other = c.e.b.not(known);
    c.checks.never(&mut c.e.b, other);
}

/// Returns a `Bool`: true if an integer is one of the literals.
fn is_number_of(c: &mut Checker<'_, '_>, number: Value, literals: &[Literal]) -> Value {
    let mut any = None;
    for literal in literals {
        let known = match literal {
            Literal::Int(known) => *known,
            Literal::Bool(truth) => i64::from(*truth),
            Literal::None | Literal::Float(_) | Literal::Str(_) => continue,
        };
        let same = c.e.b.compare_const(Cond::Eq, number, known);
        any = Some(any.map_or(same, |any| c.e.b.or(any, same)));
    }
    any.unwrap_or_else(|| c.e.b.constant(Type::Bool, 0))
}

/// Returns a `Bool`: true if a text is one of the literals.
fn is_text_of(c: &mut Checker<'_, '_>, found: Span, literals: &[Literal]) -> Value {
    if literals.len() > LISTED {
        return is_text_of_list(c, found, literals);
    }
    let mut any = None;
    for literal in literals {
        if let Literal::Str(text) = literal {
            let same = terms::text_equals(c, found, text);
            any = Some(any.map_or(same, |any| c.e.b.or(any, same)));
        }
    }
    any.unwrap_or_else(|| c.e.b.constant(Type::Bool, 0))
}

/// Returns a `Bool`: true if a routine finds a text among the literals.
fn is_text_of_list(c: &mut Checker<'_, '_>, found: Span, literals: &[Literal]) -> Value {
    let (mut list, mut count) = (Vec::new(), 0);
    for literal in literals {
        if let Literal::Str(text) = literal {
            list.extend((text.len() as u32).to_le_bytes());
            list.extend(text.as_bytes());
            count += 1;
        }
    }
    let (list, count) = (constant_bytes(&mut c.e.b, list), c.e.b.i64(count));
    let found = c.e.routine_value(Routine::OneOfTexts, &[found.data, found.size, list, count]);
    c.e.b.compare_const(Cond::Ne, found, 0)
}
