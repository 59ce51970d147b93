//! Elements of arrays and lists, which are looked up at their first use.

use crate::lower::checks::checker::Checker;
use crate::lower::checks::element;
use crate::lower::checks::terms::exact;
use crate::lower::emitter::state::ValueState;
use crate::resolve::ids::{LookUpId, ValueId};
use crate::resolve::term::Term;
use crate::resolve::value::look_up;

/// Looks a value up if it is an element that a sequence was not asked for yet, or a part of one.
pub(in crate::lower::checks) fn reach(c: &mut Checker<'_, '_>, value: ValueId) {
    if let Some(id) = pending(c, value) {
        exact::settle_overflows(c);
        element::look_element_up(c, id);
    }
}

/// Returns true if the evaluation of a term looks elements up.
pub(super) fn looks_up(c: &Checker<'_, '_>, term: &Term) -> bool {
    term.any(&mut |node| node.value().is_some_and(|value| pending(c, value).is_some()))
}

fn pending(c: &Checker<'_, '_>, value: ValueId) -> Option<LookUpId> {
    let id = look_up(&c.e.function.values, value)?;
    let element = c.e.function.look_ups[id].received.value;
    matches!(c.e.known.value(element), ValueState::Pending).then_some(id)
}
