//! Steps of a prologue, in order: each step makes the loads of the next ones safe.

use crate::declaration::{Leaf, ParamType};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;
use crate::resolve::value::Source;

impl<'a> Wrapper<'a, '_> {
    /// Emits steps in order. Optional tensors, runs and declared strides take several steps at once.
    pub(crate) fn check_steps(&mut self, steps: &'a [Step<'a>]) {
        let mut rest = steps;
        while let Some((first, others)) = rest.split_first() {
            let count = self.optional_tensor(rest) + self.run(rest) + self.declared_strides(rest);
            if count == 0 {
                self.check_step(first);
                rest = others;
            } else {
                rest = &rest[count..];
            }
        }
    }

    /// Emits one step.
    pub(crate) fn check_step(&mut self, step: &'a Step<'a>) {
        match step {
            Step::Scalar { value, scalar } => {
                self.open(step, *value);
                self.scalar(*value, *scalar);
            }
            Step::Header { value, tensor, device } => {
                self.open(step, *value);
                self.tensor_type(*value);
                self.tensor_header(*value, tensor, *device);
            }
            Step::Value { value } => {
                self.open(step, *value);
                self.value_type(*value);
                self.value_header(*value);
            }
            Step::Occurrence { place, rule } => {
                self.only_if_there(place.value());
                self.occurrence(*place, rule);
            }
            Step::Folded { value } => {
                self.only_if_there(*value);
                self.folded(*value);
            }
            Step::Compact { value } => {
                self.only_if_there(*value);
                self.compact(*value);
            }
            Step::Data { value, align } => {
                self.only_if_there(*value);
                self.data(*value, *align);
            }
            Step::BindCompact { symbol, place, linear } => {
                self.settle_symbol(*symbol, *place, linear)
            }
            Step::Each { value, steps } => self.each(*value, steps),
            Step::OneOf { value, types } => self.one_of(*value, types),
            Step::Require(condition) => self.require(condition),
        }
        self.checks.mask = None;
    }

    /// Begins the checks of a value at its first step: sets the exit and the mask, and names the group.
    fn open(&mut self, step: &Step<'_>, value: ValueId) {
        self.enter(value);
        self.only_if_there(value);
        let declared = &self.function.values[value];
        let is_free = matches!(declared.ty, ParamType::Leaf(Leaf::Any) | ParamType::Union(_))
            || matches!(declared.source, Source::Rest(_) | Source::Context);
        if !is_free && !self.is_outlined(value) {
            self.checks.fail = match step {
                Step::Scalar { .. } => self.scalar_exit(value),
                Step::Header { .. } => self.header_exit(value),
                Step::Value { .. }
                | Step::Occurrence { .. }
                | Step::Folded { .. }
                | Step::Compact { .. }
                | Step::Data { .. }
                | Step::BindCompact { .. }
                | Step::Each { .. }
                | Step::OneOf { .. }
                | Step::Require(_) => self.value_exit(value),
            };
        }
        self.group(value);
    }
}
