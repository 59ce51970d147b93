//! Mappings: a loop over the entries with the iterator of the runtime, since the layout of mappings is private to the
//! runtime.
//!
//! The iterator is a function object. Called with 0 it returns the key, with 1 the value, and with 2 it advances and
//! returns whether there is another entry. The frame holds a reference to it, and to the key and value of an entry.

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, any, object};

use crate::declaration::ParamType;
use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::registry::RegistryFunction;
use crate::lower::checks::scope::{self, require_nothing};
use crate::lower::checks::steps;
use crate::lower::emitter::frame::{Held, release_held};
use crate::lower::failure::Turn;
use crate::lower::value::{AnyWords, write_none};
use crate::resolve::accepted::{self, accepted};
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::step::Step;

/// Registry names of the functions that return the size and make the iterator, of a `Map` and of a `Dict`.
const SIZE: [&str; 2] = ["ffi.MapSize", "ffi.DictSize"];
const ITERATOR: [&str; 2] = ["ffi.MapForwardIterFunctor", "ffi.DictForwardIterFunctor"];

/// The argument that advances the iterator.
const MOVE_ON: i64 = 2;

/// A loop over the entries.
struct Entries<'a> {
    steps: &'a [Step<'a>],
    iterator: RegistryFunction,
    /// Number of entries.
    size: Value,
    /// Key and value, each with the address of its slot; `None` if it is not fetched.
    parts: [(ValueId, Option<Value>); 2],
    /// Symbols that an entry may bind; later entries are compared with them.
    symbols: Vec<SymbolId>,
    /// Block after the loop; its parameters are the symbols.
    after: Block,
    /// Number of references that the frame holds before the loop.
    outer: usize,
}

/// Emits the loop over the entries of a mapping.
pub(super) fn mapping<'a>(c: &mut Checker<'a, '_>, value: ValueId, steps: &'a [Step<'a>]) {
    let symbols = scope::unbound_in(c, steps);
    let after = c.e.b.block("next");
    let states = scope::carried_to(c, after, &symbols);
    let nothing = scope::carry(c, &symbols);
    if let Some(there) = c.e.known.mask(value) {
        c.e.b.go_unless(there, after, &nothing);
    }
    let outside = c.e.mark_where_there(value);
    let outer = c.e.frame.held.len();
    let (is_map, mapping) = mapping_words(c, value);
    let counter = RegistryFunction::get(c, is_map, SIZE, outer);
    let counted = counter.call(c, mapping, None);
    let size = c.e.b.load(Type::I64, counted, any::PAYLOAD.offset);
    let some = c.e.b.compare_const(Cond::Ne, size, 0);
    c.e.b.go_unless(some, after, &nothing);
    let maker = RegistryFunction::get(c, is_map, ITERATOR, outer);
    let made = maker.call(c, mapping, None);
    let object = c.e.b.load(Type::Ptr, made, any::PAYLOAD.offset);
    let iterator = maker.made(object);
    let parts = parts(c, value, steps);
    entries(c, &Entries { steps, iterator, size, parts, symbols: symbols.clone(), after, outer });
    c.e.b.switch_to(after);
    c.e.known.go_back(outside);
    scope::set_symbols(c, &symbols, &states);
}

/// Returns a `Bool`, true if a mapping is a `Map`, and its type index and payload as the argument of a call.
fn mapping_words(c: &mut Checker<'_, '_>, value: ValueId) -> (Value, AnyWords) {
    let mapping = c.e.known.value(value).word();
    let index = c.e.b.load(Type::I32, mapping, object::TYPE_INDEX.offset);
    let is_map = c.e.b.compare_const(Cond::Eq, index, TypeIndex::MAP.0.into());
    let head = c.e.b.convert(Convert::Zext, index, Type::I64);
    (is_map, AnyWords { head, payload: mapping })
}

/// Reserves the slots of key and value. A key or value of type `Any` is not fetched, since nothing of it is
/// checked.
fn parts(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    steps: &[Step<'_>],
) -> [(ValueId, Option<Value>); 2] {
    let values = &c.e.function.values;
    let children = c.e.function.values[value].children.clone();
    let opens = |child: ValueId| steps.iter().filter(move |step| step.opens() == Some(child));
    let wanted =
        |child| opens(child).any(|step| !require_nothing(values, std::slice::from_ref(step)));
    [children[0], children[1]].map(|child| {
        let slot = c.e.b.stack_slot(ANY.size, ANY.align);
        write_none(&mut c.e.b, slot);
        c.e.known.set_address(child, Some(slot));
        (child, wanted(child).then_some(slot))
    })
}

/// Emits the loop: the body for one entry, then the call that advances the iterator.
fn entries<'a>(c: &mut Checker<'a, '_>, entries: &Entries<'a>) {
    let Entries { iterator, size, ref symbols, outer, after, .. } = *entries;
    let [head, again, end] = ["entry", "again", "end"].map(|label| c.e.b.block(label));
    let start: Vec<Value> = [size].into_iter().chain(scope::carry(c, symbols)).collect();
    let left = c.e.b.block_param(head, Type::I64, "left");
    let states = scope::carried_to(c, head, symbols);
    c.e.b.jump(head, &start);
    c.e.b.switch_to(head);
    scope::set_symbols(c, symbols, &states);
    c.e.frame.held.push(Held::Object(iterator.object));
    c.in_loop(Turn::Left { size, left }, |c| entry(c, entries));
    let symbols = scope::carry(c, symbols);
    let left = c.e.b.binary_const(Binary::Sub, left, 1);
    let last = c.e.b.compare_const(Cond::Eq, left, 0);
    let next = c.e.b.block("next");
    c.e.b.branch(last, end, next);
    c.e.b.switch_to(next);
    let moved = ask(c, entries, MOVE_ON, None);
    c.e.frame.held.truncate(outer);
    // The iterator may end before `size` entries, if another thread has removed some.
    let more = c.e.b.load(Type::I64, moved, any::PAYLOAD.offset);
    let more = c.e.b.compare_const(Cond::Ne, more, 0);
    c.e.b.branch(more, again, end);
    c.e.b.switch_to(again);
    let next: Vec<Value> = [left].into_iter().chain(symbols.iter().copied()).collect();
    c.e.b.jump(head, &next);
    c.e.b.switch_to(end);
    release_held(&mut c.e.b, &[Held::Object(iterator.object)]);
    c.e.b.jump(after, &symbols);
}

/// Emits the body of the loop: fetches, checks and releases key and value.
fn entry<'a>(c: &mut Checker<'a, '_>, entries: &Entries<'a>) {
    let outer = entries.outer;
    for (which, (_, slot)) in entries.parts.iter().enumerate() {
        if let Some(slot) = *slot {
            ask(c, entries, which as i64, Some(slot));
            c.e.frame.held.push(Held::Any(slot));
        }
    }
    match c.exits.other() {
        Some(other) => {
            let wrong = c.cold("wrong", |c| {
                c.e.release_own(outer);
                c.e.b.jump(other, &[]);
            });
            c.or_other(wrong, |c| steps::check_steps(c, entries.steps));
        }
        None => steps::check_steps(c, entries.steps),
    }
    c.e.frame.held.truncate(outer + 1);
    for (child, slot) in entries.parts {
        if let Some(slot) = slot.filter(|_| may_be_object(c, child)) {
            release_held(&mut c.e.b, &[Held::Any(slot)]);
        }
    }
}

/// Emits a call of the iterator; returns the address of its result.
fn ask(c: &mut Checker<'_, '_>, entries: &Entries<'_>, what: i64, wanted: Option<Value>) -> Value {
    let (head, payload) = (c.e.b.i64(TypeIndex::INT.0.into()), c.e.b.i64(what));
    entries.iterator.call(c, AnyWords { head, payload }, wanted)
}

/// Returns true if a checked value may be an object, which must be released.
fn may_be_object(c: &Checker<'_, '_>, value: ValueId) -> bool {
    match c.e.function.values[value].ty {
        ParamType::Scalar(scalar) => accepted::may_be_object(*scalar),
        ParamType::Tensor(_) | ParamType::Optional(_) => true,
        ty @ (ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Union(_)
        | ParamType::Literal(_)) => accepted(ty).high != 0,
    }
}
