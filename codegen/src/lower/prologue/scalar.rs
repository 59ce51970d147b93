//! Scalar parameters: from `TVMFFIAny` to the C type, and from the C type back.

use abi_spec::{Scalar, TypeIndex};

use crate::declaration::Literal;
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::state::{ScalarState, ValueState};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::prototype::abi_type;
use crate::resolve::value::Source;

impl Wrapper<'_, '_> {
    /// Loads a scalar parameter, with its checks.
    pub(crate) fn scalar(&mut self, value: ValueId, scalar: Scalar) {
        let context = self.function.values[value].source == Source::Context;
        let state = if context {
            ScalarState { native: self.b.param(0), wide: None }
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

    /// Requires the type index to be one of int and bool, or of int, bool and float.
    fn number(&mut self, value: ValueId, last: TypeIndex) -> (Value, Value) {
        let (index, payload) = self.words(value, Type::I64);
        let first = TypeIndex::INT.0;
        let above = self.b.binary_const(Binary::Sub, index, first.into());
        let wrong = self.b.compare_const(Cond::Ugt, above, (last.0 - first).into());
        self.checks.never(&mut self.b, wrong);
        (index, self.or_zero(value, payload))
    }

    fn integer(&mut self, value: ValueId, scalar: Scalar) -> ScalarState {
        let (_, wide) = self.number(value, TypeIndex::BOOL);
        let native = self.narrow(wide, scalar);
        ScalarState { native, wide: Some(wide) }
    }

    /// One of some integers, or of `True` and `False`.
    pub(crate) fn literal_number(&mut self, value: ValueId, literals: &[Literal]) -> ScalarState {
        let (_, wide) = self.number(value, TypeIndex::BOOL);
        let known = self.is_number_of(wide, literals);
        let other = self.b.not(known);
        self.checks.never(&mut self.b, other);
        let truth = literals.iter().any(|literal| matches!(literal, Literal::Bool(_)));
        let native = match truth {
            true => self.b.convert(Convert::Trunc, wide, Type::I8),
            false => wide,
        };
        ScalarState { native, wide: Some(wide) }
    }

    /// An `I64` in a narrower integer type, with the check that it fits.
    pub(crate) fn narrow(&mut self, wide: Value, scalar: Scalar) -> Value {
        let ty = abi_type(scalar).ty;
        if ty == Type::I64 {
            if scalar == Scalar::Uint64 {
                self.checks.non_negative(&mut self.b, wide);
            }
            return wide;
        }
        let narrow = self.b.convert(Convert::Trunc, wide, ty);
        let widen = if scalar.is_signed() { Convert::Sext } else { Convert::Zext };
        let again = self.b.convert(widen, narrow, Type::I64);
        self.checks.equal(&mut self.b, again, wide);
        narrow
    }

    fn boolean(&mut self, value: ValueId) -> ScalarState {
        let (_, payload) = self.number(value, TypeIndex::BOOL);
        let truth = self.b.compare_const(Cond::Ne, payload, 0);
        ScalarState { native: self.b.widen_bool(truth, Type::I8), wide: None }
    }

    fn float(&mut self, value: ValueId, scalar: Scalar) -> ScalarState {
        let (index, bits) = self.number(value, TypeIndex::FLOAT);
        let is_float = self.b.compare_const(Cond::Eq, index, TypeIndex::FLOAT.0.into());
        let float = self.b.convert(Convert::Bitcast, bits, Type::F64);
        let converted = self.b.convert(Convert::SintToFloat, bits, Type::F64);
        let value = self.b.select(is_float, float, converted);
        ScalarState { native: self.round(value, scalar), wide: None }
    }

    /// An `F64` rounded to a float type.
    pub(crate) fn round(&mut self, value: Value, scalar: Scalar) -> Value {
        self.b.round(value, scalar, self.linkage)
    }

    /// A scalar parameter as arithmetic sees it: `I64`, `F64` or `Ptr`.
    pub(crate) fn wide(&mut self, value: ValueId, scalar: Scalar) -> Value {
        let ValueState::Scalar(state) = self.values[value] else {
            unreachable!("scalars are loaded before they are used")
        };
        if let Some(wide) = state.wide {
            return wide;
        }
        let wide = self.widen(state.native, scalar);
        if self.keeps(value) {
            self.values[value] = ValueState::Scalar(ScalarState { wide: Some(wide), ..state });
        }
        wide
    }

    /// A value of a C type as `I64`, `F64` or `Ptr`.
    pub(crate) fn widen(&mut self, native: Value, scalar: Scalar) -> Value {
        self.b.widen(native, scalar, self.linkage)
    }

    fn pointer_param(&mut self, value: ValueId) -> ScalarState {
        let (index, payload) = self.words(value, Type::Ptr);
        let b = &mut self.b;
        let no_pointer = b.compare_const(Cond::Ne, index, TypeIndex::OPAQUE_PTR.0.into());
        let none = b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
        let not_none = b.compare_const(Cond::Ne, index, TypeIndex::NONE.0.into());
        let neither = b.and(no_pointer, not_none);
        self.checks.never(b, neither);
        let null = b.null();
        ScalarState { native: b.select(none, null, payload), wide: None }
    }
}
