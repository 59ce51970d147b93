//! Look-ups of elements.

use super::body::Received;
use super::ids::{SymbolId, ValueId};
use super::term::Term;

/// A look-up of an element.
#[derive(Clone, Debug)]
pub(crate) struct LookUp<'a> {
    /// The sequence.
    pub(crate) of: ValueId,
    pub(crate) index: Term,
    /// Text of the expression.
    pub(crate) text: String,
    /// The element, with the checks of its type.
    pub(crate) received: Received<'a>,
    /// Symbols that the checks bind, which nothing binds in every call before.
    pub(super) binds: Vec<SymbolId>,
    pub(crate) when: When,
    /// True if only the second operand of `and` or `or` names it. It is looked up where that operand is evaluated.
    pub(crate) late: bool,
}

/// Changes of a sequence before and after a look-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// True if calls before may have changed the sequence: the element is checked again.
    pub(crate) changed: bool,
    /// True if calls may change the sequence while the element is in use: the frame holds a reference to the element.
    pub(crate) held: bool,
}

impl When {
    /// Before any call; no call is made while the element is in use.
    pub(super) const AT_FIRST: When = When { changed: false, held: false };
}
