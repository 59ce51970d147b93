//! Results: where they are while the kernel runs, and how they reach the caller.

use abi_spec::layout::ANY;
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::ResultType;
use crate::ir::{Cond, Type, Value};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::site::Fault;
use crate::lower::value::write_any;
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::result_index;
use crate::resolve::ids::{Id, OutputId};

/// What the wrapper holds while the kernel runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pending {
    /// Nothing.
    Nothing,
    /// The address of the value that the kernel writes.
    Written(Value),
    /// The address of the tensors that were allocated.
    Allocated(Value),
}

impl Wrapper<'_, '_> {
    /// Makes room for the result, or allocates it.
    pub(crate) fn prepare_result(&mut self) -> Pending {
        match &self.function.declared.signature.result {
            ResultType::None | ResultType::Scalar(_) => Pending::Nothing,
            ResultType::Written(_) => {
                let slot = self.b.stack_slot(ANY.size, ANY.align);
                let zero = self.b.i64(0);
                write_any(&mut self.b, slot, TypeIndex::NONE, zero);
                Pending::Written(slot)
            }
            ResultType::Allocated(_) => Pending::Allocated(self.allocate()),
        }
    }

    /// Gives up what the wrapper holds, after a failure.
    pub(crate) fn leave(&mut self, pending: Pending) {
        let (values, count) = match pending {
            Pending::Nothing => return,
            Pending::Written(value) => (value, 1),
            Pending::Allocated(tensors) => (tensors, self.outputs.len()),
        };
        let count = self.b.i64(count as i64);
        self.routine(Routine::Leave, &[values, count]);
    }

    /// Writes the result and returns.
    pub(crate) fn finish(&mut self, pending: Pending, returned: Option<Value>) {
        let result = self.b.param(3);
        let descriptor = self.b.address(self.descriptor);
        let status = match (pending, returned) {
            (Pending::Nothing, returned) => self.write_returned(returned),
            (Pending::Written(value), _) => {
                self.routine_value(Routine::TakeResult, &[descriptor, value, result])
            }
            (Pending::Allocated(_), _) if self.outputs.len() == 1 => {
                let object = self.output_object(OutputId::new(0));
                write_any(&mut self.b, result, TypeIndex::TENSOR, object);
                self.b.i32(0)
            }
            (Pending::Allocated(tensors), _) => {
                self.routine_value(Routine::MakeArray, &[descriptor, tensors, result])
            }
        };
        self.b.ret(Some(status));
    }
}

impl Wrapper<'_, '_> {
    /// Writes what the kernel has returned, or None. Yields the status.
    fn write_returned(&mut self, returned: Option<Value>) -> Value {
        let result = self.b.param(3);
        match (&self.function.declared.signature.result, returned) {
            (ResultType::Scalar(scalar), Some(returned)) => self.scalar_result(*scalar, returned),
            (
                ResultType::None
                | ResultType::Scalar(_)
                | ResultType::Written(_)
                | ResultType::Allocated(_),
                _,
            ) => {
                let zero = self.b.i64(0);
                write_any(&mut self.b, result, TypeIndex::NONE, zero);
            }
        }
        self.b.i32(0)
    }

    fn scalar_result(&mut self, scalar: Scalar, returned: Value) {
        self.b.hint(returned, "returned");
        if scalar == Scalar::Uint64 {
            let too_large = self.b.compare_const(Cond::Slt, returned, 0);
            let (fail, next) = (self.b.cold_block("too_large"), self.b.block("next"));
            self.b.branch(too_large, fail, next);
            self.b.switch_to(fail);
            let raised = self.fail_at(&Fault::plain(Complaint::ResultRange), &[returned]);
            self.b.ret(raised);
            self.b.switch_to(next);
        }
        let payload = if scalar == Scalar::Bool {
            let truth = self.b.compare_const(Cond::Ne, returned, 0);
            self.b.widen_bool(truth, Type::I64)
        } else {
            self.widen(returned, scalar)
        };
        let result = self.b.param(3);
        write_any(&mut self.b, result, result_index(scalar), payload);
    }
}
