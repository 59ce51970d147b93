//! Elements of arrays and lists that expressions name.
//!
//! The prologue has checked every element, so that an element is only unpacked. After a call that may have changed the
//! sequence it is checked again, and the frame holds a reference to it, as to every element that may be in use while a
//! function runs.

use abi_spec::layout::{ANY, OBJECT, any, seq_cell};
use abi_spec::runtime;

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{again, terms};
use crate::lower::failure::message::Message;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::copy_any;
use crate::resolve::ids::{LookUpId, ValueId};
use crate::resolve::look_up::LookUp;

/// Looks elements up, except for those that only a second operand of `and` or `or` names.
pub(in crate::lower) fn look_up_all(c: &mut Checker<'_, '_>, look_ups: &[LookUpId]) {
    let function = c.e.function;
    for &id in look_ups {
        let LookUp { received, when, .. } = &function.look_ups[id];
        if when.held && !c.e.function.is_plain(received.value) {
            c.held_elements[id] = Some(c.e.own_none());
        }
    }
    for &id in look_ups.iter().filter(|id| !function.look_ups[**id].late) {
        terms::reach(c, function.look_ups[id].received.value);
    }
}

/// Looks an element up: checks the index, and unpacks the element or checks it again.
pub(super) fn look_element_up(c: &mut Checker<'_, '_>, id: LookUpId) {
    let function = c.e.function;
    let LookUp { of, index, text, received, when, late, .. } = &function.look_ups[id];
    terms::reach(c, *of);
    let index = terms::eval(c, index);
    let element = element_at(c, c.e.known.value(*of).word(), index, text, *of);
    let at = match c.held_elements[id] {
        Some(slot) => {
            hold(c, element, slot, *late);
            slot
        }
        None => element,
    };
    if when.changed {
        again::conform(c, received, at, |_| {});
    } else {
        c.e.known.set_address(received.value, Some(at));
        again::unpack_steps(c, &received.steps, false);
    }
}

/// Returns the address of an element; leaves with an error if there is none of this index.
fn element_at(
    c: &mut Checker<'_, '_>,
    sequence: Value,
    index: Value,
    text: &str,
    of: ValueId,
) -> Value {
    let sequence = c.e.readable(of, sequence, OBJECT.size as usize + 16);
    let size = c.e.b.load(Type::I64, sequence, seq_cell::SIZE.in_object());
    let within = c.e.b.compare(Cond::Ult, index, size);
    let fail = c.failing(|_| Message::of(Complaint::Index, text).with_values(&[size, index]));
    c.e.b.guard(within, fail);
    let first = c.e.b.load(Type::Ptr, sequence, seq_cell::DATA.in_object());
    let shift = ANY.size.trailing_zeros().into();
    let offset = c.e.b.binary_const(Binary::Shl, index, shift);
    c.e.b.ptr_add(first, offset)
}

/// Copies an element to the frame, with a reference to its object. An element that is looked up `late` may have been
/// looked up for another operand before, whose reference is released.
fn hold(c: &mut Checker<'_, '_>, element: Value, slot: Value, late: bool) {
    let before = late.then(|| {
        let index = c.e.b.load(Type::I32, slot, any::TYPE_INDEX.offset);
        (index, c.e.b.load(Type::Ptr, slot, any::PAYLOAD.offset))
    });
    copy_any(&mut c.e.b, (element, 0), (slot, 0));
    let index = c.e.b.load(Type::I32, slot, any::TYPE_INDEX.offset);
    let is_object = c.e.b.is_object(index);
    c.e.b.if_then(is_object, |b| {
        let object = b.load(Type::Ptr, slot, any::PAYLOAD.offset);
        b.runtime(&runtime::OBJECT_INC_REF, &[object]);
    });
    if let Some((index, object)) = before {
        let was_object = c.e.b.is_object(index);
        c.e.b.if_then(was_object, |b| b.release_object(object));
    }
}
