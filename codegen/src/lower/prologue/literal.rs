//! Literal parameters: one of several numbers or texts.

use abi_spec::TypeIndex;

use crate::declaration::{Literal, is_text, literal_scalar};
use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::emitter::state::ValueState;
use crate::lower::routines::Routine;
use crate::lower::value::Span;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;

/// Largest number of text literals that are compared inline.
const LISTED: usize = 32;

impl Wrapper<'_, '_> {
    /// Checks a literal parameter and unpacks its value.
    pub(crate) fn literal(&mut self, value: ValueId, literals: &[Literal]) -> ValueState {
        if literal_scalar(literals).is_some() {
            return ValueState::Scalar(self.literal_number(value, literals));
        }
        if !is_text(literals) {
            if !self.checks.passed {
                self.number_or_text(value, literals);
            }
            let address = self.any_address(value);
            return ValueState::Word(self.or_zero(value, address));
        }
        let text = self.text(value, TypeIndex::SMALL_STR, TypeIndex::STR);
        if !self.checks.passed {
            let known = self.is_text_of(text, literals);
            let other = self.b.not(known);
            self.checks.never(&mut self.b, other);
        }
        ValueState::Span(text)
    }

    /// Checks a value against literals that include both numbers and texts.
    fn number_or_text(&mut self, value: ValueId, literals: &[Literal]) {
        let (index, payload) = self.words(value, Type::I64);
        let above = self.b.binary_const(Binary::Sub, index, TypeIndex::INT.0.into());
        let last = TypeIndex::BOOL.0 - TypeIndex::INT.0;
        let is_number = self.b.compare_const(Cond::Ule, above, last.into());
        let [number, text, join] = ["number", "text", "literal"].map(|label| self.b.block(label));
        let known = self.b.block_param(join, Type::Bool, "known");
        let same = self.is_number_of(payload, literals);
        self.b.branch(is_number, number, text);
        self.b.switch_to(number);
        self.b.jump(join, &[same]);
        self.b.switch_to(text);
        let found = self.text(value, TypeIndex::SMALL_STR, TypeIndex::STR);
        let same = self.is_text_of(found, literals);
        self.b.jump(join, &[same]);
        self.b.switch_to(join);
        let other = self.b.not(known);
        self.checks.never(&mut self.b, other);
    }

    /// Returns a `Bool`: true if an integer is one of the literals.
    pub(crate) fn is_number_of(&mut self, number: Value, literals: &[Literal]) -> Value {
        let mut any = None;
        for literal in literals {
            let known = match literal {
                Literal::Int(known) => *known,
                Literal::Bool(truth) => i64::from(*truth),
                Literal::None | Literal::Float(_) | Literal::Str(_) => continue,
            };
            let same = self.b.compare_const(Cond::Eq, number, known);
            any = Some(any.map_or(same, |any| self.b.or(any, same)));
        }
        any.unwrap_or_else(|| self.b.constant(Type::Bool, 0))
    }

    /// Returns a `Bool`: true if a text is one of the literals.
    fn is_text_of(&mut self, found: Span, literals: &[Literal]) -> Value {
        if literals.len() > LISTED {
            return self.is_text_of_list(found, literals);
        }
        let mut any = None;
        for literal in literals {
            if let Literal::Str(text) = literal {
                let same = self.text_equals(found, text);
                any = Some(any.map_or(same, |any| self.b.or(any, same)));
            }
        }
        any.unwrap_or_else(|| self.b.constant(Type::Bool, 0))
    }

    /// Returns a `Bool`: true if a routine finds a text among the literals.
    fn is_text_of_list(&mut self, found: Span, literals: &[Literal]) -> Value {
        let (mut list, mut count) = (Vec::new(), 0);
        for literal in literals {
            if let Literal::Str(text) = literal {
                list.extend((text.len() as u32).to_le_bytes());
                list.extend(text.as_bytes());
                count += 1;
            }
        }
        let (list, count) = (constant_bytes(&mut self.b, list), self.b.i64(count));
        let found = self.routine_value(Routine::OneOfTexts, &[found.data, found.size, list, count]);
        self.b.compare_const(Cond::Ne, found, 0)
    }
}
