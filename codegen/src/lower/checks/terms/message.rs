//! Terms in messages.

use crate::declaration::reserved::spelled;
use crate::declaration::{Dim, Expr};
use crate::error::Part;
use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{element, evaluate};
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::failure::message::Message;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::Span;
use crate::resolve::body::Piece;
use crate::resolve::ids::{Id as _, SymbolId, ValueId};
use crate::resolve::step::Place;
use crate::resolve::term::{Kind, Node, Quote, ShownTerm, Term};

/// Appends the values that a quoted expression mentions, as in `, n = 6, m = 0`.
pub(super) fn quoted_values(c: &mut Checker<'_, '_>, message: &mut Message, quote: &Quote) {
    let known = c.e.known.mark();
    for ShownTerm { text, term } in &quote.shown {
        message.text(", ").quoted(text).text(" = ");
        say(c, message, term, PieceKind::of(term.kind));
    }
    c.e.known.go_back(known);
}

/// Returns the index of the argument that a term is, or of which it is a part.
pub(super) fn argument(c: &Checker<'_, '_>, term: &Term) -> Option<usize> {
    let value = if let Node::Value(value)
    | Node::Property(value, _)
    | Node::Number { of: value, .. } = term.node
    {
        Some(value)
    } else if let Node::Symbol(symbol) = term.node {
        c.e.function.symbols[symbol].value
    } else {
        None
    };
    c.e.function.argument(value?)
}

/// Appends where the symbols of a term come from: ` (= x.shape[0])` if the term is one, else `, n = 6 (= x.shape[0])`
/// for each. Parameters are named already, and of a symbol that no place with a name has bound no place is shown.
pub(super) fn origins(c: &mut Checker<'_, '_>, message: &mut Message, term: &Term) {
    let mut symbols: Vec<SymbolId> = Vec::new();
    term.any(&mut |node| {
        if let Node::Symbol(symbol) = node
            && c.e.function.symbols[*symbol].value.is_none()
            && c.e.function.symbols[*symbol].local.is_none()
            && !symbols.contains(symbol)
        {
            symbols.push(*symbol);
        }
        false
    });
    for symbol in symbols {
        let (value, origin) = match c.e.known.symbol(symbol) {
            SymbolState::Unbound => continue,
            SymbolState::Maybe(value, origin) => (value, Origin::Computed(origin)),
            SymbolState::Bound(value, origin) => (value, origin),
        };
        if !matches!(term.node, Node::Symbol(_)) {
            let name = spelled(c.e.function.symbols[symbol].name).to_string();
            message.text(", ").quoted(&name).text(" = ");
            message.piece(PieceKind::Int, &[value]);
        }
        let origin = only_stride(c, symbol).unwrap_or(origin);
        if origin.may_be_named() {
            let place = origin.value(&mut c.e.b);
            message.piece(PieceKind::Origin, &[place]);
        }
    }
}

/// Returns the place of a symbol that only one stride mentions: checks keep none for it. The place has no name unless
/// the tensor is in every call, once.
fn only_stride(c: &mut Checker<'_, '_>, symbol: SymbolId) -> Option<Origin> {
    let declared = &c.e.function.symbols[symbol];
    let Part::Stride(value, dim) = declared.part else { return None };
    if !declared.is_alone() {
        return None;
    }
    let value = ValueId::new(value);
    let tensor = c.e.function.tensor(value)?;
    let is_plain = matches!(tensor.strides.dims().get(dim), Some(Dim::Expr(Expr::Name(_))));
    if !is_plain || !c.e.is_once(value) {
        return Some(Origin::UNNAMED);
    }
    Some(Origin::Known(c.exits.subjects.packed_place(Place::Stride { value, dim })))
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
                PieceKind::Unquoted
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
