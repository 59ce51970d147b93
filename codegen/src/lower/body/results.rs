//! Results: where they are while the kernel runs, and how they reach the caller.

use abi_spec::layout::ANY;
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::{Mapping, ResultType, Sequence, ValueKind, ValueType};
use crate::ir::{Cond, Type, Value};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::site::Fault;
use crate::lower::prologue::scalar::{result_index, write_any};
use crate::lower::prologue::wrapper::Wrapper;
use crate::resolve::accept::Accepted;

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
        match &self.resolved.scope.function.signature.result {
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
                let object = self.output_object(0);
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
        match (&self.resolved.scope.function.signature.result, returned) {
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

/// What a kernel may write as a value of this type.
pub(crate) fn accepted(ty: &ValueType) -> Accepted {
    match ty {
        ValueType::Any => {
            let borrowed = [
                TypeIndex::DL_TENSOR_PTR,
                TypeIndex::RAW_STR,
                TypeIndex::BYTE_ARRAY_PTR,
                TypeIndex::OBJECT_RVALUE_REF,
                TypeIndex::UNCHANGED,
            ];
            Accepted::of_those(|index| !borrowed.contains(&index)).or(Accepted::GIVEN_OUT)
        }
        ValueType::Scalar(scalar) => Accepted::of(&[result_index(*scalar)]),
        ValueType::Kind(kind) => of_kind(*kind),
        ValueType::Optional(inner) => accepted(inner).or(Accepted::of(&[TypeIndex::NONE])),
        ValueType::Tuple(_) | ValueType::Sequence(Sequence::Array, _) => of_kind(ValueKind::Array),
        ValueType::Sequence(Sequence::List, _) => of_kind(ValueKind::List),
        ValueType::Mapping(Mapping::Map, _) => of_kind(ValueKind::Map),
        ValueType::Mapping(Mapping::Dict, _) => of_kind(ValueKind::Dict),
    }
}

fn of_kind(kind: ValueKind) -> Accepted {
    let indices: &[TypeIndex] = match kind {
        ValueKind::Str => &[TypeIndex::SMALL_STR, TypeIndex::STR],
        ValueKind::Bytes => &[TypeIndex::SMALL_BYTES, TypeIndex::BYTES],
        ValueKind::DType => &[TypeIndex::DATA_TYPE],
        ValueKind::Device => &[TypeIndex::DEVICE],
        ValueKind::Object => {
            return Accepted::of_those(TypeIndex::is_object).or(Accepted::GIVEN_OUT);
        }
        ValueKind::Shape => &[TypeIndex::SHAPE],
        ValueKind::Tensor => &[TypeIndex::TENSOR],
        ValueKind::Array => &[TypeIndex::ARRAY],
        ValueKind::List => &[TypeIndex::LIST],
        ValueKind::Map => &[TypeIndex::MAP],
        ValueKind::Dict => &[TypeIndex::DICT],
        ValueKind::Function => &[TypeIndex::FUNCTION],
        ValueKind::Module => &[TypeIndex::MODULE],
    };
    Accepted::of(indices)
}
