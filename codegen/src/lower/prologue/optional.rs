//! Optional tensors. A branch skips the checks of a tensor that is None, so that the checks need no mask.
//!
//! After the branch, loads from a tensor that is None read a header of zeros.

use abi_spec::layout::DL_TENSOR;

use crate::ir::{Type, Value};
use crate::lower::emitter::state::{TensorState, ValueState};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

impl<'a> Wrapper<'a, '_> {
    /// Returns true if a branch skips the checks of a value that is None.
    pub(crate) fn is_branched(&self, value: ValueId) -> bool {
        let declared = &self.function.values[value];
        declared.optional && declared.ty.tensor().is_some()
    }

    /// Emits the checks of an optional tensor if the steps start with one. Returns the number of steps that it has
    /// emitted.
    pub(crate) fn optional_tensor(&mut self, steps: &'a [Step<'a>]) -> usize {
        let Some(value) = steps.first().and_then(Step::opens).filter(|&at| self.is_branched(at))
        else {
            return 0;
        };
        let count = steps.iter().take_while(|step| about(step) == Some(value)).count();
        self.branched_tensor(value, &steps[..count]);
        count
    }

    /// Emits the branch around the steps of an optional tensor.
    fn branched_tensor(&mut self, value: ValueId, steps: &'a [Step<'a>]) {
        self.enter(value);
        self.checks.mask = None;
        let there = self.there(value);
        let shape = self.function.tensor(value).map(|tensor| &tensor.shape);
        let dims = shape.map_or(0, |shape| shape.dims().len());
        let symbols = self.unbound_in(steps);
        let join = self.b.block("next");
        let has_extents = shape.is_some_and(|shape| shape.rank() != Some(0));
        let words = 1 + usize::from(has_extents);
        let hints = ["", "shape"].map(|part| self.hint(value, part, None));
        let params: Vec<Value> =
            hints[..words].iter().map(|hint| self.b.block_param(join, Type::Ptr, *hint)).collect();
        let states = self.carried_to(join, &symbols);
        let zeros = self.absent((DL_TENSOR.size as usize).max(8 * dims));
        let mut nothing = vec![zeros; words];
        nothing.extend(self.carry(&symbols));
        self.go_unless(there, join, &nothing);
        let outside = self.mark_where_there(value);
        self.branched = Some(value);
        self.check_step(&steps[0]);
        self.check_steps(&steps[1..]);
        self.branched = None;
        let mut found = vec![self.dl(value)];
        found.extend(has_extents.then(|| self.shape(value)));
        found.extend(self.carry(&symbols));
        self.b.jump(join, &found);
        self.b.switch_to(join);
        self.go_back(outside);
        self.set_symbols(&symbols, &states);
        let state = TensorState::new(Some(params[0]), params.get(1).copied(), dims);
        self.set_state(value, ValueState::Tensor(state));
    }
}

/// Returns the value that a step checks; `None` for steps that concern several values.
pub(crate) fn about(step: &Step<'_>) -> Option<ValueId> {
    match step {
        Step::Scalar { value, .. }
        | Step::Header { value, .. }
        | Step::Value { value }
        | Step::Folded { value }
        | Step::Compact { value }
        | Step::Data { value, .. }
        | Step::Each { value, .. }
        | Step::OneOf { value, .. } => Some(*value),
        Step::Occurrence { place, .. } => Some(place.value()),
        Step::BindCompact { .. } | Step::Require(_) => None,
    }
}
