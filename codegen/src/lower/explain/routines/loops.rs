//! Explaining what is nested: elements of tuples and sequences, keys and values of mappings, unions.

use abi_spec::layout::{ANY, any, byte_array, object, seq_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::explain::codes::head;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};
use crate::lower::explain::routines::header::{argument_of, slot_of};

/// The first word after a head.
const FIRST: u32 = head::END;

/// `slot, slot of the tuple, index`: where an element is.
pub(crate) fn element(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 3);
    let tuple = c.word(words, 1);
    let tuple = c.slot(s, tuple);
    let tuple = c.b.load(Type::Ptr, tuple, 0);
    let elements = c.b.load(Type::Ptr, tuple, seq_cell::DATA.in_object());
    let index = c.word(words, 2);
    let any = c.argument(elements, index);
    let slot = c.word(words, 0);
    c.locate(s, slot, any);
}

impl Code<'_> {
    /// Interprets the steps at `pc`; yields whether that has raised.
    fn run(&mut self, s: Value, pc: Value) -> Value {
        self.b.store(pc, s, state::PC);
        let raised = self.call_value(Routine::Interpret, &[s]);
        self.b.compare_const(Cond::Ne, raised, 0)
    }

    /// Notes which element of a loop is being checked; word `depth` after `words` is its depth.
    fn note_index(&mut self, s: Value, words: Value, depth: u32, index: Value) {
        let depth = self.word(words, depth);
        let loops = self.b.ptr_offset(s, state::LOOPS.into());
        let at = self.element(loops, depth);
        self.b.store(index, at, 0);
    }
}

/// `(state)`: the elements of a sequence; 1 if that has raised.
pub(crate) fn each(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(FIRST) + 3);
    c.skip(s, words, FIRST + 2);
    let after = c.b.load(Type::Ptr, s, state::PC);
    let steps = c.b.ptr_offset(words, 4 * (i64::from(FIRST) + 3));
    let slot = slot_of(c, s, words);
    let sequence = c.b.load(Type::Ptr, slot, 0);
    let size = c.b.load(Type::I64, sequence, seq_cell::SIZE.in_object());
    let elements = c.b.load(Type::Ptr, sequence, seq_cell::DATA.in_object());
    c.count_to(size, |c, at| {
        c.note_index(s, words, FIRST, at);
        let any = c.argument(elements, at);
        let slot = c.word(words, FIRST + 1);
        c.locate(s, slot, any);
        let raised = c.run(s, steps);
        c.when(raised, |c| c.return_code(1));
    });
    c.b.store(after, s, state::PC);
    c.return_code(0);
}

/// What the loop over a mapping holds: the iterator and one entry.
#[derive(Clone, Copy)]
struct Entries {
    s: Value,
    /// The words of the step.
    words: Value,
    /// Where its steps start.
    steps: Value,
    /// The iterator, an owned function object.
    iterator: Value,
    /// What errors call it: the function that made it.
    name: [Value; 2],
    /// The address of a `TVMFFIAny` for the key, and of one for the value.
    entry: [Value; 2],
}

/// `(state)`: the keys and values of a mapping, which only the runtime can read; 1 if that has raised.
pub(crate) fn entries(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(FIRST) + 4);
    c.skip(s, words, FIRST + 3);
    let after = c.b.load(Type::Ptr, s, state::PC);
    let steps = c.b.ptr_offset(words, 4 * (i64::from(FIRST) + 4));
    let slot = slot_of(c, s, words);
    let mapping = c.b.load(Type::Ptr, slot, 0);
    let index = c.b.load(Type::I32, mapping, object::TYPE_INDEX.offset);
    let is_map = c.b.compare_const(Cond::Eq, index, TypeIndex::MAP.0.into());
    let argument = c.b.stack_slot(ANY.size, 8);
    let index = c.b.convert(crate::ir::Convert::Zext, index, Type::I64);
    c.b.store(index, argument, any::TYPE_INDEX.offset);
    c.b.store(mapping, argument, any::PAYLOAD.offset);
    let (size, _) = call_global(c, s, is_map, ["ffi.MapSize", "ffi.DictSize"], argument);
    let size = c.b.load(Type::I64, size, any::PAYLOAD.offset);
    let functors = ["ffi.MapForwardIterFunctor", "ffi.DictForwardIterFunctor"];
    let (iterator, name) = call_global(c, s, is_map, functors, argument);
    let iterator = c.b.load(Type::Ptr, iterator, any::PAYLOAD.offset);
    let entry = [0, 1].map(|_| c.b.stack_slot(ANY.size, 8));
    let e = Entries { s, words, steps, iterator, name, entry };
    c.count_to(size, |c, at| {
        c.note_index(s, words, FIRST, at);
        check_entry(c, e);
        let next = c.b.i64(2);
        let moved = c.b.stack_slot(ANY.size, 8);
        let (failed, status) = call_iterator(c, iterator, next, moved);
        c.when(failed, |c| {
            c.release(iterator);
            c.stop_after_call(s, e.name, status);
        });
    });
    c.release(iterator);
    c.b.store(after, s, state::PC);
    c.return_code(0);
}

fn check_entry(c: &mut Code<'_>, e: Entries) {
    let Entries { s, words, steps, iterator, name, entry } = e;
    for (part, to) in entry.into_iter().enumerate() {
        let which = c.b.i64(part as i64);
        let (failed, status) = call_iterator(c, iterator, which, to);
        c.when(failed, |c| {
            entry[..part].iter().for_each(|&held| release_any(c, held));
            c.release(iterator);
            c.stop_after_call(s, name, status);
        });
        let slot = c.word(words, FIRST + 1 + part as u32);
        c.locate(s, slot, to);
    }
    let raised = c.run(s, steps);
    entry.into_iter().for_each(|held| release_any(c, held));
    c.when(raised, |c| {
        c.release(iterator);
        c.return_code(1);
    });
}

/// Releases what a `TVMFFIAny` holds.
fn release_any(c: &mut Code<'_>, value: Value) {
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let object = TypeIndex::STATIC_OBJECT_BEGIN.0.into();
    let is_object = c.b.compare_const(Cond::Sge, index, object);
    c.when(is_object, |c| {
        let object = c.b.load(Type::Ptr, value, any::PAYLOAD.offset);
        c.release(object);
    });
}

/// Calls the iterator with a number; yields whether that has failed, and the status.
fn call_iterator(c: &mut Code<'_>, iterator: Value, number: Value, to: Value) -> (Value, Value) {
    let argument = c.b.stack_slot(ANY.size, 8);
    let int = c.b.i64(TypeIndex::INT.0.into());
    c.b.store(int, argument, any::TYPE_INDEX.offset);
    c.b.store(number, argument, any::PAYLOAD.offset);
    call(c, iterator, argument, to)
}

/// Calls a function object with one argument; yields whether that has failed, and the status.
fn call(c: &mut Code<'_>, function: Value, argument: Value, to: Value) -> (Value, Value) {
    let none = c.b.i64(TypeIndex::NONE.0.into());
    c.b.store(none, to, any::TYPE_INDEX.offset);
    c.b.store(none, to, any::PAYLOAD.offset);
    let one = c.b.i32(1);
    let call = crate::lower::runtime(c.b.module, &runtime::FUNCTION_CALL);
    let status = c.b.call_value(call, &[function, argument, one, to]);
    (c.b.compare_const(Cond::Ne, status, 0), status)
}

/// Calls one of two global functions with one argument; yields the address of the result, and the name of the
/// function. Stops if that fails.
fn call_global(
    c: &mut Code<'_>,
    s: Value,
    first: Value,
    names: [&str; 2],
    argument: Value,
) -> (Value, [Value; 2]) {
    let [a, b] = names.map(|name| c.literal(name));
    let name = c.b.stack_slot(16, 8);
    let data = c.b.select(first, a[0], b[0]);
    let size = c.b.select(first, a[1], b[1]);
    c.b.store(data, name, byte_array::DATA.offset);
    c.b.store(size, name, byte_array::SIZE.offset);
    let out = c.b.stack_slot(8, 8);
    let null = c.b.null();
    c.b.store(null, out, 0);
    let get = crate::lower::runtime(c.b.module, &runtime::FUNCTION_GET_GLOBAL);
    let status = c.b.call_value(get, &[name, out]);
    let failed = c.b.compare_const(Cond::Ne, status, 0);
    c.when(failed, |c| c.stop_after_call(s, [data, size], status));
    let function = c.b.load(Type::Ptr, out, 0);
    let missing = c.b.compare_const(Cond::Eq, function, 0);
    c.when(missing, |c| {
        c.begin_call(s, "Missing function ", [data, size]);
        c.raise_and_stop(s, "RuntimeError");
    });
    let result = c.b.stack_slot(ANY.size, 8);
    let (failed, status) = call(c, function, argument, result);
    c.release(function);
    c.when(failed, |c| c.stop_after_call(s, [data, size], status));
    (result, [data, size])
}

/// `(state)`: one of several types; 1 if that has raised.
pub(crate) fn one_of(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(FIRST) + 3);
    let count = c.word(words, FIRST + 2);
    let value = argument_of(c, s, words);
    let zero = c.b.i64(0);
    let found = c.variable(zero);
    c.count_to(count, |c, _| {
        let ty = c.take_words(s, 2);
        c.skip(s, ty, 1);
        let after = c.b.load(Type::Ptr, s, state::PC);
        let open = c.get(found);
        let open = c.b.compare_const(Cond::Eq, open, 0);
        c.when(open, |c| {
            let slot = c.word(ty, 0);
            c.locate(s, slot, value);
            let steps = c.b.ptr_offset(ty, 8);
            add_quiet(c, s, 1);
            let raised = c.run(s, steps);
            add_quiet(c, s, -1);
            let fits = c.b.not(raised);
            crate::lower::explain::routines::kinds::gather(c, found, fits);
        });
        c.b.store(after, s, state::PC);
    });
    let found = c.get(found);
    let none = c.b.compare_const(Cond::Eq, found, 0);
    c.when(none, |c| c.wrong_type(s, words, value));
    c.return_code(0);
}

fn add_quiet(c: &mut Code<'_>, s: Value, change: i64) {
    let quiet = c.b.load(Type::I64, s, state::QUIET);
    let quiet = c.b.binary_const(Binary::Add, quiet, change);
    c.b.store(quiet, s, state::QUIET);
}
