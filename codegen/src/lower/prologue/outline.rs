//! Tensors and texts that are not checked inline: functions with many of them would be large, and slow to compile.

use crate::declaration::{Device, Leaf, ParamType, Tensor};
use crate::ir::Value;
use crate::lower::explain::routines::Routine;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::Step;

/// How many tensors are checked inline in a function; with more than these a call for each is cheaper.
pub(crate) const INLINE: usize = 8;

/// What [`Routine::CheckTensor`] is to check of each value, if it can be left to the routine: a tensor of
/// compact strides, one element type and a fixed rank, which is there or branched around.
pub(crate) fn outlined(
    function: &Function<'_>,
    runs: &Table<ValueId, usize>,
) -> Table<ValueId, Option<Vec<u8>>> {
    let values = &function.values;
    let mut outlined: Table<ValueId, Option<Vec<u8>>> = Table::like(values, None);
    let mut compact = Table::like(values, false);
    let mut header = None;
    for step in &function.steps {
        if let Step::Header { tensor, device, .. } = *step {
            header = header_and_device(tensor, device);
        } else if let Step::Compact { value } = *step {
            compact[value] = values[value].guard.is_none_or(|guard| guard == value);
        } else if let Step::Data { value, align } = *step
            && compact[value]
            && runs[value] == 0
        {
            outlined[value] = header.map(|[header, device]| encode([header, align - 1, device]));
        }
    }
    if outlined.values().flatten().count() <= INLINE {
        return Table::like(values, None);
    }
    outlined
}

/// The word that has dtype and ndim in a `DLTensor`, and the device type with a mask above it: 0 where the device
/// does not matter.
fn header_and_device(tensor: &Tensor, device: bool) -> Option<[u64; 2]> {
    let &[dtype] = &tensor.accepted()[..] else { return None };
    let header = u64::from(dtype.to_word()) << 32 | tensor.rank()? as u64;
    let device = match tensor.device {
        Device::Type(ty) if device => u64::from(u32::MAX) << 32 | u64::from(ty.0 as u32),
        Device::Type(_) | Device::Any => 0,
    };
    Some([header, device])
}

/// How many texts are read inline in a function; with more than these a call for each is cheaper.
const INLINE_TEXTS: usize = 16;

/// True if [`Routine::Text`] reads the texts of a function that are always there.
pub(crate) fn outlines_texts(function: &Function<'_>) -> bool {
    let is_text = |ty: &ParamType| matches!(ty, ParamType::Leaf(Leaf::Str | Leaf::Bytes));
    function.values.values().filter(|value| is_text(value.ty)).count() > INLINE_TEXTS
}

fn encode(words: [u64; 3]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Wrapper<'_, '_> {
    /// True if the routine checks this tensor.
    pub(crate) fn is_outlined(&self, value: ValueId) -> bool {
        self.outlined[value].is_some()
    }

    /// Leaves a tensor to the routine, if it is one of those: its `DLTensor*`, required not to be NULL.
    pub(crate) fn outlined_tensor(&mut self, value: ValueId) -> Option<Value> {
        let checks = self.outlined[value].clone()?;
        let address = self.any_address(value);
        let checks = constant_bytes(&mut self.b, checks);
        let dl = self.routine_value(Routine::CheckTensor, &[address, checks]);
        self.checks.non_null(&mut self.b, dl);
        Some(dl)
    }
}
