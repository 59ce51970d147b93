//! Messages of one function. Their texts are known when the function is lowered, their values at run time.

use crate::ir::Value;
use crate::lower::failure::records::Records;
use crate::lower::quote::elide;
use crate::lower::routines::complaints::{Complaint, TemplatePart};
use crate::lower::routines::records::{MessageRecord, Piece, PieceKind, TextRef};
use crate::lower::routines::schema::FieldType as _;

/// A message under construction.
#[derive(Debug)]
pub(crate) struct Message {
    /// The kind of the error.
    kind: String,
    /// The pieces: the kind of each, and its text, which is empty unless the kind is [`PieceKind::Words`].
    pieces: Vec<(PieceKind, String)>,
    /// The values, in the order of their pieces.
    pub(super) values: Vec<Value>,
}

impl Message {
    /// Creates an empty message of an error of a kind.
    pub(crate) fn new(kind: &str) -> Message {
        Message { kind: kind.to_owned(), pieces: Vec::new(), values: Vec::new() }
    }

    /// Creates the message of a complaint about `subject`, without values; [`with_values`](Self::with_values) adds
    /// them.
    pub(crate) fn of(complaint: Complaint, subject: &str) -> Message {
        let mut message = Message::new(complaint.kind());
        for part in complaint.parts() {
            match part {
                TemplatePart::Words(words) => message.text(words),
                TemplatePart::Subject => message.quoted(subject),
                TemplatePart::Value(kind) => message.piece(kind, &[]),
            };
        }
        message
    }

    /// Replaces the values.
    pub(crate) fn with_values(self, values: &[Value]) -> Message {
        Message { values: values.to_vec(), ..self }
    }

    /// Replaces the kind of the error.
    pub(crate) fn with_kind(self, kind: &str) -> Message {
        Message { kind: kind.to_owned(), ..self }
    }

    /// Appends text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Message {
        match self.pieces.last_mut() {
            Some((PieceKind::Words, words)) => words.push_str(text),
            _ => self.pieces.push((PieceKind::Words, text.to_owned())),
        }
        self
    }

    /// Appends text of the declaration, elided where it is too long.
    pub(crate) fn quoted(&mut self, text: &str) -> &mut Message {
        self.text(&elide(text))
    }

    /// Appends the number of the argument that the message is about, if it is about one.
    pub(crate) fn on(&mut self, argument: Option<usize>) -> &mut Message {
        match argument {
            Some(argument) => self.text(" on argument #").number(argument as u64),
            None => self,
        }
    }

    /// Appends a number that is known when the function is lowered.
    pub(crate) fn number(&mut self, number: u64) -> &mut Message {
        self.text(&number.to_string())
    }

    /// Appends a placeholder with its values.
    pub(crate) fn piece(&mut self, kind: PieceKind, values: &[Value]) -> &mut Message {
        self.pieces.push((kind, String::new()));
        self.values.extend_from_slice(values);
        self
    }

    /// Returns true if the message has a piece of a [rare](PieceKind::is_rare) kind.
    pub(super) fn is_rare(&self) -> bool {
        self.pieces.iter().any(|(kind, _)| kind.is_rare())
    }

    /// Adds the pieces to the records and returns the message as a part of a record.
    pub(super) fn add(&self, records: &mut Records) -> MessageRecord {
        let kind = records.text(&self.kind);
        let mut words = Vec::with_capacity(self.pieces.len() * Piece::WORDS as usize);
        for (kind, text) in &self.pieces {
            let text = if text.is_empty() { TextRef::default() } else { records.text(text) };
            Piece { kind: *kind, text }.encode(&mut words);
        }
        let pieces = records.pieces(&words);
        MessageRecord { kind, pieces, count: self.pieces.len() as u32 }
    }
}
