//! The steps of a function as code, one after the other: each makes the loads of the next legal.

use crate::ir::{Block, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

impl<'a> Wrapper<'a, '_> {
    /// Checks and binds.
    pub(crate) fn check_steps(&mut self, steps: &'a [Step<'a>]) {
        let mut rest = steps;
        while let Some((first, others)) = rest.split_first() {
            let about_tensors = self.optional_tensor(rest) + self.run(rest);
            if about_tensors == 0 {
                self.check_step(first);
                rest = others;
            } else {
                rest = &rest[about_tensors..];
            }
        }
    }

    pub(crate) fn check_step(&mut self, step: &'a Step<'a>) {
        match step {
            Step::Scalar { value, scalar } => {
                self.open(*value);
                self.scalar(*value, *scalar);
            }
            Step::Header { value, tensor, device } => {
                self.open(*value);
                self.tensor_type(*value);
                self.tensor_header(*value, tensor, *device);
            }
            Step::Value { value } => {
                self.open(*value);
                self.value_type(*value);
                self.value_header(*value);
            }
            Step::Occurrence { place, rule } => {
                self.only_if_there(place.value());
                self.occurrence(*place, rule);
            }
            Step::Compact { value } => {
                self.only_if_there(*value);
                self.compact(*value);
            }
            Step::Data { value, align } => {
                self.only_if_there(*value);
                self.data(*value, *align);
            }
            Step::Settle { symbol, place, linear } => self.settle_symbol(*symbol, *place, linear),
            Step::Each { value, steps } => self.each(*value, steps),
            Step::OneOf { value, types } => self.one_of(*value, types),
            Step::Require(condition) => self.require(condition),
            Step::Evaluate(_) => {}
        }
        self.checks.mask = None;
    }

    /// The first step about a value.
    fn open(&mut self, value: ValueId) {
        self.enter(value);
        self.only_if_there(value);
    }

    /// How many arguments there are, those that were left out included.
    pub(crate) fn num_args(&mut self) -> Value {
        let declared = self.function.declared.signature.required();
        self.num_args.unwrap_or_else(|| self.b.i32(declared as i32))
    }

    /// Ends the blocks in which something fails: where arguments are miscounted, where checks fail, and where a routine
    /// has refused an argument. The last is a block of its own so that the second one can stand next to the checks,
    /// within reach of short branches.
    pub(crate) fn failures(&mut self, [miscounted, fail, refused]: [Block; 3]) {
        self.b.switch_to(miscounted);
        let [args, given] = [1, 2].map(|at| self.b.param(at));
        self.explain(args, args, given);
        self.b.switch_to(fail);
        let num_args = self.num_args();
        self.explain(self.args, self.args, num_args);
        self.b.switch_to(refused);
        let (nobody, num_args) = (self.b.null(), self.num_args());
        self.explain(nobody, self.args, num_args);
    }

    /// Raises the first fault of these arguments and returns. `other` takes the place of a handle that nobody looks at:
    /// what is in a register already, or what keeps LLVM from making one block of two.
    fn explain(&mut self, other: Value, args: Value, num_args: Value) {
        let has_self = self.function.declared.signature.has_self();
        let handle = if has_self { self.b.param(0) } else { other };
        let descriptor = self.descriptor_address();
        let routine = Routine::explaining(self.descriptor.room);
        let raised = self.routine(routine, &[handle, args, num_args, descriptor]);
        self.b.ret(raised);
    }
}
