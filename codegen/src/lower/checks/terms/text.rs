//! Comparison of text with a constant: by length first, then a word at a time.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::routines::Routine;
use crate::lower::value::{Span, constant_bytes};

/// Longest constant, in bytes, that is compared inline; a routine compares longer ones.
const INLINE: usize = 32;

/// Returns a `Bool`: true if bytes equal a constant text.
pub(in crate::lower::checks) fn text_equals(
    c: &mut Checker<'_, '_>,
    found: Span,
    text: &str,
) -> Value {
    let Span { data, size } = found;
    let known = constant_bytes(&mut c.e.b, text.as_bytes().to_vec());
    if text.len() > INLINE {
        let length = c.e.b.i64(text.len() as i64);
        let same = c.e.routine_value(Routine::SameText, &[data, size, known, length]);
        return c.e.b.compare_const(Cond::Ne, same, 0);
    }
    let same_size = c.e.b.compare_const(Cond::Eq, size, text.len() as i64);
    if text.is_empty() {
        return same_size;
    }
    // A text of another size may be too short to read, so the constant is read in its place.
    let data = c.e.b.select(same_size, data, known);
    let mut difference = None;
    for word in words(text.as_bytes()) {
        let differs = differs(c, data, word);
        difference = Some(difference.map_or(differs, |all| c.e.b.or(all, differs)));
    }
    let difference = difference.unwrap_or_else(|| c.e.b.i64(0));
    let same = c.e.b.compare_const(Cond::Eq, difference, 0);
    c.e.b.and(same_size, same)
}

/// Returns an `I64` that is 0 if the bytes at the offset of a word equal the word.
fn differs(c: &mut Checker<'_, '_>, data: Value, word: Word) -> Value {
    let found = c.e.b.load_aligned(word.ty, data, word.offset as i32, 1);
    let differs = c.e.b.binary_const(Binary::Xor, found, word.bits as i64);
    if word.ty == Type::I64 {
        return differs;
    }
    c.e.b.convert(Convert::Zext, differs, Type::I64)
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
