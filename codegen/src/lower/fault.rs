//! Failures of the body: what is said where they happen.

use crate::ir::{Block, Convert, Type, Value};
use crate::lower::explain::codes::LeafKind;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::PIECES;
use crate::lower::explain::site::Fault;
use crate::lower::quote::elide;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Piece;
use crate::resolve::term::{Kind, Leaf, Node, Quote, Term};

/// A message with values in it.
#[derive(Debug)]
pub(crate) struct Message {
    kind: String,
    /// Text, with the codes of [`LeafKind`] where values stand. A character of text that could be a code stands
    /// behind [`LeafKind::Escape`].
    template: String,
    kinds: Vec<LeafKind>,
    values: Vec<Value>,
}

impl Message {
    /// An error of a kind.
    pub(crate) fn new(kind: &str) -> Message {
        let (template, kinds, values) = (String::new(), Vec::new(), Vec::new());
        Message { kind: kind.to_owned(), template, kinds, values }
    }

    /// Appends text of ours.
    pub(crate) fn text(&mut self, text: &'static str) -> &mut Message {
        self.template.push_str(text);
        self
    }

    /// Appends text that the user wrote.
    pub(crate) fn quoted(&mut self, text: &str) -> &mut Message {
        for c in elide(text).chars() {
            if u32::from(c) < PIECES {
                self.template.push(char::from(LeafKind::Escape as u8));
            }
            self.template.push(c);
        }
        self
    }

    /// Appends which argument the message is about, if it is one.
    pub(crate) fn on(&mut self, argument: Option<usize>) -> &mut Message {
        match argument {
            Some(argument) => self.text(" on argument #").number(argument as u64),
            None => self,
        }
    }

    /// Appends a number that is known now.
    pub(crate) fn number(&mut self, number: u64) -> &mut Message {
        self.template.push_str(&number.to_string());
        self
    }

    /// Appends what stands for values.
    pub(crate) fn piece(&mut self, kind: LeafKind, values: &[Value]) -> &mut Message {
        self.template.push(char::from(kind as u8));
        self.kinds.push(kind);
        self.values.extend_from_slice(values);
        self
    }
}

impl Wrapper<'_, '_> {
    /// Where something fails: what the arguments explain if nothing has happened so far, else a block of its own
    /// that raises the message.
    pub(crate) fn failing(&mut self, message: impl FnOnce(&mut Self) -> Message) -> Block {
        if !self.frame.effects {
            return self.checks.fail;
        }
        let (here, block) = (self.b.current(), self.b.cold_block("fault"));
        self.b.switch_to(block);
        self.aside(|w| {
            let message = message(w);
            w.raise(&message);
        });
        self.b.switch_to(here);
        block
    }

    /// Raises a message and leaves.
    pub(crate) fn raise(&mut self, message: &Message) {
        self.used.leaf(LeafKind::Template);
        message.kinds.iter().for_each(|&kind| self.used.leaf(kind));
        let subject = message.template.clone();
        let fault = Fault { kind: &message.kind, subject, ..Fault::plain(Complaint::Own) };
        let raised = self.fail_at(&fault, &message.values);
        self.exit(raised);
    }

    /// Appends `, n = 6, m = 0`.
    pub(crate) fn leaves(&mut self, message: &mut Message, quote: &Quote) {
        for Leaf { text, term } in &quote.leaves {
            message.text(", ").quoted(text).text(" = ");
            self.say(message, term, LeafKind::of(term.kind));
        }
    }

    /// Appends a part of a message that the user wrote: text and truths as they are.
    pub(crate) fn say_piece(&mut self, message: &mut Message, piece: &Piece<'_>) {
        match piece {
            Piece::Text(text) => {
                let address = constant_bytes(&mut self.b, text.as_bytes().to_vec());
                let length = self.b.i64(text.len() as i64);
                message.piece(LeafKind::Plain, &[address, length]);
            }
            Piece::Term(term) => {
                let kind = match term.kind {
                    Kind::Bool => LeafKind::Truth,
                    Kind::Text => LeafKind::Plain,
                    Kind::Int
                    | Kind::Unsigned
                    | Kind::Float
                    | Kind::Ptr
                    | Kind::DType
                    | Kind::Device
                    | Kind::Several => LeafKind::of(term.kind),
                };
                self.say(message, term, kind);
            }
        }
    }

    /// Appends a value, as a piece of this kind.
    fn say(&mut self, message: &mut Message, term: &Term, kind: LeafKind) {
        if let (Kind::Text, Node::Value(value)) = (term.kind, &term.node) {
            let text = self.values[*value].pair();
            message.piece(kind, &text);
            return;
        }
        if matches!(term.kind, Kind::Text | Kind::Several) {
            // Of several values messages say that they are there.
            let some = self.b.i64(1);
            message.piece(LeafKind::Ptr, &[some]);
            return;
        }
        let value = self.term(term);
        let word = match self.b.ty(value) {
            Type::F64 => self.b.convert(Convert::Bitcast, value, Type::I64),
            Type::Ptr => self.b.convert(Convert::PtrToInt, value, Type::I64),
            Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F32 => value,
        };
        message.piece(kind, &[word]);
    }
}
