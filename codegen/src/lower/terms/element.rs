//! Elements of arrays and lists, which are looked up at their first use.

use crate::lower::emitter::state::ValueState;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{LookUpId, ValueId};
use crate::resolve::term::Term;
use crate::resolve::value::look_up;

impl Wrapper<'_, '_> {
    /// Looks a value up if it is an element that a sequence was not asked for yet, or a part of one.
    pub(crate) fn reach(&mut self, value: ValueId) {
        if let Some(id) = self.pending(value) {
            self.settle_overflows();
            (self.find_element)(self, id);
        }
    }

    /// Returns true if the evaluation of a term looks elements up.
    pub(crate) fn looks_up(&self, term: &Term) -> bool {
        term.any(&mut |node| node.value().is_some_and(|value| self.pending(value).is_some()))
    }

    fn pending(&self, value: ValueId) -> Option<LookUpId> {
        let id = look_up(&self.function.values, value)?;
        let element = self.function.look_ups[id].received.value;
        matches!(self.values[element], ValueState::Pending).then_some(id)
    }
}
