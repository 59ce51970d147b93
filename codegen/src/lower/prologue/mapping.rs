//! Mappings: a loop over the entries with the iterator of the runtime, since the layout of mappings is private to the
//! runtime.
//!
//! The iterator is a function object. Called with 0 it returns the key, with 1 the value, and with 2 it advances and
//! returns whether there is another entry. The frame holds a reference to it, and to the key and value of an entry.

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, any, object};

use crate::declaration::ParamType;
use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::emitter::frame::Held;
use crate::lower::failure::Turn;
use crate::lower::prologue::registry::Global;
use crate::lower::prologue::scope::require_nothing;
use crate::lower::value::AnyWords;
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::{accepted, may_be_object};
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
    iterator: Global,
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

impl<'a> Wrapper<'a, '_> {
    /// Emits the loop over the entries of a mapping.
    pub(crate) fn mapping(&mut self, value: ValueId, steps: &'a [Step<'a>]) {
        let symbols = self.unbound_in(steps);
        let after = self.b.block("next");
        let states = self.carried_to(after, &symbols);
        let nothing = self.carry(&symbols);
        if let Some(there) = self.mask(value) {
            self.go_unless(there, after, &nothing);
        }
        let outside = self.mark_where_there(value);
        let outer = self.frame.held.len();
        let (is_map, mapping) = self.mapping_words(value);
        let counter = self.global(is_map, SIZE, outer);
        let counted = self.call_global(counter, mapping, None, outer);
        let size = self.b.load(Type::I64, counted, any::PAYLOAD.offset);
        let some = self.b.compare_const(Cond::Ne, size, 0);
        self.go_unless(some, after, &nothing);
        let maker = self.global(is_map, ITERATOR, outer);
        let made = self.call_global(maker, mapping, None, outer);
        let object = self.b.load(Type::Ptr, made, any::PAYLOAD.offset);
        let iterator = maker.made(object);
        let parts = self.parts(value, steps);
        self.entries(&Entries {
            steps,
            iterator,
            size,
            parts,
            symbols: symbols.clone(),
            after,
            outer,
        });
        self.b.switch_to(after);
        self.go_back(outside);
        self.set_symbols(&symbols, &states);
    }

    /// Returns a `Bool`, true if a mapping is a `Map`, and its type index and payload as the argument of a call.
    fn mapping_words(&mut self, value: ValueId) -> (Value, AnyWords) {
        let mapping = self.values[value].word();
        let index = self.b.load(Type::I32, mapping, object::TYPE_INDEX.offset);
        let is_map = self.b.compare_const(Cond::Eq, index, TypeIndex::MAP.0.into());
        let head = self.b.convert(Convert::Zext, index, Type::I64);
        (is_map, AnyWords { head, payload: mapping })
    }

    /// Reserves the slots of key and value. A key or value of type `Any` is not fetched, since nothing of it is
    /// checked.
    fn parts(&mut self, value: ValueId, steps: &[Step<'_>]) -> [(ValueId, Option<Value>); 2] {
        let values = &self.function.values;
        let children = self.function.values[value].children.clone();
        let opens = |child: ValueId| steps.iter().filter(move |step| step.opens() == Some(child));
        let wanted =
            |child| opens(child).any(|step| !require_nothing(values, std::slice::from_ref(step)));
        [children[0], children[1]].map(|child| {
            let slot = self.b.stack_slot(ANY.size, ANY.align);
            self.clear_any(slot);
            self.addresses[child] = Some(slot);
            (child, wanted(child).then_some(slot))
        })
    }

    /// Emits the loop: the body for one entry, then the call that advances the iterator.
    fn entries(&mut self, entries: &Entries<'a>) {
        let Entries { iterator, size, ref symbols, outer, after, .. } = *entries;
        let [head, again, end] = ["entry", "again", "end"].map(|label| self.b.block(label));
        let start: Vec<Value> = [size].into_iter().chain(self.carry(symbols)).collect();
        let left = self.b.block_param(head, Type::I64, "left");
        let states = self.carried_to(head, symbols);
        self.b.jump(head, &start);
        self.b.switch_to(head);
        self.set_symbols(symbols, &states);
        self.frame.held.push(Held::Object(iterator.object));
        self.in_loop(Turn::Left { size, left }, |w| w.entry(entries));
        let symbols = self.carry(symbols);
        let left = self.b.binary_const(Binary::Sub, left, 1);
        let last = self.b.compare_const(Cond::Eq, left, 0);
        let next = self.b.block("next");
        self.b.branch(last, end, next);
        self.b.switch_to(next);
        let moved = self.ask(entries, MOVE_ON, None);
        self.frame.held.truncate(outer);
        // The iterator may end before `size` entries, if another thread has removed some.
        let more = self.b.load(Type::I64, moved, any::PAYLOAD.offset);
        let more = self.b.compare_const(Cond::Ne, more, 0);
        self.b.branch(more, again, end);
        self.b.switch_to(again);
        let next: Vec<Value> = [left].into_iter().chain(symbols.iter().copied()).collect();
        self.b.jump(head, &next);
        self.b.switch_to(end);
        self.release_held(&[Held::Object(iterator.object)]);
        self.b.jump(after, &symbols);
    }

    /// Emits the body of the loop: fetches, checks and releases key and value.
    fn entry(&mut self, entries: &Entries<'a>) {
        let outer = entries.outer;
        for (which, (_, slot)) in entries.parts.iter().enumerate() {
            if let Some(slot) = *slot {
                self.ask(entries, which as i64, Some(slot));
                self.frame.held.push(Held::Any(slot));
            }
        }
        match self.exits.other {
            Some(other) => {
                let wrong = self.cold("wrong", |w| {
                    w.release_own(outer);
                    w.b.jump(other, &[]);
                });
                self.or_other(wrong, |w| w.check_steps(entries.steps));
            }
            None => self.check_steps(entries.steps),
        }
        self.frame.held.truncate(outer + 1);
        for (child, slot) in entries.parts {
            if let Some(slot) = slot.filter(|_| self.may_be_object(child)) {
                self.release_held(&[Held::Any(slot)]);
            }
        }
    }

    /// Emits a call of the iterator; returns the address of its result.
    fn ask(&mut self, entries: &Entries<'_>, what: i64, wanted: Option<Value>) -> Value {
        let (head, payload) = (self.b.i64(TypeIndex::INT.0.into()), self.b.i64(what));
        let number = AnyWords { head, payload };
        self.call_global(entries.iterator, number, wanted, entries.outer)
    }

    /// Returns true if a checked value may be an object, which must be released.
    fn may_be_object(&self, value: ValueId) -> bool {
        match self.function.values[value].ty {
            ParamType::Scalar(scalar) => may_be_object(*scalar),
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
}
