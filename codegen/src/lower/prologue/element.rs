//! Elements of arrays and lists that expressions name.
//!
//! The prologue has checked every element, so that an element is only unpacked. After a call that may have changed the
//! sequence it is checked again, and the frame holds a reference to it, as to every element that may be in use while a
//! function runs.

use abi_spec::layout::{ANY, OBJECT, any, seq_cell};
use abi_spec::runtime;

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::failure::message::Message;
use crate::lower::prologue::arguments::copy_any;
use crate::lower::routines::complaints::Complaint;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{LookUpId, ValueId};
use crate::resolve::look_up::LookUp;

impl<'a> Wrapper<'a, '_> {
    /// Looks elements up, except for those that only a second operand of `and` or `or` names.
    pub(crate) fn look_up_all(&mut self, look_ups: &[LookUpId]) {
        let function = self.function;
        for &id in look_ups {
            let LookUp { received, when, .. } = &function.look_ups[id];
            if when.held && !self.is_plain(received.value) {
                self.held_elements[id] = Some(self.own_none());
            }
        }
        for &id in look_ups.iter().filter(|id| !function.look_ups[**id].late) {
            self.reach(function.look_ups[id].received.value);
        }
    }

    /// Looks an element up: checks the index, and unpacks the element or checks it again.
    pub(crate) fn look_element_up(&mut self, id: LookUpId) {
        let function = self.function;
        let LookUp { of, index, text, received, when, late, .. } = &function.look_ups[id];
        self.reach(*of);
        let index = self.term(index);
        let element = self.element_at(self.values[*of].word(), index, text, *of);
        let at = match self.held_elements[id] {
            Some(slot) => {
                self.hold(element, slot, *late);
                slot
            }
            None => element,
        };
        if when.changed {
            self.conform(received, at, |_| {});
        } else {
            self.addresses[received.value] = Some(at);
            self.unpack_steps(&received.steps, false);
        }
    }

    /// Returns the address of an element; leaves with an error if there is none of this index.
    fn element_at(&mut self, sequence: Value, index: Value, text: &str, of: ValueId) -> Value {
        let sequence = self.readable(of, sequence, OBJECT.size as usize + 16);
        let size = self.b.load(Type::I64, sequence, seq_cell::SIZE.in_object());
        let within = self.b.compare(Cond::Ult, index, size);
        let fail =
            self.failing(|_| Message::of(Complaint::Index, text).with_values(&[size, index]));
        self.b.guard(within, fail);
        let first = self.b.load(Type::Ptr, sequence, seq_cell::DATA.in_object());
        let shift = ANY.size.trailing_zeros().into();
        let offset = self.b.binary_const(Binary::Shl, index, shift);
        self.b.ptr_add(first, offset)
    }

    /// Copies an element to the frame, with a reference to its object. An element that is looked up `late` may have been
    /// looked up for another operand before, whose reference is released.
    fn hold(&mut self, element: Value, slot: Value, late: bool) {
        let before = late.then(|| {
            let index = self.b.load(Type::I32, slot, any::TYPE_INDEX.offset);
            (index, self.b.load(Type::Ptr, slot, any::PAYLOAD.offset))
        });
        copy_any(&mut self.b, element, slot, 0);
        let index = self.b.load(Type::I32, slot, any::TYPE_INDEX.offset);
        let is_object = self.b.is_object(index);
        self.b.if_then(is_object, |b| {
            let object = b.load(Type::Ptr, slot, any::PAYLOAD.offset);
            b.runtime(&runtime::OBJECT_INC_REF, &[object]);
        });
        if let Some((index, object)) = before {
            let was_object = self.b.is_object(index);
            self.b.if_then(was_object, |b| b.release_object(object));
        }
    }
}
