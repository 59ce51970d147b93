//! Results. The result is written last: a call that fails leaves it untouched.

use abi_spec::layout::any;
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::{Leaf, ParamType, ResultType};
use crate::ir::{Cond, Type, Value};
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::write_any;
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::{may_be_object, result_index};
use crate::resolve::body::{Packed, Received, Returned};
use crate::resolve::ids::{OutputId, ValueId};

impl<'a> Wrapper<'a, '_> {
    /// Emits a return statement.
    pub(crate) fn return_of(&mut self, returned: &'a Returned<'a>) {
        match returned {
            Returned::None => self.return_none(),
            Returned::Outputs => self.return_outputs(),
            Returned::Scalar(term, scalar) => {
                let value = self.term(term);
                self.return_scalar(*scalar, value);
            }
            Returned::Packed(packed, received) => self.return_packed(packed, received.as_ref()),
        }
    }

    /// Emits the return of None.
    pub(crate) fn return_none(&mut self) {
        self.release_beyond(0);
        let (result, zero) = (self.b.param(3), self.b.i64(0));
        write_any(&mut self.b, result, TypeIndex::NONE, zero);
        self.succeed();
    }

    /// Emits the return of status 0.
    fn succeed(&mut self) {
        let status = self.b.i32(0);
        self.b.ret(Some(status));
    }

    /// Emits the return of the scalar that a kernel has returned in its C type.
    pub(crate) fn return_native(&mut self, scalar: Scalar, returned: Value) {
        self.b.hint(returned, "returned");
        if scalar == Scalar::Bool {
            let truth = self.b.compare_const(Cond::Ne, returned, 0);
            let truth = self.b.widen_bool(truth, Type::I64);
            return self.return_scalar(scalar, truth);
        }
        let wide = self.widen(returned, scalar);
        self.return_scalar(scalar, wide);
    }

    /// Emits the return of a number: `I64`, `F64` or `Ptr`.
    fn return_scalar(&mut self, scalar: Scalar, value: Value) {
        if scalar == Scalar::Uint64 {
            let too_large = self.b.compare_const(Cond::Slt, value, 0);
            let (fail, next) = (self.b.cold_block("too_large"), self.b.block("next"));
            self.b.branch(too_large, fail, next);
            self.b.switch_to(fail);
            let raised = self.fail_at(&Failed::of(Complaint::ResultRange, ""), &[value]);
            self.exit(Some(raised));
            self.b.switch_to(next);
        }
        self.release_beyond(0);
        let result = self.b.param(3);
        write_any(&mut self.b, result, result_index(scalar), value);
        self.succeed();
    }

    /// Emits the return of the tensors of the signature, which are the first values that the frame owns.
    pub(crate) fn return_outputs(&mut self) {
        let results: Vec<OutputId> = self.function.results().map(|(output, _)| output).collect();
        let result = self.b.param(3);
        if let [output] = results[..] {
            let object = self.output_object(output);
            self.release_beyond(1);
            write_any(&mut self.b, result, TypeIndex::TENSOR, object);
            return self.succeed();
        }
        let tensors = self.owned_at(0);
        let site = self.here();
        let count = self.b.i32(results.len() as i32);
        let array = self.own_none();
        let args = [site, tensors, count, array];
        let status = self.routine_value(Routine::MakeArray, &args);
        self.exit_unless_zero(status, "not_made");
        let object = self.b.load(Type::Ptr, array, any::PAYLOAD.offset);
        self.disown(1);
        self.release_beyond(0);
        write_any(&mut self.b, result, TypeIndex::ARRAY, object);
        self.succeed();
    }

    /// Emits the return of a checked value that a kernel has written.
    pub(crate) fn return_received(&mut self, value: ValueId, at: Value) {
        self.pack_received(value, at);
        self.hand_over(at);
    }

    /// Converts an owned value in place to its declared type. If the conversion replaces an object by a scalar, dtype
    /// or device, the object is released.
    fn pack_received(&mut self, value: ValueId, at: Value) {
        if !is_converted(self.function.values[value].ty) {
            return self.pack_value(value, at, 0);
        }
        let index = self.b.load(Type::I32, at, any::TYPE_INDEX.offset);
        let object = self.b.load(Type::Ptr, at, any::PAYLOAD.offset);
        self.pack_value(value, at, 0);
        let was_object = self.b.is_object(index);
        self.b.if_then(was_object, |b| b.release_object(object));
    }

    /// Emits the return of a value that the body writes. A borrowed object is retained.
    fn return_packed(&mut self, packed: &Packed<'_>, received: Option<&'a Received<'a>>) {
        let slot = self.own_none();
        let owned = self.frame.owned();
        self.pack_one(packed, slot);
        if self.frame.owned() == owned {
            let site = self.here();
            self.disown(1);
            let status = self.routine_value(Routine::Own, &[site, slot]);
            self.exit_unless_zero(status, "not_owned");
            self.own(1);
        } else {
            // The object was made here; its reference goes to the caller.
            self.keep_owned(owned);
        }
        if let Some(received) = received {
            self.receive(received, slot);
            self.pack_received(received.value, slot);
        }
        self.hand_over(slot);
    }

    /// Emits the return of the last value that the frame owns. `at` is its address.
    fn hand_over(&mut self, at: Value) {
        self.disown(1);
        self.release_beyond(0);
        let result = self.b.param(3);
        for field in [any::TYPE_INDEX, any::PAYLOAD] {
            let word = self.b.load(Type::I64, at, field.offset);
            self.b.store(word, result, field.offset);
        }
        self.succeed();
    }

    /// Emits the return of a body that is one call.
    pub(crate) fn return_call(&mut self, returned: Option<Value>) {
        match (&self.function.declared.signature.result, returned) {
            (ResultType::Value(ty), Some(returned)) => {
                let scalar = ty.scalar().unwrap_or(Scalar::Int64);
                self.return_native(scalar, returned);
            }
            (ResultType::Allocated(_), _) => self.return_outputs(),
            (ResultType::None | ResultType::Value(_), _) => self.return_none(),
        }
    }
}

/// Returns true if a type whose values are not objects also accepts an object: text that names a dtype or a device, or
/// an integer object.
fn is_converted(ty: &ParamType) -> bool {
    ty.leaf().is_some_and(Leaf::is_parsed) || ty.scalar().is_some_and(may_be_object)
}
