//! Literals: one of several numbers or texts. Texts are compared by length first, then a word at a time.

use abi_spec::TypeIndex;

use crate::declaration::{Literal, is_text, literal_scalar};
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::emitter::state::ValueState;
use crate::lower::prologue::value::pair;
use crate::lower::routines::Routine;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;

/// How many bytes are compared inline.
const INLINE: usize = 32;

/// How many literals there are before their texts are compared by a routine, one by one.
const LISTED: usize = 32;

impl Wrapper<'_, '_> {
    /// Type and value.
    pub(crate) fn literal(&mut self, value: ValueId, literals: &[Literal]) -> ValueState {
        if literal_scalar(literals).is_some() {
            return ValueState::Scalar(self.literal_number(value, literals));
        }
        if !is_text(literals) {
            return self.number_or_text(value, literals);
        }
        let text = self.text(value, TypeIndex::SMALL_STR, TypeIndex::STR);
        let known = self.is_text_of(text, literals);
        let other = self.b.not(known);
        self.checks.never(&mut self.b, other);
        pair(text)
    }

    /// Literals of several types: the type index says with which ones a value is compared.
    fn number_or_text(&mut self, value: ValueId, literals: &[Literal]) -> ValueState {
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
        let address = self.any_address(value);
        ValueState::Word(self.or_zero(value, address))
    }

    /// A `Bool`: an integer is one of the literals.
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

    /// A `Bool`: a text is one of the literals.
    fn is_text_of(&mut self, [data, size]: [Value; 2], literals: &[Literal]) -> Value {
        if literals.len() > LISTED {
            return self.is_text_of_list([data, size], literals);
        }
        let mut any = None;
        for literal in literals {
            if let Literal::Str(text) = literal {
                let same = self.text_equals(data, size, text);
                any = Some(any.map_or(same, |any| self.b.or(any, same)));
            }
        }
        any.unwrap_or_else(|| self.b.constant(Type::Bool, 0))
    }

    /// The same by a routine that goes through a list.
    fn is_text_of_list(&mut self, [data, size]: [Value; 2], literals: &[Literal]) -> Value {
        let (mut list, mut count) = (Vec::new(), 0);
        for literal in literals {
            if let Literal::Str(text) = literal {
                list.extend((text.len() as u32).to_le_bytes());
                list.extend(text.as_bytes());
                count += 1;
            }
        }
        let (list, count) = (constant_bytes(&mut self.b, list), self.b.i64(count));
        let found = self.routine_value(Routine::OneOfTexts, &[data, size, list, count]);
        self.b.compare_const(Cond::Ne, found, 0)
    }

    /// A `Bool`: the bytes are those of a text.
    pub(crate) fn text_equals(&mut self, data: Value, size: Value, text: &str) -> Value {
        let known = constant_bytes(&mut self.b, text.as_bytes().to_vec());
        if text.len() > INLINE {
            let length = self.b.i64(text.len() as i64);
            let same = self.routine_value(Routine::SameText, &[data, size, known, length]);
            return self.b.compare_const(Cond::Ne, same, 0);
        }
        let same_size = self.b.compare_const(Cond::Eq, size, text.len() as i64);
        if text.is_empty() {
            return same_size;
        }
        // Of another size it need not be readable as far.
        let data = self.b.select(same_size, data, known);
        let mut difference = None;
        for word in words(text.as_bytes()) {
            let differs = self.differs(data, word);
            difference = Some(difference.map_or(differs, |all| self.b.or(all, differs)));
        }
        let difference = difference.unwrap_or_else(|| self.b.i64(0));
        let same = self.b.compare_const(Cond::Eq, difference, 0);
        self.b.and(same_size, same)
    }

    /// An `I64` that is 0 if a word at an address is this one.
    fn differs(&mut self, data: Value, word: Word) -> Value {
        let found = self.b.load_aligned(word.ty, data, word.offset as i32, 1);
        let differs = self.b.binary_const(Binary::Xor, found, word.bits as i64);
        if word.ty == Type::I64 {
            return differs;
        }
        self.b.convert(Convert::Zext, differs, Type::I64)
    }
}

/// Bytes of a text.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    offset: usize,
    ty: Type,
    bits: u64,
}

/// Words that cover a text. They may overlap.
fn words(text: &[u8]) -> Vec<Word> {
    let (ty, size) = match text.len() {
        0 => return Vec::new(),
        1 => (Type::I8, 1),
        2..4 => (Type::I16, 2),
        4..8 => (Type::I32, 4),
        8.. => (Type::I64, 8),
    };
    let mut offsets: Vec<usize> = (0..text.len() / size).map(|word| word * size).collect();
    if !text.len().is_multiple_of(size) {
        offsets.push(text.len() - size);
    }
    let word = |offset: usize| {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(&text[offset..offset + size]);
        Word { offset, ty, bits: u64::from_le_bytes(bits) }
    };
    offsets.into_iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cover_a_text_and_no_more() {
        for length in 0..=INLINE {
            let text: Vec<u8> = (1..=length as u8).collect();
            let mut covered = vec![0; length];
            for Word { offset, ty, bits } in words(&text) {
                let size = ty.bytes() as usize;
                covered[offset..offset + size].copy_from_slice(&bits.to_le_bytes()[..size]);
            }
            assert_eq!(covered, text);
        }
    }
}
