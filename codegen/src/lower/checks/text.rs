//! Text and bytes: inside the `TVMFFIAny`, in an object, or in a form that a routine reads.

use abi_spec::TypeIndex;
use abi_spec::layout::{BYTE_ARRAY, OBJECT, any};

use crate::ir::{Block, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::emitter::frame::Slot;
use crate::lower::routines::Routine;
use crate::lower::value::Span;
use crate::resolve::accepted::{MAX_SMALL, accepted};
use crate::resolve::ids::ValueId;
/// Branches to the current exit if a value is 0 or NULL. Returns the value.
pub(super) fn guard_non_zero(c: &mut Checker<'_, '_>, value: Value) -> Value {
    if !c.checks.passed {
        let some = c.e.b.compare_const(Cond::Ne, value, 0);
        let fail = c.checks.fail;
        c.e.b.guard(some, fail);
    }
    value
}

/// Returns the two bit masks of the type indices that a value accepts, low bits first.
pub(super) fn masks(c: &mut Checker<'_, '_>, value: ValueId) -> [Value; 2] {
    let accepted = accepted(c.e.function.values[value].ty);
    [c.e.b.i64(accepted.low as i64), c.e.b.i64(accepted.high as i64)]
}

/// Returns address and size of text or bytes.
pub(super) fn text(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    small: TypeIndex,
    object: TypeIndex,
) -> Span {
    if c.forms.texts && c.checks.mask.is_none() {
        let array = text_array(c, value);
        return c.e.array_of_bytes(value, array);
    }
    let (slow, join) = (c.e.b.cold_block("unusual"), c.e.b.block("text"));
    let [data, size] = [(Type::Ptr, "data"), (Type::I64, "size")].map(|(ty, part)| {
        let hint = c.e.hint(value, part, None);
        c.e.b.block_param(join, ty, hint)
    });
    if let Some(there) = c.e.known.mask(value) {
        let nothing = [c.e.b.null(), c.e.b.i64(0)];
        c.e.b.go_unless(there, join, &nothing);
    }
    let (index, payload) = c.e.words(value, Type::Ptr);
    let is_small = c.e.b.compare_const(Cond::Eq, index, small.0.into());
    let (inside, outside) = (c.e.b.block("inside"), c.e.b.block("outside"));
    c.e.b.branch(is_small, inside, outside);
    c.e.b.switch_to(inside);
    let text = small_text(c, value, slow);
    c.e.b.jump(join, &[text.data, text.size]);
    c.e.b.switch_to(outside);
    let is_object = c.e.b.compare_const(Cond::Eq, index, object.0.into());
    c.e.b.guard(is_object, slow);
    let text = text_object(c, value, payload, slow);
    c.e.b.jump(join, &[text.data, text.size]);
    c.e.b.switch_to(slow);
    let array = text_array(c, value);
    let text = c.e.array_of_bytes(value, array);
    c.e.b.jump(join, &[text.data, text.size]);
    c.e.b.switch_to(join);
    Span { data, size }
}

/// Returns address and size of text inside the `TVMFFIAny`; branches to `slow` if its length exceeds [`MAX_SMALL`].
fn small_text(c: &mut Checker<'_, '_>, value: ValueId, slow: Block) -> Span {
    let address = c.e.any_address(value);
    let length = c.e.b.load(Type::I32, address, any::SMALL_LEN.offset);
    let fits = c.e.b.compare_const(Cond::Ule, length, MAX_SMALL);
    c.e.b.guard(fits, slow);
    let data = c.e.b.ptr_offset(address, any::PAYLOAD.offset.into());
    Span { data, size: c.e.b.convert(Convert::Zext, length, Type::I64) }
}

/// Returns address and size of a text object; branches to `slow` if it is NULL.
fn text_object(c: &mut Checker<'_, '_>, value: ValueId, object: Value, slow: Block) -> Span {
    let some = c.e.b.compare_const(Cond::Ne, object, 0);
    c.e.b.guard(some, slow);
    let array = c.e.b.ptr_offset(object, OBJECT.size.into());
    c.e.array_of_bytes(value, array)
}

/// Returns the address of a `TVMFFIByteArray` that a routine finds or fills for text of any form.
fn text_array(c: &mut Checker<'_, '_>, value: ValueId) -> Value {
    let address = c.e.any_address(value);
    let [low, high] = masks(c, value);
    let slot = c.e.slot(Slot::Scratch, BYTE_ARRAY.size);
    let array = c.e.routine_value(Routine::Text, &[address, low, high, slot]);
    guard_non_zero(c, array)
}
