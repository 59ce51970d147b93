//! Comparison of text with a constant: by length first, then a word at a time.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::routines::Routine;
use crate::lower::value::Span;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;

/// Longest constant, in bytes, that is compared inline; a routine compares longer ones.
const INLINE: usize = 32;

impl Wrapper<'_, '_> {
    /// Returns a `Bool`: true if bytes equal a constant text.
    pub(crate) fn text_equals(&mut self, found: Span, text: &str) -> Value {
        let Span { data, size } = found;
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
        // A text of another size may be too short to read, so the constant is read in its place.
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

    /// Returns an `I64` that is 0 if the bytes at the offset of a word equal the word.
    fn differs(&mut self, data: Value, word: Word) -> Value {
        let found = self.b.load_aligned(word.ty, data, word.offset as i32, 1);
        let differs = self.b.binary_const(Binary::Xor, found, word.bits as i64);
        if word.ty == Type::I64 {
            return differs;
        }
        self.b.convert(Convert::Zext, differs, Type::I64)
    }
}

/// A word of a text, in little-endian order.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    offset: usize,
    ty: Type,
    bits: u64,
}

/// Returns words that cover a text. The last two may overlap.
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
