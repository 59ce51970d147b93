//! Functions that a body makes.
//!
//! A closure is a function object whose context is an `ffi.Array`: first what keeps the code loaded, then what the
//! closure holds, in order. The deleter of the function is the runtime's own `TVMFFIObjectDecRef`, so that no code of
//! the library runs when the closure is freed.

use abi_spec::layout::any;
use abi_spec::symbol::LIBRARY_CTX;

use crate::ir::{Linkage, SymbolKind, Type, Value};
use crate::lower::body::launch::kept::Kept;
use crate::lower::body::packed::Made;
use crate::lower::body::{BodyEmitter, packed};
use crate::lower::checks::Checker;
use crate::lower::emitter::state::ValueState;
use crate::lower::emitter::value::element;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::KEEPER;
use crate::lower::value::{constant_bytes, copy_any, safe_call};
use crate::resolve::captured::CaptureSource;
use crate::resolve::ids::ValueId;
use crate::resolve::launch::MAP_SIZE;

/// Returns the symbol of closure number `index` of the function with this symbol.
pub(in crate::lower) fn symbol(of: &str, index: usize) -> String {
    format!("{of}.{index}")
}

/// Emits code that makes a closure, which the frame owns. Returns the address of the function.
pub(super) fn make_closure(w: &mut BodyEmitter<'_, '_>, index: usize) -> Value {
    let slot = w.c.e.own_none();
    let owned = w.c.e.frame.owned();
    let held = w.c.e.own_none();
    let given = &w.c.e.function.closures[index].given;
    let made: Vec<Made<'_, '_>> = given.iter().map(|given| made_of(&mut w.c, given)).collect();
    let kept = bytes_of_launches(&mut w.c, index);
    let keeper = keep_code(&mut w.c);
    let count = 1 + given.len() + usize::from(kept.is_some());
    let area = w.c.e.area(count);
    copy_any(&mut w.c.e.b, (keeper, 0), (area, 0));
    for (at, made) in made.into_iter().enumerate() {
        match made {
            Made::Owned(bytes) => copy_any(&mut w.c.e.b, (bytes, 0), (area, element(at))),
            Made::Plain(plain) => {
                packed::pack(&mut w.c, plain, area, element(at));
                packed::require_object(&mut w.c, plain, (area, element(at)), Complaint::Unheld);
            }
        }
    }
    if let Some(kept) = kept {
        copy_any(&mut w.c.e.b, (kept, 0), (area, element(given.len())));
    }
    packed::make_with(&mut w.c, Routine::MakeArray, area, count, held);
    let name = symbol(w.closures, index);
    let kind = SymbolKind::Function(safe_call());
    let code = w.c.e.b.module.declare(&name, Linkage::Local, kind);
    let (code, site) = (w.c.e.b.address(code), w.c.exits.here(&mut w.c.e));
    let status = w.c.e.routine_value(Routine::MakeFunction, &[site, held, code, slot]);
    w.c.e.exit_unless_zero(status, "not_made");
    w.c.e.release_beyond(owned);
    w.c.e.frame.truncate_owned(owned);
    slot
}

/// Makes the bytes of a map, which the frame owns, if a closure is given one.
fn made_of<'p, 'a>(c: &mut Checker<'_, '_>, given: &'p CaptureSource<'a>) -> Made<'p, 'a> {
    let map = match given {
        CaptureSource::Map(map) => map,
        CaptureSource::Plain(plain) => return Made::Plain(plain),
    };
    let slot = c.e.own_none();
    let (site, map, size) =
        (c.exits.here(&mut c.e), c.e.known.map(*map), c.e.b.i64(MAP_SIZE.into()));
    let status = c.e.routine_value(Routine::MakeBytes, &[site, map, size, slot]);
    c.e.exit_unless_zero(status, "not_made");
    Made::Owned(slot)
}

/// Emits code that makes the bytes in which a closure keeps launches, initially zero, and which the frame owns. Returns
/// their address; `None` if the closure keeps none.
fn bytes_of_launches(c: &mut Checker<'_, '_>, index: usize) -> Option<Value> {
    let size = Kept::of(&c.e.function.closures[index].function).size;
    if size == 0 {
        return None;
    }
    let slot = c.e.own_none();
    let zeros = constant_bytes(&mut c.e.b, vec![0; size as usize]);
    let (site, size) = (c.exits.here(&mut c.e), c.e.b.i64(size.into()));
    let status = c.e.routine_value(Routine::MakeBytes, &[site, zeros, size, slot]);
    c.e.exit_unless_zero(status, "not_made");
    Some(slot)
}

/// Emits `let f = function…;`.
pub(super) fn name_closure(w: &mut BodyEmitter<'_, '_>, index: usize, value: ValueId) {
    let slot = make_closure(w, index);
    w.c.e.known.set_address(value, Some(slot));
    let object = w.c.e.b.load(Type::Ptr, slot, any::PAYLOAD.offset);
    w.c.e.known.load(value, ValueState::Word(object));
}

/// Emits code that makes what keeps the code loaded, which the frame owns. Returns its address.
fn keep_code(c: &mut Checker<'_, '_>) -> Value {
    let slot = c.e.own_none();
    let context = c.e.b.module.declare(LIBRARY_CTX, Linkage::Weak, SymbolKind::Data);
    let keeper = c.e.b.module.declare(KEEPER, Linkage::Local, SymbolKind::Data);
    let (site, context, keeper) =
        (c.exits.here(&mut c.e), c.e.b.address(context), c.e.b.address(keeper));
    let status = c.e.routine_value(Routine::KeepCode, &[site, context, keeper, slot]);
    c.e.exit_unless_zero(status, "not_kept");
    slot
}
