//! Optional tensors: one that is None is branched around, so that the checks of one that is there are those of
//! any other tensor.
//!
//! After the branch a tensor that was None has a header of zeros.

use abi_spec::layout::DL_TENSOR;

use crate::ir::{Type, Value};
use crate::lower::emitter::state::TensorState;
use crate::lower::emitter::state::ValueState;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

impl<'a> Wrapper<'a, '_> {
    /// True if a value is branched around where it is not there.
    pub(crate) fn is_branched(&self, value: ValueId) -> bool {
        let declared = &self.function.values[value];
        declared.optional && declared.ty.tensor().is_some()
    }

    /// If these steps start with an optional tensor, checks it; yields how many of them are about it.
    pub(crate) fn optional_tensor(&mut self, steps: &'a [Step<'a>]) -> usize {
        let Some(value) = steps.first().and_then(Step::opens).filter(|&at| self.is_branched(at))
        else {
            return 0;
        };
        let count = steps.iter().take_while(|step| about(step) == Some(value)).count();
        self.branched_tensor(value, &steps[..count]);
        count
    }

    fn branched_tensor(&mut self, value: ValueId, steps: &'a [Step<'a>]) {
        self.enter(value);
        self.checks.mask = None;
        let there = self.there(value);
        let rank = self.function.tensor(value).and_then(|tensor| tensor.rank());
        let symbols = self.unbound_in(steps);
        let join = self.b.block("next");
        let has_extents = rank != Some(0);
        let words = 1 + usize::from(has_extents);
        let hints = ["", "shape"].map(|part| self.hint(value, part, None));
        let params: Vec<Value> =
            hints[..words].iter().map(|hint| self.b.block_param(join, Type::Ptr, *hint)).collect();
        let states = self.carried_to(join, &symbols);
        let zeros = self.absent((DL_TENSOR.size as usize).max(8 * rank.unwrap_or(1)));
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
        let state = TensorState::new(Some(params[0]), params.get(1).copied(), rank);
        self.set_state(value, ValueState::Tensor(state));
    }
}

/// The value that a step is about, if it is about one alone.
pub(crate) fn about(step: &Step<'_>) -> Option<ValueId> {
    match step {
        Step::Scalar { value, .. }
        | Step::Header { value, .. }
        | Step::Value { value }
        | Step::Compact { value }
        | Step::Data { value, .. }
        | Step::Each { value, .. }
        | Step::OneOf { value, .. } => Some(*value),
        Step::Occurrence { place, .. } => Some(place.value()),
        Step::BindCompact { .. } | Step::Require(_) => None,
    }
}
