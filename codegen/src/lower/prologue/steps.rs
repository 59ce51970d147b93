//! The steps of a function as code.

use crate::declaration::ParamType;
use crate::ir::{Cond, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::step::Step;

/// How many parameters are checked together: more share a branch, but their values stay live longer.
const GROUP: usize = 2;

impl Wrapper<'_, '_> {
    /// Checks and binds, a group of values at a time: types, then headers, then the rest, since each
    /// makes the loads of the next legal.
    pub(crate) fn steps(&mut self) {
        let function = self.function;
        let steps = &function.steps[..];
        let mut start = 0;
        while start < steps.len() {
            let end = self.end_of_group(steps, start);
            let group = &steps[start..end];
            group.iter().for_each(|step| self.check_type(step));
            self.flush();
            group.iter().for_each(|step| self.check_header(step));
            self.flush();
            group.iter().for_each(|step| self.check_rest(step));
            start = end;
        }
        self.settle_tensors();
        if self.redo {
            self.flush();
            let num_args = self.num_args();
            let raised = self.explanation(Routine::Redo, self.args, num_args);
            let passed = self.b.compare_const(Cond::Eq, raised, 0);
            let (failed, next) = (self.b.cold_block("failed"), self.b.block("next"));
            self.b.branch(passed, next, failed);
            self.b.switch_to(failed);
            self.b.ret(Some(raised));
            self.b.switch_to(next);
        }
    }

    /// How many arguments there are, those that were left out included.
    pub(crate) fn num_args(&mut self) -> Value {
        let declared = self.function.declared.signature.required();
        self.num_args.unwrap_or_else(|| self.b.i32(declared as i32))
    }

    fn flush(&mut self) {
        self.checks.flush(&mut self.b, self.fail);
    }

    fn check_type(&mut self, step: &Step<'_>) {
        let Some(value) = step.opens() else { return };
        self.enter(value);
        if let Step::Scalar { scalar, .. } = step {
            self.scalar(value, *scalar);
        } else if let Step::Header { .. } = step {
            self.tensor_type(value);
        } else {
            self.value_type(value);
        }
    }

    fn check_header(&mut self, step: &Step<'_>) {
        let Some(value) = step.opens() else { return };
        self.only_if_there(value);
        if let Step::Header { tensor, device, .. } = step {
            self.tensor_header(value, tensor, *device);
        } else if let Step::Value { .. } = step {
            self.value_header(value);
        }
    }

    fn check_rest(&mut self, step: &Step<'_>) {
        self.checks.mask = None;
        match step {
            Step::Scalar { .. } | Step::Header { .. } | Step::Value { .. } => {}
            Step::Evaluate(_) => {}
            Step::Occurrence { place, rule } => {
                self.only_if_there(place.value());
                self.occurrence(*place, rule);
            }
            Step::Compact { value } | Step::Data { value, .. } if self.is_outlined(*value) => {}
            Step::Compact { value } => {
                self.only_if_there(*value);
                self.compact(*value);
            }
            Step::Data { value, align } => {
                self.only_if_there(*value);
                self.data(*value, *align);
            }
            Step::Settle { symbol, place, linear } => self.settle_symbol(*symbol, *place, linear),
            Step::Each { .. } | Step::OneOf { .. } => self.redo = true,
            Step::Require(condition) => self.require(condition),
        }
        self.checks.mask = None;
    }

    /// Raises the first fault of these arguments and returns.
    pub(crate) fn explain(&mut self, args: Value, num_args: Value) {
        let status = self.explanation(Routine::Explain, args, num_args);
        self.b.ret(Some(status));
    }

    fn explanation(&mut self, routine: Routine, args: Value, num_args: Value) -> Value {
        let has_self = self.function.declared.signature.has_self();
        let handle = if has_self { self.b.param(0) } else { self.b.null() };
        let descriptor = self.b.address(self.descriptor);
        self.routine_value(routine, &[handle, args, num_args, descriptor])
    }

    /// One past the last step of the group that starts at `start`: the steps of [`GROUP`] values. What is
    /// in a tuple can be read once the tuple has been checked.
    fn end_of_group(&self, steps: &[Step<'_>], start: usize) -> usize {
        let mut count = 0;
        for (at, step) in steps.iter().enumerate().skip(start) {
            let Some(value) = step.opens() else { continue };
            if count == GROUP {
                return at;
            }
            count += 1;
            if let ParamType::Tuple(_) = self.function.values[value].ty {
                return at + 1;
            }
        }
        steps.len()
    }
}
