//! Tensors and texts that routines check. In functions with many of them, inline checks would be large and slow to
//! compile.

use crate::declaration::{Leaf, ParamType};
use crate::ir::Value;
use crate::lower::checks::checker::Checker;
use crate::lower::routines::Routine;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::Step;
use crate::trace::explain;

/// Largest number of outlinable tensors in a function that checks them inline.
pub(crate) const INLINE: usize = 8;

/// Returns which tensors [`Routine::CheckHeader`] and [`Routine::Settle`] check: those with compact strides, one dtype
/// and a fixed rank, which no other optional value contains.
pub(super) fn outlined(
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
    let count = outlined.values().filter(|&&is_outlined| is_outlined).count();
    if count <= INLINE {
        return Table::like(values, false);
    }
    let name = &function.declared.signature.name;
    explain!("{name}: routines check {count} tensors, since that is more than {INLINE}");
    outlined
}

/// Largest number of texts in a function that reads them inline.
const INLINE_TEXTS: usize = 16;

/// Returns true if [`Routine::Text`] reads the texts of a function. Texts that may be absent are read inline.
pub(super) fn outlines_texts(function: &Function<'_>) -> bool {
    let is_text = |ty: &ParamType| matches!(ty, ParamType::Leaf(Leaf::Str | Leaf::Bytes));
    let count = function.values.values().filter(|value| is_text(value.ty)).count();
    if count > INLINE_TEXTS {
        let name = &function.declared.signature.name;
        explain!("{name}: a routine reads {count} texts, since that is more than {INLINE_TEXTS}");
    }
    count > INLINE_TEXTS
}

/// Returns true if routines check this tensor.
pub(super) fn is_outlined(c: &Checker<'_, '_>, value: ValueId) -> bool {
    c.forms.outlined[value]
}

/// Emits the call of the routine that checks the header of an outlined tensor; returns its `DLTensor*`.
pub(super) fn outlined_tensor(c: &mut Checker<'_, '_>, value: ValueId) -> Option<Value> {
    if !c.forms.outlined[value] {
        return None;
    }
    let (address, subject) = (c.e.any_address(value), c.exits.subject(&mut c.e, value));
    let dl = c.e.routine_value(Routine::CheckHeader, &[address, subject]);
    leave_if_null(c, dl);
    Some(dl)
}

/// Leaves if `address` is NULL: the routine that has returned it has raised the error.
fn leave_if_null(c: &mut Checker<'_, '_>, address: Value) {
    let raised = c.exits.raised(&mut c.e);
    c.checks.or_go_to(raised).non_null(&mut c.e.b, address);
}
