//! Scalar parameters: from `TVMFFIAny` to the C type, and from the C type back.

use abi_spec::{Scalar, TypeIndex};

use crate::declaration::Literal;
use crate::ir::{AbiType, Binary, Builder, Cond, Convert, Extend, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::prologue::wrapper::{ValueState, Wrapper};
use crate::resolve::values::Source;

/// A scalar that has been loaded and checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarState {
    /// In its C type; 16-bit floats as their bits.
    pub(crate) native: Value,
    /// As arithmetic sees it, where that has been computed.
    pub(crate) wide: Option<Value>,
}

/// How a C function takes or returns a scalar.
pub(crate) fn abi_type(scalar: Scalar) -> AbiType {
    let ty = match scalar {
        Scalar::Bool | Scalar::Int8 | Scalar::Uint8 => Type::I8,
        Scalar::Int16 | Scalar::Uint16 | Scalar::Float16 | Scalar::BFloat16 => Type::I16,
        Scalar::Int32 | Scalar::Uint32 => Type::I32,
        Scalar::Int64 | Scalar::Uint64 => Type::I64,
        Scalar::Float32 => Type::F32,
        Scalar::Float64 => Type::F64,
        Scalar::Ptr => Type::Ptr,
    };
    let extend = match ty {
        Type::I8 | Type::I16 if scalar.is_signed() => Extend::Sign,
        Type::I8 | Type::I16 => Extend::Zero,
        Type::Bool | Type::I32 | Type::I64 | Type::F32 | Type::F64 | Type::Ptr => Extend::No,
    };
    AbiType { ty, extend }
}

/// The stored mantissa bits and exponent bias of a 16-bit float type.
pub(crate) fn half_format(scalar: Scalar) -> (i64, i64) {
    if scalar == Scalar::BFloat16 { (7, 127) } else { (10, 15) }
}

impl Wrapper<'_, '_> {
    /// Loads a scalar parameter, with its checks.
    pub(crate) fn scalar(&mut self, value: usize, scalar: Scalar) {
        let context = self.resolved.scope.values[value].source == Source::Context;
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
        self.values[value] = ValueState::Scalar(state);
    }

    /// Requires the type index to be one of int and bool, or of int, bool and float.
    fn number(&mut self, value: usize, last: TypeIndex) -> (Value, Value) {
        let (index, payload) = self.words(value, Type::I64);
        let first = TypeIndex::INT.0;
        let above = self.b.binary_const(Binary::Sub, index, first.into());
        let wrong = self.b.compare_const(Cond::Ugt, above, (last.0 - first).into());
        self.checks.never(&mut self.b, wrong);
        (index, self.or_zero(value, payload))
    }

    fn integer(&mut self, value: usize, scalar: Scalar) -> ScalarState {
        let (_, wide) = self.number(value, TypeIndex::BOOL);
        let native = self.narrow(wide, scalar);
        ScalarState { native, wide: Some(wide) }
    }

    /// One of some integers, or of `True` and `False`.
    pub(crate) fn literal_number(&mut self, value: usize, literals: &[Literal]) -> ScalarState {
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

    fn boolean(&mut self, value: usize) -> ScalarState {
        let (_, payload) = self.number(value, TypeIndex::BOOL);
        let truth = self.b.compare_const(Cond::Ne, payload, 0);
        ScalarState { native: self.b.widen_bool(truth, Type::I8), wide: None }
    }

    fn float(&mut self, value: usize, scalar: Scalar) -> ScalarState {
        let (index, bits) = self.number(value, TypeIndex::FLOAT);
        let is_float = self.b.compare_const(Cond::Eq, index, TypeIndex::FLOAT.0.into());
        let float = self.b.convert(Convert::Bitcast, bits, Type::F64);
        let converted = self.b.convert(Convert::SintToFloat, bits, Type::F64);
        let value = self.b.select(is_float, float, converted);
        ScalarState { native: self.round(value, scalar), wide: None }
    }

    /// An `F64` rounded to a float type.
    pub(crate) fn round(&mut self, value: Value, scalar: Scalar) -> Value {
        if scalar == Scalar::Float64 {
            return value;
        }
        if scalar == Scalar::Float32 {
            return self.b.convert(Convert::Demote, value, Type::F32);
        }
        let (mantissa, bias) = half_format(scalar);
        let bits = self.b.convert(Convert::Bitcast, value, Type::I64);
        let (mantissa, bias) = (self.b.i64(mantissa), self.b.i64(bias));
        self.routine_value(Routine::RoundHalf, &[bits, mantissa, bias])
    }

    /// A scalar parameter as arithmetic sees it: `I64`, `F64` or `Ptr`.
    pub(crate) fn wide(&mut self, value: usize, scalar: Scalar) -> Value {
        let ValueState::Scalar(state) = self.values[value] else {
            unreachable!("scalars are loaded before they are used")
        };
        if let Some(wide) = state.wide {
            return wide;
        }
        let wide = self.widen(state.native, scalar);
        self.values[value] = ValueState::Scalar(ScalarState { wide: Some(wide), ..state });
        wide
    }

    /// A value of a C type as `I64`, `F64` or `Ptr`.
    pub(crate) fn widen(&mut self, native: Value, scalar: Scalar) -> Value {
        match scalar {
            Scalar::Int64 | Scalar::Uint64 | Scalar::Float64 | Scalar::Ptr => native,
            Scalar::Int8 | Scalar::Int16 | Scalar::Int32 => {
                self.b.convert(Convert::Sext, native, Type::I64)
            }
            Scalar::Bool | Scalar::Uint8 | Scalar::Uint16 | Scalar::Uint32 => {
                self.b.convert(Convert::Zext, native, Type::I64)
            }
            Scalar::Float32 => self.b.convert(Convert::Promote, native, Type::F64),
            Scalar::Float16 | Scalar::BFloat16 => {
                let (mantissa, bias) = half_format(scalar);
                let bits = self.b.convert(Convert::Zext, native, Type::I64);
                let (mantissa, bias) = (self.b.i64(mantissa), self.b.i64(bias));
                self.routine_value(Routine::WidenHalf, &[bits, mantissa, bias])
            }
        }
    }

    fn pointer_param(&mut self, value: usize) -> ScalarState {
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

/// The type index under which a scalar is returned, and its payload as an `I64`, `F64` or `Ptr`.
pub(crate) fn result_index(scalar: Scalar) -> TypeIndex {
    match scalar {
        Scalar::Bool => TypeIndex::BOOL,
        Scalar::Int8
        | Scalar::Int16
        | Scalar::Int32
        | Scalar::Int64
        | Scalar::Uint8
        | Scalar::Uint16
        | Scalar::Uint32
        | Scalar::Uint64 => TypeIndex::INT,
        Scalar::Float16 | Scalar::BFloat16 | Scalar::Float32 | Scalar::Float64 => TypeIndex::FLOAT,
        Scalar::Ptr => TypeIndex::OPAQUE_PTR,
    }
}

/// Writes all 16 bytes of a `TVMFFIAny`.
pub(crate) fn write_any(b: &mut Builder<'_>, to: Value, index: TypeIndex, payload: Value) {
    use abi_spec::layout::any;
    // The type index and the zero padding are neighbours: one aligned word.
    let head = b.i64(index.0.into());
    b.store(head, to, any::TYPE_INDEX.offset);
    b.store(payload, to, any::PAYLOAD.offset);
}
