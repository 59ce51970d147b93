//! Terms in messages.

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{element, evaluate};
use crate::lower::emitter::state::SymbolState;
use crate::lower::failure::message::Message;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::Span;
use crate::resolve::body::Piece;
use crate::resolve::term::{Kind, Node, Quote, ShownTerm, Term};

/// Appends the values that a quoted expression mentions, as in `, n = 6, m = 0`.
pub(super) fn leaves(c: &mut Checker<'_, '_>, message: &mut Message, quote: &Quote) {
    let known = c.e.known.mark();
    for ShownTerm { text, term } in &quote.shown {
        message.text(", ").quoted(text).text(" = ");
        say(c, message, term, PieceKind::of(term.kind));
    }
    c.e.known.go_back(known);
}

/// Appends a piece of a message that the declaration gives. Texts are not quoted; truth values are shown as words.
pub(in crate::lower) fn say_piece(
    c: &mut Checker<'_, '_>,
    message: &mut Message,
    piece: &Piece<'_>,
) {
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
            say(c, message, term, kind);
        }
    }
}

/// Appends the value of a term, printed as a piece of this kind.
fn say(c: &mut Checker<'_, '_>, message: &mut Message, term: &Term, kind: PieceKind) {
    if let (Kind::Text, Node::Value(value)) = (term.kind, &term.node) {
        element::reach(c, *value);
        let Span { data, size } = c.e.known.value(*value).span();
        message.piece(kind, &[data, size]);
        return;
    }
    if matches!(term.kind, Kind::Text | Kind::Several) {
        // Messages show these values only as a pointer that is not NULL, so any such pointer serves.
        let some = c.e.b.i64(1);
        message.piece(PieceKind::Ptr, &[some]);
        return;
    }
    let value = shown(c, term);
    let word = match c.e.b.ty(value) {
        Type::F64 => c.e.b.convert(Convert::Bitcast, value, Type::I64),
        Type::Ptr => c.e.b.convert(Convert::PtrToInt, value, Type::I64),
        Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F32 => value,
    };
    message.piece(kind, &[word]);
}

/// Returns the value of a term that a message shows; 0 for a symbol that nothing has bound in this call.
fn shown(c: &mut Checker<'_, '_>, term: &Term) -> Value {
    if let Node::Symbol(symbol) = term.node
        && let SymbolState::Maybe(value, origin) = c.e.known.symbol(symbol)
    {
        let zero = c.e.b.i64(0);
        let bound = c.e.b.compare_const(Cond::Ne, origin, 0);
        return c.e.b.select(bound, value, zero);
    }
    evaluate::eval(c, term)
}
