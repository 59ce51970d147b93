//! Explaining values that are neither scalars nor tensors.

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, any, seq_cell};
use abi_spec::runtime;

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::explain::codes::{LiteralCode, head};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;
use crate::lower::explain::routines::header::{argument_of, slot_of};
use crate::resolve::accepted::MAX_SMALL;

/// The first word after a head, and after a text that follows it.
const FIRST: u32 = head::END;
const SECOND: u32 = FIRST + 2;

impl Code<'_> {
    /// Starts `Mismatched <place><suffix> on argument #0 …, expected `.
    pub(crate) fn mismatch(&mut self, s: Value, words: Value, suffix: &str) {
        let argument = self.word(words, head::ARGUMENT);
        self.begin(s, "Mismatched ", words, suffix, argument);
    }

    /// `Mismatched type of <place> on argument #0 …, expected <type> but got <type>`; returns 1.
    pub(crate) fn wrong_type(&mut self, s: Value, words: Value, value: Value) {
        let argument = self.word(words, head::ARGUMENT);
        self.begin(s, "Mismatched type of ", words, "", argument);
        self.say_text(s, words, FIRST);
        self.say(s, " but got ");
        // Behind an rvalue reference it is the object that has the wrong type.
        let (index, payload) = self.borrow(value);
        let found = self.b.stack_slot(ANY.size, ANY.align);
        self.b.store(index, found, any::TYPE_INDEX.offset);
        self.b.store(payload, found, any::PAYLOAD.offset);
        self.call(Routine::PutType, &[s, found]);
        self.raise_and_stop(s, "TypeError");
    }
}

/// `(state)`: the type of a value, and that it is not NULL; 1 if that has raised.
pub(crate) fn check_type(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(SECOND) + 4);
    let value = argument_of(c, s, words);
    let masks = [SECOND, SECOND + 2].map(|at| c.b.load_aligned(Type::I64, words, 4 * at as i32, 4));
    let (index, payload) = c.borrow(value);
    let null = c.b.compare_const(Cond::Eq, payload, 0);
    let points = c.points(index);
    let nothing = c.b.and(points, null);
    let accepted = c.accepts(index, masks);
    let objects = c.b.compare_const(Cond::Ne, masks[1], 0);
    let rvalue = TypeIndex::OBJECT_RVALUE_REF.0.into();
    let rvalue = c.b.compare_const(Cond::Eq, index, rvalue);
    let rvalue = c.b.and(rvalue, objects);
    let candidate = c.b.or(accepted, rvalue);
    let nothing = c.b.and(nothing, candidate);
    c.when(nothing, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Mismatched type of ", words, "", argument);
        c.say_text(s, words, FIRST);
        c.say(s, " but got NULL");
        c.raise_and_stop(s, "TypeError");
    });
    let refused = c.b.not(accepted);
    c.when(refused, |c| c.wrong_type(s, words, value));
    small_size(c, s, words, [value, index]);
    let none = c.b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
    let zero = c.b.null();
    let payload = c.b.select(none, zero, payload);
    let slot = slot_of(c, s, words);
    c.b.store(payload, slot, 0);
    c.return_code(0);
}

/// A small text must not claim more bytes than a value has.
fn small_size(c: &mut Code<'_>, s: Value, words: Value, [value, index]: [Value; 2]) {
    let small = [TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES];
    let [str, bytes] = small.map(|small| c.b.compare_const(Cond::Eq, index, small.0.into()));
    let small = c.b.or(str, bytes);
    let length = c.b.load(Type::I32, value, any::SMALL_LEN.offset);
    let length = c.b.convert(Convert::Zext, length, Type::I64);
    let long = c.b.compare_const(Cond::Ugt, length, MAX_SMALL);
    let long = c.b.and(small, long);
    c.when(long, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Out of range ", words, ".size", argument);
        c.say(s, &format!("at most {MAX_SMALL} but got "));
        c.call(Routine::PutInt, &[s, length]);
        c.raise_and_stop(s, "ValueError");
    });
}

/// `(state)`: the class of an object; 1 if that has raised.
pub(crate) fn instance(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(SECOND) + 2);
    let slot = slot_of(c, s, words);
    let object = c.b.load(Type::Ptr, slot, 0);
    let [key, length] = c.text_at(s, words, SECOND);
    let null = c.b.null();
    let is = c.call_value(Routine::IsInstance, &[object, key, length, null]);
    let other = c.b.compare_const(Cond::Eq, is, 0);
    c.when(other, |c| {
        let value = argument_of(c, s, words);
        c.wrong_type(s, words, value);
    });
    c.return_code(0);
}

/// `(state)`: the number of elements of a tuple; 1 if that has raised.
pub(crate) fn size(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(FIRST) + 1);
    let slot = slot_of(c, s, words);
    let object = c.b.load(Type::Ptr, slot, 0);
    let found = c.b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let expected = c.word(words, FIRST);
    same_size(c, s, words, found, expected);
    c.return_code(0);
}

fn same_size(c: &mut Code<'_>, s: Value, words: Value, found: Value, expected: Value) {
    let differs = c.b.compare(Cond::Ne, found, expected);
    c.when(differs, |c| {
        c.mismatch(s, words, ".size");
        c.call(Routine::PutInt, &[s, expected]);
        c.say(s, " but got ");
        c.call(Routine::PutInt, &[s, found]);
        c.raise_and_stop(s, "ValueError");
    });
}

/// `(state)`: an element type; 1 if its text names none, with the runtime's own error.
pub(crate) fn dtype(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, head::END.into());
    let slot = slot_of(c, s, words);
    let value = argument_of(c, s, words);
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let plain = c.b.compare_const(Cond::Eq, index, TypeIndex::DATA_TYPE.0.into());
    c.when(plain, |c| {
        let bits = c.b.load(Type::I64, value, any::PAYLOAD.offset);
        let bits = c.b.binary_const(Binary::And, bits, 0xffff_ffff);
        c.b.store(bits, slot, 0);
        c.return_code(0);
    });
    let array = c.b.stack_slot(16, 8);
    let all = c.b.i64(-1);
    let text = c.call_value(Routine::Text, &[value, all, all, array]);
    let zero = c.b.i64(0);
    c.b.store(zero, slot, 0);
    let parse = crate::lower::runtime(c.b.module, &runtime::DATA_TYPE_FROM_STRING);
    let status = c.b.call_value(parse, &[text, slot]);
    let failed = c.b.compare_const(Cond::Ne, status, 0);
    c.when(failed, |c| {
        let name = c.literal(runtime::DATA_TYPE_FROM_STRING.name);
        c.stop_after_call(s, name, status);
    });
    c.return_code(0);
}

/// `(state)`: a device; 1 if that has raised.
pub(crate) fn device(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, SECOND.into());
    let slot = slot_of(c, s, words);
    let value = argument_of(c, s, words);
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let plain = c.b.compare_const(Cond::Eq, index, TypeIndex::DEVICE.0.into());
    c.when(plain, |c| c.return_code(0));
    let all = c.b.i64(-1);
    let named = c.call_value(Routine::ToDevice, &[value, all, all, slot]);
    let unknown = c.b.compare_const(Cond::Eq, named, 0);
    c.when(unknown, |c| {
        c.mismatch(s, words, "");
        c.say_text(s, words, FIRST);
        c.say(s, " but got ");
        let slot = c.word(words, head::SLOT);
        let [text, length] = c.text_of(s, slot);
        c.call(Routine::PutQuoted, &[s, text, length]);
        c.raise_and_stop(s, "ValueError");
    });
    c.return_code(0);
}

/// `(state)`: the numbers of a shape, or of an array or list that stands for one; 1 if that has raised.
pub(crate) fn check_numbers(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(FIRST) + 1);
    let slot = slot_of(c, s, words);
    let object = c.b.load(Type::Ptr, slot, 0);
    let index = c.b.load(Type::I32, object, abi_spec::layout::object::TYPE_INDEX.offset);
    // Shapes and sequences have their size at the same place.
    let size = c.b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let sequence = c.b.compare_const(Cond::Ne, index, TypeIndex::SHAPE.0.into());
    c.when(sequence, |c| {
        let long = c.b.compare_const(Cond::Ugt, size, MAX_RANK as i64);
        c.when(long, |c| {
            c.mismatch(s, words, ".size");
            c.say(s, &format!("at most {MAX_RANK} but got "));
            c.call(Routine::PutInt, &[s, size]);
            c.raise_and_stop(s, "ValueError");
        });
        let elements = c.b.load(Type::Ptr, object, seq_cell::DATA.in_object());
        c.count_to(size, |c, at| {
            let element = c.argument(elements, at);
            let index = c.b.load(Type::I32, element, any::TYPE_INDEX.offset);
            let other = c.b.compare_const(Cond::Ne, index, TypeIndex::INT.0.into());
            c.when(other, |c| no_number(c, s, words, at, element));
        });
    });
    let rank = c.signed_word(words, FIRST);
    let fixed = c.b.compare_const(Cond::Ne, rank, -1);
    c.when(fixed, |c| same_size(c, s, words, size, rank));
    c.return_code(0);
}

fn no_number(c: &mut Code<'_>, s: Value, words: Value, at: Value, element: Value) {
    let place = crate::lower::explain::routines::header::place_at(
        c,
        words,
        crate::lower::explain::codes::Suffix::Number,
        at,
    );
    let argument = c.word(words, head::ARGUMENT);
    c.begin(s, "Mismatched type of ", place, "", argument);
    c.say(s, "int but got ");
    c.call(Routine::PutType, &[s, element]);
    c.raise_and_stop(s, "TypeError");
}

/// `(state)`: one of several values; 1 if that has raised.
pub(crate) fn literal(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, i64::from(SECOND) + 1);
    let count = c.word(words, SECOND);
    let slot = c.word(words, head::SLOT);
    let value = argument_of(c, s, words);
    let number = c.b.load(Type::I64, value, any::PAYLOAD.offset);
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let above = c.b.binary_const(Binary::Sub, index, TypeIndex::INT.0.into());
    let last = TypeIndex::BOOL.0 - TypeIndex::INT.0;
    let is_number = c.b.compare_const(Cond::Ule, above, last.into());
    let is_text = c.b.not(is_number);
    let [text, length] = c.text_of(s, slot);
    let zero = c.b.i64(0);
    let found = c.variable(zero);
    c.count_to(count, |c, _| {
        let literal = c.take_words(s, 3);
        let code = c.word(literal, 0);
        let is_int = c.b.compare_const(Cond::Eq, code, LiteralCode::Int as i64);
        let both = c.b.and(is_int, is_number);
        c.when(both, |c| {
            let known = c.b.load_aligned(Type::I64, literal, 4, 4);
            let same = c.b.eq(known, number);
            gather(c, found, same);
        });
        let other = c.b.not(is_int);
        let both = c.b.and(other, is_text);
        c.when(both, |c| {
            let [known, known_length] = c.text_at(s, literal, 1);
            let same = c.call_value(Routine::SameText, &[text, length, known, known_length]);
            let same = c.b.compare_const(Cond::Ne, same, 0);
            gather(c, found, same);
        });
    });
    let found = c.get(found);
    let none = c.b.compare_const(Cond::Eq, found, 0);
    c.when(none, |c| {
        c.mismatch(s, words, "");
        c.say_text(s, words, FIRST);
        c.say(s, " but got ");
        c.when(is_text, |c| {
            c.call(Routine::PutQuoted, &[s, text, length]);
            c.raise_and_stop(s, "ValueError");
        });
        let bool = c.b.compare_const(Cond::Eq, index, TypeIndex::BOOL.0.into());
        c.when(bool, |c| {
            let [yes, yes_length] = c.literal("True");
            let [no, no_length] = c.literal("False");
            let truth = c.b.compare_const(Cond::Ne, number, 0);
            let (text, length) =
                (c.b.select(truth, yes, no), c.b.select(truth, yes_length, no_length));
            c.call(Routine::Put, &[s, text, length]);
            c.raise_and_stop(s, "ValueError");
        });
        c.call(Routine::PutInt, &[s, number]);
        c.raise_and_stop(s, "ValueError");
    });
    c.return_code(0);
}

/// `variable |= condition`
pub(crate) fn gather(
    c: &mut Code<'_>,
    variable: crate::lower::explain::routines::code::Variable,
    condition: Value,
) {
    let condition = c.b.widen_bool(condition, Type::I64);
    let before = c.get(variable);
    let after = c.b.or(before, condition);
    c.set(variable, after);
}

/// `(any, low mask, high mask, out)`: the device that a text names: a type, and `:` and an index or not.
pub(crate) fn to_device(c: &mut Code<'_>) {
    let [value, low, high, out] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let array = c.b.stack_slot(16, 8);
    let found = c.call_value(Routine::Text, &[value, low, high, array]);
    let null = c.b.compare_const(Cond::Eq, found, 0);
    c.when(null, |c| c.return_code(0));
    use abi_spec::layout::byte_array;
    let text = c.b.load(Type::Ptr, found, byte_array::DATA.offset);
    let size = c.b.load(Type::I64, found, byte_array::SIZE.offset);
    let zero = c.b.i64(0);
    let end = c.variable(zero);
    c.repeat(
        |c| {
            let at = c.get(end);
            let more = c.b.compare(Cond::Slt, at, size);
            let byte = byte_or_zero(c, text, at, more);
            let other = c.b.compare_const(Cond::Ne, byte, b':'.into());
            c.b.and(more, other)
        },
        |c| c.add_to(end, 1),
    );
    let length = c.get(end);
    let ty = c.variable(zero);
    for (name, number) in abi_spec::DeviceType::texts() {
        let [known, known_length] = c.literal(name);
        let same = c.call_value(Routine::SameText, &[text, length, known, known_length]);
        let same = c.b.compare_const(Cond::Ne, same, 0);
        c.when(same, |c| {
            let number = c.b.i64(number.0.into());
            c.set(ty, number);
        });
    }
    let index = device_index(c, text, size, length);
    let ty = c.get(ty);
    let unknown = c.b.compare_const(Cond::Eq, ty, 0);
    c.when(unknown, |c| c.return_code(0));
    let high = c.b.binary_const(Binary::Shl, index, 32);
    let word = c.b.or(high, ty);
    c.b.store(word, out, 0);
    c.return_code(1);
}

fn byte_or_zero(c: &mut Code<'_>, text: Value, at: Value, there: Value) -> Value {
    let address = c.b.ptr_add(text, at);
    let zero = c.table(&[0; 8]);
    let address = c.b.select(there, address, zero);
    c.b.load(Type::I8, address, 0)
}

/// What follows `:`, at most nine digits; 0 if there is no `:`. Returns 0 from the routine if it is none.
fn device_index(c: &mut Code<'_>, text: Value, size: Value, colon: Value) -> Value {
    let zero = c.b.i64(0);
    let index = c.variable(zero);
    let has = c.b.compare(Cond::Slt, colon, size);
    c.when(has, |c| {
        let first = c.b.binary_const(Binary::Add, colon, 1);
        let digits = c.b.binary(Binary::Sub, size, first);
        let wrong = c.b.binary_const(Binary::Sub, digits, 1);
        let wrong = c.b.compare_const(Cond::Ugt, wrong, 8);
        c.when(wrong, |c| c.return_code(0));
        c.count_to(digits, |c, at| {
            let at = c.b.binary(Binary::Add, first, at);
            let at = c.b.ptr_add(text, at);
            let byte = c.b.load(Type::I8, at, 0);
            let byte = c.b.convert(Convert::Zext, byte, Type::I64);
            let digit = c.b.binary_const(Binary::Sub, byte, b'0'.into());
            let wrong = c.b.compare_const(Cond::Ugt, digit, 9);
            c.when(wrong, |c| c.return_code(0));
            let before = c.get(index);
            let ten = c.b.binary_const(Binary::Mul, before, 10);
            let after = c.b.binary(Binary::Add, ten, digit);
            c.set(index, after);
        });
    });
    c.get(index)
}

/// `(state, text, length)`: text in quotes; long text loses its end, and what is not plain ASCII is escaped.
pub(crate) fn put_quoted(c: &mut Code<'_>) {
    const SHOWN: i64 = 64;
    let [s, text, length] = [0, 1, 2].map(|i| c.b.param(i));
    c.say(s, "\"");
    let shown = c.b.i64(SHOWN);
    let long = c.b.compare(Cond::Sgt, length, shown);
    let count = c.b.select(long, shown, length);
    c.count_to(count, |c, at| {
        let at = c.b.ptr_add(text, at);
        let byte = c.b.load(Type::I8, at, 0);
        let byte = c.b.convert(Convert::Zext, byte, Type::I64);
        let graphic = c.b.binary_const(Binary::Sub, byte, b' '.into());
        let graphic = c.b.compare_const(Cond::Ult, graphic, i64::from(b'~' - b' ') + 1);
        let quote = c.b.compare_const(Cond::Ne, byte, b'"'.into());
        let slash = c.b.compare_const(Cond::Ne, byte, b'\\'.into());
        let plain = c.b.and(quote, slash);
        let plain = c.b.and(plain, graphic);
        let one = c.b.i64(1);
        let (raw, escaped, next) = (c.b.block("raw"), c.b.block("escaped"), c.b.block("next"));
        c.b.branch(plain, raw, escaped);
        c.b.switch_to(raw);
        c.call(Routine::Put, &[s, at, one]);
        c.b.jump(next, &[]);
        c.b.switch_to(escaped);
        c.say(s, "\\x");
        for shift in [4, 0] {
            let digit = c.b.binary_const(Binary::Lshr, byte, shift);
            let digit = c.b.binary_const(Binary::And, digit, 15);
            let [digits, _] = c.literal("0123456789abcdef");
            let digit = c.b.ptr_add(digits, digit);
            c.call(Routine::Put, &[s, digit, one]);
        }
        c.b.jump(next, &[]);
        c.b.switch_to(next);
    });
    c.when(long, |c| c.say(s, "..."));
    c.say(s, "\"");
    c.b.ret(None);
}
