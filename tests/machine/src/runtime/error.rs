//! Errors, and the slot of the thread.

use abi_spec::TypeIndex;
use abi_spec::layout::{ERROR_CELL, Field, byte_array, error_cell};

use super::object::ObjectBody;
use crate::finding::{Finding, ensure};
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

/// An error as a test reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Kind of the error.
    pub kind: String,
    /// Message.
    pub message: Vec<u8>,
    /// Frames, printed.
    pub backtrace: String,
}

/// Name of the function in the field `update_backtrace` of errors.
pub(super) const UPDATE_BACKTRACE: &str = "update_backtrace";

impl Machine<'_> {
    /// Raises an error.
    pub fn raise(&mut self, kind: &str, message: &[u8]) {
        let error = self.error(kind.as_bytes(), message, b"");
        self.set(Some(error)).expect("errors of the runtime can be freed");
    }

    /// Makes an error object with one reference.
    pub fn error(&mut self, kind: &[u8], message: &[u8], backtrace: &[u8]) -> Word {
        let index = TypeIndex::ERROR.0;
        let error = self.object(index, "error", ERROR_CELL.size as usize, ObjectBody::Plain);
        let update = self.model(UPDATE_BACKTRACE).expect("the model has it");
        let at = error.offset(error_cell::UPDATE_BACKTRACE.in_object().into());
        self.memory.store(at, update, 8, 8).expect("the cell is there");
        let texts = [
            (error_cell::KIND, kind),
            (error_cell::MESSAGE, message),
            (error_cell::BACKTRACE, backtrace),
        ];
        let texts = texts.map(|(field, text)| self.set_text(error, field, text));
        self.set_body(error, ObjectBody::Error(texts.to_vec()));
        error
    }

    /// Allocates a text for a field of an error.
    fn set_text(&mut self, error: Word, field: Field, text: &[u8]) -> Word {
        let mut ended = text.to_vec();
        ended.push(0);
        let data = self.memory.zeroed("text of an error", ended.len(), 1);
        self.memory.write(data, &ended, 1).expect("it was just made");
        let cell = error.offset(field.in_object().into());
        self.memory.store(cell, data, 8, 8).expect("the cell is there");
        let size = Word::int(text.len() as i64);
        let at = cell.offset(byte_array::SIZE.offset.into());
        self.memory.store(at, size, 8, 8).expect("the cell is there");
        data
    }

    /// Puts an error into the slot and takes over its reference, or empties the slot.
    fn set(&mut self, error: Option<Word>) -> Result<(), Box<Finding>> {
        let before = std::mem::replace(&mut self.runtime.raised, error);
        before.map_or(Ok(()), |before| self.release(before))
    }

    /// Takes the error out of the slot and reads it.
    ///
    /// # Errors
    /// If the object is no error, or its texts cannot be read.
    pub fn take_error(&mut self) -> Result<Option<Raised>, Box<Finding>> {
        let Some(error) = self.runtime.raised.take() else { return Ok(None) };
        let text = |field: Field| self.byte_array(error.offset(field.in_object().into()));
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (kind, message) = (text(error_cell::KIND)?, text(error_cell::MESSAGE)?);
        let backtrace = lossy(text(error_cell::BACKTRACE)?);
        let raised = Raised { kind: lossy(kind), message, backtrace };
        self.release(error)?;
        Ok(Some(raised))
    }

    fn check_error(&self, error: Word) -> Result<(), Box<Finding>> {
        let index = self.type_index(error)?;
        ensure(index == TypeIndex::ERROR.0, || format!("an object of {index} is raised"))
    }
}

/// `TVMFFIErrorMoveFromRaised`
pub(super) fn move_from_raised(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let error = machine.runtime.raised.take().unwrap_or(Word::NULL);
    machine.memory.store(args[0], error, 8, 8)?;
    Ok(Word::NULL)
}

/// `TVMFFIErrorSetRaised`: the slot takes a new reference.
pub(super) fn set_raised(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.check_error(args[0])?;
    machine.retain(args[0])?;
    machine.set(Some(args[0])).map(|()| Word::NULL)
}

/// `TVMFFIErrorSetRaisedFromCStr`
pub(super) fn set_raised_from_c_str(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let (kind, message) = (machine.memory.c_string(args[0])?, machine.memory.c_string(args[1])?);
    let error = machine.error(&kind, &message, b"");
    machine.set(Some(error)).map(|()| Word::NULL)
}

/// `TVMFFIErrorSetRaisedFromCStrParts`
pub(super) fn set_raised_from_parts(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let kind = machine.memory.c_string(args[0])?;
    let mut message = Vec::new();
    for index in 0..i64::from(args[2].as_int32()) {
        let part = machine.memory.load(args[1].offset(8 * index), 8, 8)?;
        if !part.is_null() {
            message.extend(machine.memory.c_string(part)?);
        }
    }
    let error = machine.error(&kind, &message, b"");
    machine.set(Some(error)).map(|()| Word::NULL)
}

/// `TVMFFIErrorCreate`
pub(super) fn create(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[kind, message, backtrace, out] = args else { unreachable!("four are declared") };
    let kind = machine.byte_array(kind)?;
    let message = machine.byte_array(message)?;
    let backtrace = machine.byte_array(backtrace)?;
    let error = machine.error(&kind, &message, &backtrace);
    machine.memory.store(out, error, 8, 8)?;
    Ok(Word::NULL)
}

/// `TVMFFIErrorCreateWithCauseAndExtraContext`
pub(super) fn create_with_cause(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[kind, message, backtrace, cause, context, out] = args else {
        unreachable!("six are declared")
    };
    create(machine, &[kind, message, backtrace, out])?;
    let error = machine.memory.load(out, 8, 8)?;
    let others = [(error_cell::CAUSE_CHAIN, cause), (error_cell::EXTRA_CONTEXT, context)];
    for (field, other) in others.into_iter().filter(|(_, other)| !other.is_null()) {
        machine.retain(other)?;
        machine.memory.store(error.offset(field.in_object().into()), other, 8, 8)?;
    }
    Ok(Word::NULL)
}

/// `update_backtrace` of an error's cell: 0 replaces the frames, 1 appends.
pub(super) fn update_backtrace(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[error, added, mode] = args else { return Err(Finding::new("three are declared")) };
    machine.check_error(error)?;
    let field = error_cell::BACKTRACE;
    let mut frames = match mode.as_int32() {
        0 => Vec::new(),
        _ => machine.byte_array(error.offset(field.in_object().into()))?,
    };
    frames.extend(machine.byte_array(added)?);
    let text = machine.set_text(error, field, &frames);
    if let Some(ObjectBody::Error(mut texts)) = machine.body(error).cloned() {
        let before = std::mem::replace(&mut texts[2], text);
        machine.memory.free(before)?;
        machine.set_body(error, ObjectBody::Error(texts));
    }
    Ok(Word::NULL)
}

/// `TVMFFIBacktrace`: empty, because the machine has no frames to show.
pub(super) fn backtrace(machine: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(machine.memory.constant("backtrace", vec![0; 16], 8))
}
