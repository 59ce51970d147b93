//! Tensors and texts that are not checked inline: functions with many of them would be large, and slow to compile.

use crate::declaration::{Leaf, ParamType};
use crate::ir::Value;
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::Step;

/// How many tensors are checked inline in a function; with more than these a call for each is cheaper.
pub(crate) const INLINE: usize = 8;

/// Which tensors are left to [`Routine::CheckHeader`] and [`Routine::Settle`]: those of compact strides, one element
/// type and a fixed rank, which are there or branched around.
pub(crate) fn outlined(
    function: &Function<'_>,
    runs: &Table<ValueId, usize>,
) -> Table<ValueId, bool> {
    let values = &function.values;
    let mut outlined = Table::like(values, false);
    let mut compact = Table::like(values, false);
    let mut is_plain = false;
    for step in &function.steps {
        if let Step::Header { tensor, .. } = *step {
            is_plain = tensor.accepted().len() == 1 && tensor.rank().is_some();
        } else if let Step::Compact { value } = *step {
            compact[value] = values[value].guard.is_none_or(|guard| guard == value);
        } else if let Step::Data { value, .. } = *step
            && compact[value]
            && runs[value] == 0
        {
            outlined[value] = is_plain;
        }
    }
    if outlined.values().filter(|&&is_outlined| is_outlined).count() <= INLINE {
        return Table::like(values, false);
    }
    outlined
}

/// How many texts are read inline in a function; with more than these a call for each is cheaper.
const INLINE_TEXTS: usize = 16;

/// True if [`Routine::Text`] reads the texts of a function that are always there.
pub(crate) fn outlines_texts(function: &Function<'_>) -> bool {
    let is_text = |ty: &ParamType| matches!(ty, ParamType::Leaf(Leaf::Str | Leaf::Bytes));
    function.values.values().filter(|value| is_text(value.ty)).count() > INLINE_TEXTS
}

impl Wrapper<'_, '_> {
    /// True if the routine checks this tensor.
    pub(crate) fn is_outlined(&self, value: ValueId) -> bool {
        self.forms.outlined[value]
    }

    /// Leaves the header of a tensor to the routine, if it is one of those: its `DLTensor*`.
    pub(crate) fn outlined_tensor(&mut self, value: ValueId) -> Option<Value> {
        if !self.forms.outlined[value] {
            return None;
        }
        let (address, subject) = (self.any_address(value), self.subject(value));
        let dl = self.routine_value(Routine::CheckHeader, &[address, subject]);
        self.require_raised(dl);
        Some(dl)
    }

    /// Requires what a routine yields that raises by itself not to be NULL.
    pub(crate) fn require_raised(&mut self, address: Value) {
        let raised = self.raised();
        self.checks.or_go_to(raised).non_null(&mut self.b, address);
    }
}
