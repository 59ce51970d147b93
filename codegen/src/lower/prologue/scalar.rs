//! Scalar parameters: from `TVMFFIAny` to the C type.

use abi_spec::layout::{any, big_int};
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::Literal;
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::value::Source;

impl Wrapper<'_, '_> {
    /// Checks a scalar parameter and loads its value.
    pub(crate) fn scalar(&mut self, value: ValueId, scalar: Scalar) {
        let context = self.function.values[value].source == Source::Context;
        let state = if context {
            ScalarState { ty: scalar, native: self.b.param(0), wide: None }
        } else if self.function.is_wide(value) {
            self.unsigned(value)
        } else if scalar.is_int() {
            self.integer(value, scalar)
        } else if scalar.is_float() {
            self.float(value, scalar)
        } else if scalar == Scalar::Bool {
            self.boolean(value)
        } else {
            self.pointer_param(value)
        };
        let hint = self.hint(value, "", None);
        if !context {
            self.b.hint(state.native, hint);
        }
        self.set_state(value, ValueState::Scalar(state));
    }

    /// Checks that the type index is in the range from int to `last`. Returns the type index and the payload. The
    /// payload is loaded after the check, since LLVM merges conditions that have no load between them.
    fn number(&mut self, value: ValueId, last: TypeIndex) -> (Value, Value) {
        let (index, first) = (self.type_index(value), TypeIndex::INT.0);
        let above = self.b.binary_const(Binary::Sub, index, first.into());
        let wrong = self.b.compare_const(Cond::Ugt, above, (last.0 - first).into());
        self.checks.never(&mut self.b, wrong);
        let payload = self.payload(value, Type::I64);
        (index, self.or_zero(value, payload))
    }

    /// Loads an integer of at most 64 bits.
    fn integer(&mut self, value: ValueId, scalar: Scalar) -> ScalarState {
        let (_, wide) = self.number(value, TypeIndex::BOOL);
        let native = self.narrow(wide, scalar);
        ScalarState { ty: scalar, native, wide: Some(wide) }
    }

    /// Loads a `uint64`; a number above `int64` arrives as an object.
    fn unsigned(&mut self, value: ValueId) -> ScalarState {
        let (index, payload) = self.words(value, Type::I64);
        let first = TypeIndex::INT.0;
        let above = self.b.binary_const(Binary::Sub, index, first.into());
        let other = self.b.compare_const(Cond::Ugt, above, (TypeIndex::BOOL.0 - first).into());
        let payload = self.or_zero(value, payload);
        let native = self.or_big_int(value, [other, index], |w| {
            w.checks.non_negative(&mut w.b, payload);
            payload
        });
        ScalarState { ty: Scalar::Uint64, native, wide: Some(native) }
    }

    /// Returns the result of `usual` if `other` is false. Otherwise the value must be an integer object that fits 64
    /// unsigned bits, which are returned.
    fn or_big_int(
        &mut self,
        value: ValueId,
        [other, index]: [Value; 2],
        usual: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let mask = self.checks.mask.take();
        let other = mask.map_or(other, |mask| self.b.and(mask, other));
        let [number, join] = ["number", "next"].map(|label| self.b.block(label));
        let big = self.b.cold_block("big");
        let result = self.b.block_param(join, Type::I64, crate::ir::Hint::default());
        self.b.branch(other, big, number);
        self.b.switch_to(number);
        let usual = usual(self);
        self.b.jump(join, &[usual]);
        self.b.switch_to(big);
        self.checks.equal_const(&mut self.b, index, TypeIndex::BIG_INT.0.into());
        let (base, offset) = self.address_of(value);
        let object = self.b.load(Type::Ptr, base, offset + any::PAYLOAD.offset);
        self.checks.non_null(&mut self.b, object);
        // An integer object has at least two words and no superfluous ones. The last word has the sign.
        let size = self.b.load(Type::I64, object, big_int::SIZE.in_object());
        self.checks.equal_const(&mut self.b, size, 2);
        let [low, high] =
            [0, 8].map(|at| self.b.load(Type::I64, object, big_int::WORDS.in_object() + at));
        self.checks.equal_const(&mut self.b, high, 0);
        self.b.jump(join, &[low]);
        self.b.switch_to(join);
        self.checks.mask = mask;
        result
    }

    /// Loads an integer or a truth value that must be one of the literals.
    pub(crate) fn literal_number(&mut self, value: ValueId, literals: &[Literal]) -> ScalarState {
        let (_, wide) = self.number(value, TypeIndex::BOOL);
        if !self.checks.passed {
            let known = self.is_number_of(wide, literals);
            let other = self.b.not(known);
            self.checks.never(&mut self.b, other);
        }
        let truth = literals.iter().any(|literal| matches!(literal, Literal::Bool(_)));
        let ty = if truth { Scalar::Bool } else { Scalar::Int64 };
        ScalarState { ty, native: self.truncate(wide, ty), wide: Some(wide) }
    }

    /// Loads a truth value. An int is true unless it is 0.
    fn boolean(&mut self, value: ValueId) -> ScalarState {
        let (_, payload) = self.number(value, TypeIndex::BOOL);
        let truth = self.b.compare_const(Cond::Ne, payload, 0);
        let native = self.b.widen_bool(truth, Type::I8);
        ScalarState { ty: Scalar::Bool, native, wide: None }
    }

    /// Loads a float; ints are converted.
    fn float(&mut self, value: ValueId, scalar: Scalar) -> ScalarState {
        let (index, bits) = self.number(value, TypeIndex::FLOAT);
        let is_float = self.b.compare_const(Cond::Eq, index, TypeIndex::FLOAT.0.into());
        let float = self.b.convert(Convert::Bitcast, bits, Type::F64);
        let converted = self.b.convert(Convert::SintToFloat, bits, Type::F64);
        let value = self.b.select(is_float, float, converted);
        ScalarState { ty: scalar, native: self.round(value, scalar), wide: None }
    }

    /// Loads an address: an opaque pointer, None for NULL, or an integer object above `int64`.
    fn pointer_param(&mut self, value: ValueId) -> ScalarState {
        let (index, payload) = self.words(value, Type::I64);
        let b = &mut self.b;
        let no_pointer = b.compare_const(Cond::Ne, index, TypeIndex::OPAQUE_PTR.0.into());
        let not_none = b.compare_const(Cond::Ne, index, TypeIndex::NONE.0.into());
        let neither = b.and(no_pointer, not_none);
        let bits = self.or_big_int(value, [neither, index], |w| {
            let none = w.b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
            let zero = w.b.i64(0);
            w.b.select(none, zero, payload)
        });
        let native = self.b.convert(Convert::IntToPtr, bits, Type::Ptr);
        ScalarState { ty: Scalar::Ptr, native, wide: None }
    }
}
