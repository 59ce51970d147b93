//! Values in the form of the ABI.

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, any};

use crate::finding::{Finding, ensure};
use crate::link::Machine;
use crate::memory::Memory;
use crate::run::Outcome;
use crate::word::Word;

/// A `TVMFFIAny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// `type_index`
    pub index: i32,
    /// `small_str_len`, or padding.
    pub small: u32,
    /// Payload: a number, or an address.
    pub payload: Word,
}

impl Value {
    /// None.
    pub const NONE: Value = Value::new(TypeIndex::NONE.0, Word::NULL);

    /// Creates a value other than small text.
    pub const fn new(index: i32, payload: Word) -> Value {
        Value { index, small: 0, payload }
    }

    /// Creates an integer.
    pub const fn int(value: i64) -> Value {
        Value::new(TypeIndex::INT.0, Word::int(value))
    }

    /// Returns true if the payload is an object, which may be NULL.
    pub const fn is_object(self) -> bool {
        TypeIndex(self.index).is_object()
    }

    /// Creates a text of at most seven bytes.
    pub(crate) fn small(index: TypeIndex, text: &[u8]) -> Value {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        let payload = Word::bits(u64::from_le_bytes(bytes));
        Value { index: index.0, small: text.len() as u32, payload }
    }

    /// Returns the first eight bytes of the value in memory.
    pub fn head(self) -> u64 {
        u64::from(self.index as u32) | u64::from(self.small) << 32
    }
}

impl Memory<'_> {
    /// Reads a `TVMFFIAny`; all of its bytes must have been written.
    ///
    /// # Errors
    /// As for every access.
    pub fn load_any(&self, at: Word) -> Result<Value, Box<Finding>> {
        let head = self.load(at, 8, 8)?.bits;
        let payload = self.load(at.offset(any::PAYLOAD.offset.into()), 8, 8)?;
        Ok(Value { index: head as i32, small: (head >> 32) as u32, payload })
    }

    /// Writes all bytes of a `TVMFFIAny`.
    ///
    /// # Errors
    /// As for every access.
    pub fn store_any(&mut self, at: Word, value: Value) -> Result<(), Box<Finding>> {
        self.store(at, Word::bits(value.head()), 8, 8)?;
        self.store(at.offset(any::PAYLOAD.offset.into()), value.payload, 8, 8)
    }

    /// Reads consecutive values.
    ///
    /// # Errors
    /// As for every access.
    pub fn load_anys(&self, at: Word, count: i64) -> Result<Vec<Value>, Box<Finding>> {
        let size = i64::from(ANY.size);
        (0..count.max(0)).map(|index| self.load_any(at.offset(index * size))).collect()
    }
}

impl Machine<'_> {
    /// Checks that a value may be passed: its object is live and has the type of the type index.
    pub(crate) fn check_value(&self, value: Value) -> Result<(), Box<Finding>> {
        if value.is_object() && !value.payload.is_null() {
            let header = self.type_index(value.payload)?;
            ensure(header == value.index, || {
                format!("a value of type index {} holds an object of {header}", value.index)
            })?;
        }
        Ok(())
    }

    /// Makes an owned value of a view; `Err` if the runtime raises an error.
    pub(crate) fn owned(&mut self, view: Value) -> Result<Result<Value, ()>, Box<Finding>> {
        let payload = view.payload;
        Ok(Ok(match TypeIndex(view.index) {
            TypeIndex::RAW_STR => {
                let text = self.memory.c_string(payload)?;
                self.text(TypeIndex::STR, &text)
            }
            TypeIndex::BYTE_ARRAY_PTR => {
                let bytes = self.byte_array(payload)?;
                self.text(TypeIndex::BYTES, &bytes)
            }
            TypeIndex::OBJECT_RVALUE_REF => {
                let object = self.memory.load(payload, 8, 8)?;
                if object.is_null() {
                    let message = b"Check failed: RValueRef already moved; ";
                    self.raise("InternalError", message);
                    return Ok(Err(()));
                }
                self.memory.store(payload, Word::NULL, 8, 8)?;
                Value::new(self.type_index(object)?, object)
            }
            ty if ty.is_object() => {
                self.retain(payload)?;
                view
            }
            _ => view,
        }))
    }
}

/// `TVMFFIAnyViewToOwnedAny`
pub(super) fn view_to_owned(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let view = machine.memory.load_any(args[0])?;
    machine.check_value(view)?;
    match machine.owned(view)? {
        Ok(value) => machine.memory.store_any(args[1], value).map(|()| Word::NULL),
        Err(()) => Ok(FAILED),
    }
}

/// Status of a failed call; the error is in the slot.
pub(crate) const FAILED: Word = Word::int32(-1);
