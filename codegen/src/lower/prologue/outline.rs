//! Tensors and texts that routines check. In functions with many of them, inline checks would be large and slow to
//! compile.

use crate::declaration::{Leaf, ParamType};
use crate::ir::Value;
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::Step;

/// Largest number of outlinable tensors in a function that checks them inline.
pub(crate) const INLINE: usize = 8;

/// Returns which tensors [`Routine::CheckHeader`] and [`Routine::Settle`] check: those with compact strides, one dtype
/// and a fixed rank, which no other optional value contains.
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

/// Largest number of texts in a function that reads them inline.
const INLINE_TEXTS: usize = 16;

/// Returns true if [`Routine::Text`] reads the texts of a function. Texts that may be absent are read inline.
pub(crate) fn outlines_texts(function: &Function<'_>) -> bool {
    let is_text = |ty: &ParamType| matches!(ty, ParamType::Leaf(Leaf::Str | Leaf::Bytes));
    function.values.values().filter(|value| is_text(value.ty)).count() > INLINE_TEXTS
}

impl Wrapper<'_, '_> {
    /// Returns true if routines check this tensor.
    pub(crate) fn is_outlined(&self, value: ValueId) -> bool {
        self.forms.outlined[value]
    }

    /// Emits the call of the routine that checks the header of an outlined tensor; returns its `DLTensor*`.
    pub(crate) fn outlined_tensor(&mut self, value: ValueId) -> Option<Value> {
        if !self.forms.outlined[value] {
            return None;
        }
        let (address, subject) = (self.any_address(value), self.subject(value));
        let dl = self.routine_value(Routine::CheckHeader, &[address, subject]);
        self.require_raised(dl);
        Some(dl)
    }

    /// Leaves if `address` is NULL: the routine that has returned it has raised the error.
    pub(crate) fn require_raised(&mut self, address: Value) {
        let raised = self.raised();
        self.checks.or_go_to(raised).non_null(&mut self.b, address);
    }
}
