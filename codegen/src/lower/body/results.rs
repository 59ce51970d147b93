//! Results. The result is written when nothing can fail any more: a call that fails leaves it untouched. That is at the
//! end, but [None](write_none) is written before a last call that cannot fail, so that its address is not kept across
//! the call.

use abi_spec::layout::any;
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::{Leaf, ParamType, ResultType};
use crate::ir::{Type, Value};
use crate::lower::body::{BodyEmitter, objects, packed, stored};
use crate::lower::checks::{self, Checker, terms};
use crate::lower::emitter::known::before_use;
use crate::lower::emitter::output;
use crate::lower::routines::Routine;
use crate::lower::value::{self, copy_any, write_any};
use crate::resolve::accepted::{may_be_object, result_index};
use crate::resolve::body::{Kernel, KernelCall, Packed, Received, Returned};
use crate::resolve::c_type::ResultConvention;
use crate::resolve::ids::{OutputId, ValueId};

/// Emits a return statement.
pub(super) fn return_of<'a>(w: &mut BodyEmitter<'a, '_>, returned: &'a Returned<'a>) {
    match returned {
        Returned::None => {
            let written = std::mem::take(&mut w.none_written);
            return_none(&mut w.c, written);
        }
        Returned::Outputs => return_outputs(&mut w.c),
        Returned::Scalar(term, scalar) => {
            let value = terms::eval(&mut w.c, term);
            return_scalar(&mut w.c, *scalar, value);
        }
        Returned::Packed(packed, received) => return_packed(w, packed, received.as_ref()),
    }
}

/// Emits the return of None, which has been [written](write_none) already if `written`.
fn return_none(c: &mut Checker<'_, '_>, written: bool) {
    c.e.release_beyond(0);
    if !written {
        write_none(c);
    }
    succeed(c);
}

/// Returns true if nothing fails from the call of a C function on, once its arguments are there, if None is returned
/// after it.
pub(super) fn cannot_fail(call: &KernelCall<'_>) -> bool {
    let is_symbol = match call.callee {
        Kernel::Symbol(_) => true,
        Kernel::Address(_) => false,
    };
    let yields_none = match call.yields {
        ResultConvention::None => true,
        ResultConvention::Returned(_)
        | ResultConvention::Stored(_)
        | ResultConvention::StoredAll(_)
        | ResultConvention::Written => false,
    };
    is_symbol && yields_none && call.status.is_none() && call.inquiry.is_none()
}

/// Writes None as the result, if the function has a place for it.
pub(super) fn write_none(c: &mut Checker<'_, '_>) {
    if let Some(result) = c.e.interface.result {
        value::write_none(&mut c.e.b, result);
    }
}

/// Emits the return of status 0.
fn succeed(c: &mut Checker<'_, '_>) {
    let status = c.e.b.i32(0);
    c.e.b.ret(Some(status));
}

/// Emits the return of the scalar that a kernel has yielded in its C type.
fn return_native(c: &mut Checker<'_, '_>, scalar: Scalar, yielded: Value) {
    c.e.b.hint(yielded, "returned");
    let wide = stored::widen(c, scalar, yielded);
    return_scalar(c, scalar, wide);
}

/// Emits the return of a number: `I64`, `F64` or `Ptr`.
fn return_scalar(c: &mut Checker<'_, '_>, scalar: Scalar, value: Value) {
    if scalar == Scalar::Uint64 {
        stored::require_int64(c, value);
    }
    c.e.release_beyond(0);
    let result = before_use(c.e.interface.result);
    write_any(&mut c.e.b, result, result_index(scalar), value);
    succeed(c);
}

/// Emits the return of the tensors of the signature, which are the first values that the frame owns.
fn return_outputs(c: &mut Checker<'_, '_>) {
    let results: Vec<OutputId> = c.e.function.results().map(|(output, _)| output).collect();
    let result = before_use(c.e.interface.result);
    if let [output] = results[..] {
        let object = output::object(&c.e, output);
        c.e.release_beyond(1);
        write_any(&mut c.e.b, result, TypeIndex::TENSOR, object);
        return succeed(c);
    }
    let tensors = c.e.owned_at(0);
    let site = c.exits.here(&mut c.e);
    let count = c.e.b.i32(results.len() as i32);
    let array = c.e.own_none();
    let args = [site, tensors, count, array];
    let status = c.e.routine_value(Routine::MakeArray, &args);
    c.e.exit_unless_zero(status, "not_made");
    let object = c.e.b.load(Type::Ptr, array, any::PAYLOAD.offset);
    c.e.frame.disown(1);
    c.e.release_beyond(0);
    write_any(&mut c.e.b, result, TypeIndex::ARRAY, object);
    succeed(c);
}

/// Emits the return of a checked value that a kernel has written.
pub(super) fn return_received(c: &mut Checker<'_, '_>, value: ValueId, at: Value) {
    pack_received(c, value, at);
    hand_over(c, at);
}

/// Converts an owned value in place to its declared type. If the conversion replaces an object by a scalar, dtype
/// or device, the object is released.
fn pack_received(c: &mut Checker<'_, '_>, value: ValueId, at: Value) {
    if !is_converted(c.e.function.values[value].ty) {
        return packed::pack_value(c, value, at, 0);
    }
    let index = c.e.b.load(Type::I32, at, any::TYPE_INDEX.offset);
    let object = c.e.b.load(Type::Ptr, at, any::PAYLOAD.offset);
    packed::pack_value(c, value, at, 0);
    let was_object = c.e.b.is_object(index);
    c.e.b.if_then(was_object, |b| b.release_object(object));
}

/// Emits the return of a value that the body writes. A borrowed object is retained.
fn return_packed<'a>(
    w: &mut BodyEmitter<'a, '_>,
    packed: &Packed<'_>,
    received: Option<&'a Received<'a>>,
) {
    let slot = w.c.e.own_none();
    let owned = w.c.e.frame.owned();
    objects::pack_one(w, packed, slot);
    if w.c.e.frame.owned() == owned {
        let site = w.c.exits.here(&mut w.c.e);
        w.c.e.frame.disown(1);
        let status = w.c.e.routine_value(Routine::Own, &[site, slot]);
        w.c.e.exit_unless_zero(status, "not_owned");
        w.c.e.own(1);
    } else {
        // The object was made here; its reference goes to the caller.
        w.c.e.frame.truncate_owned(owned);
    }
    if let Some(received) = received {
        checks::receive(&mut w.c, received, slot);
        pack_received(&mut w.c, received.value, slot);
    }
    hand_over(&mut w.c, slot);
}

/// Emits the return of the last value that the frame owns. `at` is its address.
fn hand_over(c: &mut Checker<'_, '_>, at: Value) {
    c.e.frame.disown(1);
    c.e.release_beyond(0);
    let result = before_use(c.e.interface.result);
    copy_any(&mut c.e.b, (at, 0), (result, 0));
    succeed(c);
}

/// Emits the return of a body that is one call. `written` is true if None has been [written](write_none) before the
/// call.
pub(super) fn return_call(c: &mut Checker<'_, '_>, yielded: Option<Value>, written: bool) {
    match (&c.e.function.declared.signature.result, yielded) {
        (ResultType::Value(ty), Some(yielded)) => {
            let scalar = ty.scalar().unwrap_or(Scalar::Int64);
            return_native(c, scalar, yielded);
        }
        (ResultType::Allocated(_), _) => return_outputs(c),
        (ResultType::None | ResultType::Value(_), _) => return_none(c, written),
    }
}

/// Returns true if a type whose values are not objects also accepts an object: text that names a dtype or a device, or
/// an integer object.
fn is_converted(ty: &ParamType) -> bool {
    ty.leaf().is_some_and(Leaf::is_parsed) || ty.scalar().is_some_and(may_be_object)
}
