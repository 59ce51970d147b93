//! Terms in messages.

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::emitter::state::SymbolState;
use crate::lower::failure::message::Message;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::Span;
use crate::lower::wrapper::Wrapper;
use crate::resolve::body::Piece;
use crate::resolve::term::{Kind, Node, Quote, ShownTerm, Term};

impl Wrapper<'_, '_> {
    /// Appends the values that a quoted expression mentions, as in `, n = 6, m = 0`.
    pub(crate) fn leaves(&mut self, message: &mut Message, quote: &Quote) {
        let known = self.mark();
        for ShownTerm { text, term } in &quote.shown {
            message.text(", ").quoted(text).text(" = ");
            self.say(message, term, PieceKind::of(term.kind));
        }
        self.go_back(known);
    }

    /// Appends a piece of a message that the declaration gives. Texts are not quoted; truth values are shown as words.
    pub(crate) fn say_piece(&mut self, message: &mut Message, piece: &Piece<'_>) {
        match piece {
            Piece::Text(text) => {
                message.text(text);
            }
            Piece::Term(term) => {
                let kind = if term.kind == Kind::Bool {
                    PieceKind::Truth
                } else if term.kind == Kind::Text {
                    PieceKind::Plain
                } else {
                    PieceKind::of(term.kind)
                };
                self.say(message, term, kind);
            }
        }
    }

    /// Appends the value of a term, printed as a piece of this kind.
    fn say(&mut self, message: &mut Message, term: &Term, kind: PieceKind) {
        if let (Kind::Text, Node::Value(value)) = (term.kind, &term.node) {
            self.reach(*value);
            let Span { data, size } = self.values[*value].span();
            message.piece(kind, &[data, size]);
            return;
        }
        if matches!(term.kind, Kind::Text | Kind::Several) {
            // Messages show these values only as a pointer that is not NULL, so any such pointer serves.
            let some = self.b.i64(1);
            message.piece(PieceKind::Ptr, &[some]);
            return;
        }
        let value = self.shown(term);
        let word = match self.b.ty(value) {
            Type::F64 => self.b.convert(Convert::Bitcast, value, Type::I64),
            Type::Ptr => self.b.convert(Convert::PtrToInt, value, Type::I64),
            Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F32 => value,
        };
        message.piece(kind, &[word]);
    }

    /// Returns the value of a term that a message shows; 0 for a symbol that nothing has bound in this call.
    fn shown(&mut self, term: &Term) -> Value {
        if let Node::Symbol(symbol) = term.node
            && let SymbolState::Maybe(value, origin) = self.symbols[symbol]
        {
            let zero = self.b.i64(0);
            let bound = self.b.compare_const(Cond::Ne, origin, 0);
            return self.b.select(bound, value, zero);
        }
        self.term(term)
    }
}
