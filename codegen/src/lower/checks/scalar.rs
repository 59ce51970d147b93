//! Scalar parameters: from `TVMFFIAny` to the C type.

use abi_spec::layout::{any, big_int};
use abi_spec::{Scalar, TypeIndex};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms;
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::resolve::ids::ValueId;
use crate::resolve::value::Source;

/// Checks a scalar parameter and loads its value. `integer` and `unsigned` [settle](Checker::settle) between the type
/// and the range of the value; no union has alternatives of the other scalars that are settled.
pub(super) fn scalar(c: &mut Checker<'_, '_>, value: ValueId, scalar: Scalar) {
    let context = c.e.function.values[value].source == Source::Context;
    let state = if context {
        ScalarState { ty: scalar, native: c.e.b.param(0), wide: None }
    } else if c.e.function.is_wide(value) {
        unsigned(c, value)
    } else if scalar.is_int() {
        integer(c, value, scalar)
    } else if scalar.is_float() {
        float(c, value, scalar)
    } else if scalar == Scalar::Bool {
        boolean(c, value)
    } else {
        pointer_param(c, value)
    };
    let hint = c.e.hint(value, "", None);
    if !context {
        c.e.b.hint(state.native, hint);
    }
    c.e.known.load(value, ValueState::Scalar(state));
}

/// Checks that the type index is in the range from int to `last`. Returns the type index and the payload. The
/// payload is loaded after the check, since LLVM merges conditions that have no load between them.
pub(super) fn number(c: &mut Checker<'_, '_>, value: ValueId, last: TypeIndex) -> (Value, Value) {
    let (index, first) = (c.e.type_index(value), TypeIndex::INT.0);
    let above = c.e.b.binary_const(Binary::Sub, index, first.into());
    let wrong = c.e.b.compare_const(Cond::Ugt, above, (last.0 - first).into());
    c.checks.never(&mut c.e.b, wrong);
    let payload = c.e.payload(value, Type::I64);
    (index, c.e.or_zero(value, payload))
}

/// Loads an integer of at most 64 bits.
fn integer(c: &mut Checker<'_, '_>, value: ValueId, scalar: Scalar) -> ScalarState {
    let (_, wide) = number(c, value, TypeIndex::BOOL);
    c.settle(value);
    let native = terms::narrow(c, wide, scalar);
    ScalarState { ty: scalar, native, wide: Some(wide) }
}

/// Loads a `uint64`; a number above `int64` arrives as an object.
fn unsigned(c: &mut Checker<'_, '_>, value: ValueId) -> ScalarState {
    let (index, payload) = c.e.words(value, Type::I64);
    let first = TypeIndex::INT.0;
    let above = c.e.b.binary_const(Binary::Sub, index, first.into());
    let other = c.e.b.compare_const(Cond::Ugt, above, (TypeIndex::BOOL.0 - first).into());
    let payload = c.e.or_zero(value, payload);
    let native = or_big_int(c, value, [other, index], |c| {
        c.settle(value);
        c.checks.non_negative(&mut c.e.b, payload);
        payload
    });
    ScalarState { ty: Scalar::Uint64, native, wide: Some(native) }
}

/// Returns the result of `usual` if `other` is false. Otherwise the value must be an integer object that fits 64
/// unsigned bits, which are returned.
fn or_big_int(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    [other, index]: [Value; 2],
    usual: impl FnOnce(&mut Checker<'_, '_>) -> Value,
) -> Value {
    let mask = c.checks.mask.take();
    let other = mask.map_or(other, |mask| c.e.b.and(mask, other));
    let [number, join] = ["number", "next"].map(|label| c.e.b.block(label));
    let big = c.e.b.cold_block("big");
    let result = c.e.b.block_param(join, Type::I64, crate::ir::Hint::default());
    c.e.b.branch(other, big, number);
    c.e.b.switch_to(big);
    c.checks.equal_const(&mut c.e.b, index, TypeIndex::BIG_INT.0.into());
    let (base, offset) = c.e.address_of(value);
    let object = c.e.b.load(Type::Ptr, base, offset + any::PAYLOAD.offset);
    c.checks.non_null(&mut c.e.b, object);
    // An integer object has at least two words and no superfluous ones. The last word has the sign.
    let size = c.e.b.load(Type::I64, object, big_int::SIZE.in_object());
    c.checks.equal_const(&mut c.e.b, size, 2);
    let [low, high] =
        [0, 8].map(|at| c.e.b.load(Type::I64, object, big_int::WORDS.in_object() + at));
    c.checks.equal_const(&mut c.e.b, high, 0);
    c.e.b.jump(join, &[low]);
    c.e.b.switch_to(number);
    let usual = usual(c);
    c.e.b.jump(join, &[usual]);
    c.e.b.switch_to(join);
    c.checks.mask = mask;
    result
}

/// Loads a truth value. An int is true unless it is 0.
fn boolean(c: &mut Checker<'_, '_>, value: ValueId) -> ScalarState {
    let (_, payload) = number(c, value, TypeIndex::BOOL);
    let truth = c.e.b.compare_const(Cond::Ne, payload, 0);
    let native = c.e.b.widen_bool(truth, Type::I8);
    ScalarState { ty: Scalar::Bool, native, wide: None }
}

/// Loads a float; ints are converted.
fn float(c: &mut Checker<'_, '_>, value: ValueId, scalar: Scalar) -> ScalarState {
    let (index, bits) = number(c, value, TypeIndex::FLOAT);
    let is_float = c.e.b.compare_const(Cond::Eq, index, TypeIndex::FLOAT.0.into());
    let float = c.e.b.convert(Convert::Bitcast, bits, Type::F64);
    let converted = c.e.b.convert(Convert::SintToFloat, bits, Type::F64);
    let value = c.e.b.select(is_float, float, converted);
    ScalarState { ty: scalar, native: c.e.round(value, scalar), wide: None }
}

/// Loads an address: an opaque pointer, None for NULL, or an integer object above `int64`.
fn pointer_param(c: &mut Checker<'_, '_>, value: ValueId) -> ScalarState {
    let (index, payload) = c.e.words(value, Type::I64);
    let b = &mut c.e.b;
    let no_pointer = b.compare_const(Cond::Ne, index, TypeIndex::OPAQUE_PTR.0.into());
    let not_none = b.compare_const(Cond::Ne, index, TypeIndex::NONE.0.into());
    let neither = b.and(no_pointer, not_none);
    let bits = or_big_int(c, value, [neither, index], |c| {
        let none = c.e.b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
        let zero = c.e.b.i64(0);
        c.e.b.select(none, zero, payload)
    });
    let native = c.e.b.convert(Convert::IntToPtr, bits, Type::Ptr);
    ScalarState { ty: Scalar::Ptr, native, wide: None }
}
