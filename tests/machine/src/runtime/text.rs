//! Strings, bytes, names of element types, and integers of many words.

use abi_spec::layout::{BYTE_ARRAY, byte_array};
use abi_spec::{DType, TypeIndex};

use super::object::{ObjectBody, TEXT_CELL};
use super::value::{FAILED, Value};
use crate::finding::Finding;
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

impl Machine<'_> {
    /// Reads the bytes that a `TVMFFIByteArray` refers to.
    ///
    /// # Errors
    /// As for every access.
    pub fn byte_array(&self, at: Word) -> Result<Vec<u8>, Box<Finding>> {
        let data = self.memory.load(at.offset(byte_array::DATA.offset.into()), 8, 8)?;
        let size = self.memory.load(at.offset(byte_array::SIZE.offset.into()), 8, 8)?.as_int();
        if size == 0 {
            return Ok(Vec::new());
        }
        let size =
            usize::try_from(size).map_err(|_| Finding::new(format!("a text of {size} bytes")))?;
        Ok(self.memory.read(data, size, 1)?.to_vec())
    }

    /// Reads a name, or another text that must be UTF-8.
    pub(crate) fn name_in(&self, at: Word) -> Result<String, Box<Finding>> {
        Ok(String::from_utf8_lossy(&self.byte_array(at)?).into_owned())
    }

    /// Makes an owned string or bytes, small if they fit.
    pub fn text(&mut self, object: TypeIndex, text: &[u8]) -> Value {
        if text.len() <= 7 {
            let is_string = object == TypeIndex::STR;
            let small = if is_string { TypeIndex::SMALL_STR } else { TypeIndex::SMALL_BYTES };
            return Value::small(small, text);
        }
        Value::new(object.0, self.text_object(object.0, text))
    }

    /// Makes a string or bytes object, with a NUL after the bytes.
    pub fn text_object(&mut self, index: i32, text: &[u8]) -> Word {
        let object =
            self.object(index, "text object", TEXT_CELL + text.len() + 1, ObjectBody::Plain);
        let cell = object.offset(i64::from(byte_array::DATA.in_object()));
        let data = cell.offset(BYTE_ARRAY.size.into());
        self.memory.store(cell, data, 8, 8).expect("the cell is there");
        let size = Word::int(text.len() as i64);
        self.memory.store(cell.offset(8), size, 8, 8).expect("the cell is there");
        self.memory.write(data, text, 1).expect("there is room");
        object
    }
}

fn make(machine: &mut Machine<'_>, args: &[Word], object: TypeIndex) -> Outcome {
    let text = machine.byte_array(args[0])?;
    let value = machine.text(object, &text);
    machine.memory.store_any(args[1], value)?;
    Ok(Word::NULL)
}

/// `TVMFFIStringFromByteArray`
pub(super) fn string_from_bytes(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    make(machine, args, TypeIndex::STR)
}

/// `TVMFFIBytesFromByteArray`
pub(super) fn bytes_from_bytes(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    make(machine, args, TypeIndex::BYTES)
}

/// Names of element types that the runtime knows beside those of `abi-spec`.
const ABBREVIATIONS: [(&str, [u16; 3]); 9] = [
    ("", [3, 0, 0]),
    ("void", [3, 0, 0]),
    ("handle", [3, 64, 1]),
    ("int", [0, 32, 1]),
    ("uint", [1, 32, 1]),
    ("float", [2, 32, 1]),
    ("bfloat", [4, 16, 1]),
    ("bool8", [6, 8, 1]),
    ("bool", [6, 8, 1]),
];

/// `TVMFFIDataTypeFromString`
pub(super) fn dtype_from_string(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let text = machine.name_in(args[0])?;
    let short = ABBREVIATIONS.iter().find(|(name, _)| *name == text);
    let dtype = match (short, text.parse::<DType>()) {
        (Some((_, [code, bits, lanes])), _) => {
            u64::from(*code) | u64::from(*bits) << 8 | u64::from(*lanes) << 16
        }
        // The runtime has no names for complex numbers.
        (None, Ok(dtype)) if !text.starts_with("complex") => u64::from(dtype.to_word()),
        _ => {
            let lanes = "Lanes must be a positive integer.";
            let message = if text.ends_with("x0") {
                format!("Invalid lanes specification in dtype '{text}'. {lanes}")
            } else {
                format!("unknown dtype `{text}`")
            };
            machine.raise("ValueError", message.as_bytes());
            return Ok(FAILED);
        }
    };
    machine.memory.store(args[1], Word::bits(dtype), 4, 2)?;
    Ok(Word::NULL)
}

/// `TVMFFIDataTypeToString`
pub(super) fn dtype_to_string(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let word = machine.memory.load(args[0], 4, 2)?.bits as u32;
    let [code, bits, low, high] = word.to_le_bytes();
    let dtype = DType { code, bits, lanes: u16::from_le_bytes([low, high]) };
    let value = machine.text(TypeIndex::STR, dtype.to_string().as_bytes());
    machine.memory.store_any(args[1], value)?;
    Ok(Word::NULL)
}

impl Machine<'_> {
    /// Makes an integer: an object if it does not fit `int64`.
    pub fn integer(&mut self, value: i128) -> Value {
        if let Ok(small) = i64::try_from(value) {
            return Value::int(small);
        }
        let words = [value as u64, (value >> 64) as u64];
        Value::new(TypeIndex::BIG_INT.0, self.words(&words))
    }

    /// Makes an integer object of words.
    fn words(&mut self, words: &[u64]) -> Word {
        let object = self.object(
            TypeIndex::BIG_INT.0,
            "integer object",
            8 + 8 * words.len(),
            ObjectBody::Plain,
        );
        let cell = object.offset(24);
        let count = Word::int(words.len() as i64);
        self.memory.store(cell, count, 8, 8).expect("the cell is there");
        for (index, &word) in words.iter().enumerate() {
            let at = cell.offset(8 + 8 * index as i64);
            self.memory.store(at, Word::bits(word), 8, 8).expect("there is room");
        }
        object
    }
}

/// `TVMFFIBigIntFromByteArray`: drops words that only repeat the sign.
pub(super) fn big_int_from_words(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let bytes = machine.byte_array(args[0])?;
    let chunks = bytes.chunks_exact(8);
    let mut words: Vec<u64> = chunks
        .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        .collect();
    let sign = |word: u64| if word >> 63 == 1 { u64::MAX } else { 0 };
    while let [.., low, high] = words[..]
        && high == sign(low)
    {
        words.pop();
    }
    let value = match words[..] {
        [] => Value::int(0),
        [word] => Value::int(word as i64),
        _ => Value::new(TypeIndex::BIG_INT.0, machine.words(&words)),
    };
    machine.memory.store_any(args[1], value)?;
    Ok(Word::NULL)
}

/// `TVMFFIBigIntGetContentByteArray`: a finding, because host IR has no structs as results.
pub(super) fn big_int_words(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Err(Finding::new("a function that returns a struct is called"))
}
