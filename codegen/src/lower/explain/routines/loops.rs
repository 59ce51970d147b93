//! Explaining what is nested: elements of sequences, keys and values of mappings, unions.

use abi_spec::layout::{ANY, any, byte_array, object, seq_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::Field;

impl Builder<'_> {
    /// Steps that follow as many times as they are run: their address. The program counter moves behind them.
    fn take_steps(&mut self, s: Value) -> Value {
        let words = self.take_word(s);
        let steps = self.field(s, Field::Pc);
        self.skip(s, words);
        steps
    }

    /// Interprets the steps at an address; yields what that returns. The program counter stays.
    fn run(&mut self, s: Value, steps: Value) -> Value {
        let after = self.field(s, Field::Pc);
        self.set_field(s, Field::Pc, steps);
        let raised = self.routine_value(Routine::Interpret, &[s]);
        self.set_field(s, Field::Pc, after);
        raised
    }

    /// Notes which element of the loop of this depth is being checked.
    fn note_index(&mut self, s: Value, depth: Value, index: Value) {
        let loops = self.field(s, Field::Loops);
        let at = self.element(loops, depth);
        self.store(index, at, 0);
    }

    /// Nothing is in a slot any more.
    fn forget(&mut self, s: Value, slot: Value) {
        let null = self.null();
        self.locate(s, slot, null);
    }
}

/// `(state)`: the elements of a sequence.
pub(crate) fn each(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Each>();
    let (head, depth, slot) = (step.head(b), step.depth(b), step.element(b));
    let steps = b.take_steps(s);
    b.in_count(s, depth, Field::LoopCount);
    let sequence = head.slot(b);
    let sequence = b.sequence_of(s, sequence);
    let size = b.load(Type::I64, sequence, seq_cell::SIZE.in_object());
    let elements = b.load(Type::Ptr, sequence, seq_cell::DATA.in_object());
    b.count_to(size, |b, at| {
        b.note_index(s, depth, at);
        let any = b.any_at(elements, at);
        b.locate(s, slot, any);
        let raised = b.run(s, steps);
        let some = b.compare_const(Cond::Ne, raised, 0);
        b.if_then(some, |b| b.ret(Some(raised)));
    });
    b.forget(s, slot);
    b.return_code(0);
}

/// What the loop over a mapping holds.
#[derive(Clone, Copy)]
struct Entries {
    s: Value,
    /// Where its steps start.
    steps: Value,
    /// The iterator, an owned function object.
    iterator: Value,
    /// What errors call it: the function that made it.
    name: [Value; 2],
    /// The address of a `TVMFFIAny` for the key, and of one for the value.
    entry: [Value; 2],
    /// Their slots.
    slots: [Value; 2],
}

/// `(state)`: the keys and values of a mapping, which only the runtime can read.
pub(crate) fn entries(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Entries>();
    let (head, depth, slots) = (step.head(b), step.depth(b), [step.key(b), step.value(b)]);
    let steps = b.take_steps(s);
    b.in_count(s, depth, Field::LoopCount);
    slots.iter().for_each(|&slot| b.forget(s, slot));
    let mapping = b.object_of(s, head);
    let index = b.load(Type::I32, mapping, object::TYPE_INDEX.offset);
    let right = b.is_one_of(index, &[TypeIndex::MAP, TypeIndex::DICT]);
    b.intact(s, right);
    let is_map = b.compare_const(Cond::Eq, index, TypeIndex::MAP.0.into());
    let argument = b.stack_slot(ANY.size, 8);
    let index = b.convert(Convert::Zext, index, Type::I64);
    b.store(index, argument, any::TYPE_INDEX.offset);
    b.store(mapping, argument, any::PAYLOAD.offset);
    let (size, _) = call_global(b, s, is_map, ["ffi.MapSize", "ffi.DictSize"], argument);
    let size = b.load(Type::I64, size, any::PAYLOAD.offset);
    let functors = ["ffi.MapForwardIterFunctor", "ffi.DictForwardIterFunctor"];
    let (iterator, name) = call_global(b, s, is_map, functors, argument);
    let iterator = b.load(Type::Ptr, iterator, any::PAYLOAD.offset);
    let [entry, moved] = [2 * ANY.size, ANY.size].map(|size| b.stack_slot(size, 8));
    let entry = [entry, b.ptr_offset(entry, ANY.size.into())];
    let e = Entries { s, steps, iterator, name, entry, slots };
    b.count_to(size, |b, at| {
        b.note_index(s, depth, at);
        check_entry(b, e);
        let next = b.i64(2);
        call_iterator(b, e, next, moved, 0);
    });
    b.release_object(iterator);
    b.return_code(0);
}

fn check_entry(b: &mut Builder<'_>, e: Entries) {
    for (part, to) in e.entry.into_iter().enumerate() {
        let which = b.i64(part as i64);
        call_iterator(b, e, which, to, part);
        b.locate(e.s, e.slots[part], to);
    }
    let raised = b.run(e.s, e.steps);
    let two = b.i64(2);
    b.routine(Routine::Release, &[e.entry[0], two]);
    e.slots.iter().for_each(|&slot| b.forget(e.s, slot));
    let some = b.compare_const(Cond::Ne, raised, 0);
    b.if_then(some, |b| {
        b.release_object(e.iterator);
        b.ret(Some(raised));
    });
}

/// Calls the iterator with a number; if that fails, gives up so many parts of the entry, and stops.
fn call_iterator(b: &mut Builder<'_>, e: Entries, number: Value, to: Value, held: usize) {
    let argument = b.stack_slot(ANY.size, 8);
    let int = b.i64(TypeIndex::INT.0.into());
    b.store(int, argument, any::TYPE_INDEX.offset);
    b.store(number, argument, any::PAYLOAD.offset);
    let (failed, status) = call(b, e.iterator, argument, to);
    b.if_then(failed, |b| {
        let held = b.i64(held as i64);
        b.routine(Routine::Release, &[e.entry[0], held]);
        b.release_object(e.iterator);
        b.stop_after_call(e.s, e.name, status);
    });
}

/// Calls a function object with one argument; yields whether that has failed, and the status.
fn call(b: &mut Builder<'_>, function: Value, argument: Value, to: Value) -> (Value, Value) {
    let none = b.i64(TypeIndex::NONE.0.into());
    b.store(none, to, any::TYPE_INDEX.offset);
    b.store(none, to, any::PAYLOAD.offset);
    let one = b.i32(1);
    let status = b.runtime(&runtime::FUNCTION_CALL, &[function, argument, one, to]);
    (b.compare_const(Cond::Ne, status, 0), status)
}

/// Calls one of two global functions with one argument; yields the address of the result, and the name of the
/// function. Stops if that fails.
fn call_global(
    b: &mut Builder<'_>,
    s: Value,
    first: Value,
    names: [&str; 2],
    argument: Value,
) -> (Value, [Value; 2]) {
    let [one, other] = names.map(|name| b.text(name));
    let text = [0, 1].map(|part| b.select(first, one[part], other[part]));
    let (name, out, result) = (b.stack_slot(16, 8), b.stack_slot(8, 8), b.stack_slot(ANY.size, 8));
    b.store(text[0], name, byte_array::DATA.offset);
    b.store(text[1], name, byte_array::SIZE.offset);
    let null = b.null();
    b.store(null, out, 0);
    let status = b.runtime(&runtime::FUNCTION_GET_GLOBAL, &[name, out]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| b.stop_after_call(s, text, status));
    let function = b.load(Type::Ptr, out, 0);
    let missing = b.compare_const(Cond::Eq, function, 0);
    b.refuse(s, missing, Complaint::Missing, &text);
    let (failed, status) = call(b, function, argument, result);
    b.release_object(function);
    b.if_then(failed, |b| b.stop_after_call(s, text, status));
    (result, text)
}

/// `(state)`: one of several types. While they are tried a fault is no error.
pub(crate) fn one_of(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::OneOf>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let (count, zero) = (b.take_word(s), b.i64(0));
    let [found] = b.fold(count, [zero], |b, _, [found]| {
        let slot = b.take_word(s);
        let steps = b.take_steps(s);
        let open = b.compare_const(Cond::Eq, found, 0);
        [b.if_else(
            open,
            Type::I64,
            |b| {
                b.locate(s, slot, any);
                add_quiet(b, s, 1);
                let devices = b.field(s, Field::DeviceCount);
                let raised = b.run(s, steps);
                let broken = b.compare_const(Cond::Slt, raised, 0);
                b.if_then(broken, |b| b.ret(Some(raised)));
                forget_bindings(b, s);
                add_quiet(b, s, -1);
                let fits = b.compare_const(Cond::Eq, raised, 0);
                // What does not fit leaves no trace.
                let noted = b.field(s, Field::DeviceCount);
                let devices = b.select(fits, noted, devices);
                b.set_field(s, Field::DeviceCount, devices);
                b.truth(fits)
            },
            |_| found,
        )]
    });
    let none = b.compare_const(Cond::Eq, found, 0);
    b.if_then(none, |b| {
        let expected = step.expected(b);
        b.wrong_type(s, head, expected, any);
    });
    b.return_code(0);
}

/// Symbols that a type of the current union has bound are free again.
fn forget_bindings(b: &mut Builder<'_>, s: Value) {
    let (mark, zero) = (b.union_mark(s), b.i64(0));
    let (count, origins) = (b.field(s, Field::Symbols), b.field(s, Field::Origins));
    b.count_to(count, |b, symbol| {
        let at = b.element(origins, symbol);
        let origin = b.load(Type::I64, at, 0);
        let here = b.eq(origin, mark);
        let origin = b.select(here, zero, origin);
        b.store(origin, at, 0);
    });
}

impl Builder<'_> {
    /// The origin of what the types of the current union bind: no address, and another for each that it is in.
    pub(crate) fn union_mark(&mut self, s: Value) -> Value {
        let (zero, depth) = (self.i64(0), self.field(s, Field::Quiet));
        self.binary(Binary::Sub, zero, depth)
    }
}

fn add_quiet(b: &mut Builder<'_>, s: Value, change: i64) {
    let quiet = b.field(s, Field::Quiet);
    let quiet = b.binary_const(Binary::Add, quiet, change);
    b.set_field(s, Field::Quiet, quiet);
}
