//! Objects that are made for the values that a body writes: arrays, shapes, functions, and text that only an object can
//! hold. The frame owns them.

use abi_spec::layout::ANY;

use crate::ir::Value;
use crate::lower::body::packed::{self, Made};
use crate::lower::body::{BodyEmitter, closure};
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::{constant_bytes, copy_any};
use crate::resolve::accepted::needs_object;
use crate::resolve::body::{Packed, Plain};

/// Writes values one after the other in the frame; returns their address. Arrays and shapes among them are made
/// first; the frame owns them.
pub(super) fn pack_all(w: &mut BodyEmitter<'_, '_>, all: &[Packed<'_>]) -> Value {
    let made: Vec<Made<'_, '_>> = all.iter().map(|packed| make(w, packed)).collect();
    let area = w.c.e.area(all.len());
    for (index, made) in made.iter().enumerate() {
        let at = index as i32 * ANY.size as i32;
        match made {
            Made::Plain(plain) => packed::pack(&mut w.c, plain, area, at),
            Made::Owned(from) => copy_any(&mut w.c.e.b, (*from, 0), (area, at)),
        }
    }
    area
}

/// Writes one value to an address. If an object was made for the value, the frame owns the object.
pub(super) fn pack_one(w: &mut BodyEmitter<'_, '_>, packed: &Packed<'_>, to: Value) {
    match make(w, packed) {
        Made::Plain(plain) => packed::pack(&mut w.c, plain, to, 0),
        Made::Owned(from) => copy_any(&mut w.c.e.b, (from, 0), (to, 0)),
    }
}

/// Makes the object of a value if it needs one: an array, a shape, or text that only an object can hold.
fn make<'p, 'a>(w: &mut BodyEmitter<'_, '_>, packed: &'p Packed<'a>) -> Made<'p, 'a> {
    match packed {
        Packed::Array(all) => {
            let slot = w.c.e.own_none();
            let owned = w.c.e.frame.owned();
            let values = pack_all(w, all);
            for (index, entry) in all.iter().enumerate() {
                if let Packed::Plain(plain) = entry {
                    let at = index as i32 * ANY.size as i32;
                    packed::require_object(&mut w.c, plain, (values, at), Complaint::Unkept);
                }
            }
            packed::make_with(&mut w.c, Routine::MakeArray, values, all.len(), slot);
            w.c.e.release_beyond(owned);
            w.c.e.frame.truncate_owned(owned);
            Made::Owned(slot)
        }
        Packed::Function(index) => Made::Owned(closure::make_closure(w, *index)),
        Packed::Shape(numbers) => {
            let slot = w.c.e.own_none();
            let area = w.c.e.area(numbers.len());
            for (index, number) in numbers.iter().enumerate() {
                packed::pack_term(&mut w.c, number, area, index as i32 * ANY.size as i32);
            }
            packed::make_with(&mut w.c, Routine::MakeShape, area, numbers.len(), slot);
            Made::Owned(slot)
        }
        Packed::Plain(Plain::Text(text)) if needs_object(text) => {
            let slot = w.c.e.own_none();
            let data = constant_bytes(&mut w.c.e.b, text.as_bytes().to_vec());
            let length = w.c.e.b.i64(text.len() as i64);
            let status = w.c.e.routine_value(Routine::GiveText, &[data, length, slot]);
            w.c.e.exit_unless_zero(status, "not_made");
            Made::Owned(slot)
        }
        Packed::Plain(plain) => Made::Plain(plain),
    }
}
