//! Explaining scalars.

use abi_spec::TypeIndex;
use abi_spec::layout::any;

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Class, head};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;
use crate::lower::explain::routines::evaluate::fits;
use crate::lower::explain::routines::header::{argument_of, slot_of};

/// `(state)`: type and range of a scalar; 1 if that has raised.
pub(crate) fn scalar(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, 15);
    let arg = argument_of(c, s, words);
    let slot = slot_of(c, s, words);
    let class = c.word(words, 6);
    let index = c.b.load(Type::I32, arg, any::TYPE_INDEX.offset);
    let payload = c.b.load(Type::I64, arg, any::PAYLOAD.offset);
    c.b.store(payload, slot, 0);
    let done = c.b.block("scalar");
    c.case(class, Class::Ptr as u32, done, |c| {
        let none = c.b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
        let pointer = c.b.compare_const(Cond::Eq, index, TypeIndex::OPAQUE_PTR.0.into());
        let either = c.b.or(none, pointer);
        require_type(c, s, words, arg, either);
        let zero = c.b.i64(0);
        let value = c.b.select(none, zero, payload);
        c.b.store(value, slot, 0);
    });
    let above = c.b.binary_const(Binary::Sub, index, TypeIndex::INT.0.into());
    c.case(class, Class::Float as u32, done, |c| {
        let last = TypeIndex::FLOAT.0 - TypeIndex::INT.0;
        let number = c.b.compare_const(Cond::Ule, above, last.into());
        require_type(c, s, words, arg, number);
        let is_float = c.b.compare_const(Cond::Eq, index, TypeIndex::FLOAT.0.into());
        let converted = c.b.convert(Convert::SintToFloat, payload, Type::F64);
        let converted = c.b.convert(Convert::Bitcast, converted, Type::I64);
        let bits = c.b.select(is_float, payload, converted);
        c.b.store(bits, slot, 0);
        round(c, words, slot, bits);
    });
    let last = TypeIndex::BOOL.0 - TypeIndex::INT.0;
    let number = c.b.compare_const(Cond::Ule, above, last.into());
    require_type(c, s, words, arg, number);
    c.case(class, Class::Bool as u32, done, |c| {
        let truth = c.b.compare_const(Cond::Ne, payload, 0);
        let truth = c.b.widen_bool(truth, Type::I64);
        c.b.store(truth, slot, 0);
    });
    range(c, s, words, payload);
    c.b.jump(done, &[]);
    c.b.switch_to(done);
    c.return_code(0);
}

/// Stores a float as arithmetic sees it: rounded to its type.
fn round(c: &mut Code<'_>, words: Value, slot: Value, bits: Value) {
    let width = c.word(words, 7);
    let done = c.b.block("rounded");
    c.case(width, 64, done, |_| {});
    c.case(width, 32, done, |c| {
        let value = c.b.convert(Convert::Bitcast, bits, Type::F64);
        let single = c.b.convert(Convert::Demote, value, Type::F32);
        let value = c.b.convert(Convert::Promote, single, Type::F64);
        c.b.store(value, slot, 0);
    });
    let (mantissa, bias) = (c.word(words, 11), c.word(words, 12));
    let half = c.call_value(Routine::RoundHalf, &[bits, mantissa, bias]);
    let half = c.b.convert(Convert::Zext, half, Type::I64);
    let value = c.call_value(Routine::WidenHalf, &[half, mantissa, bias]);
    c.b.store(value, slot, 0);
    c.b.jump(done, &[]);
    c.b.switch_to(done);
}

fn require_type(c: &mut Code<'_>, s: Value, words: Value, arg: Value, ok: Value) {
    let wrong = c.b.not(ok);
    c.when(wrong, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Mismatched type of ", words, "", argument);
        c.say_text(s, words, 9);
        c.say(s, " but got ");
        c.call(Routine::PutType, &[s, arg]);
        c.raise_and_stop(s, "TypeError");
    });
}

fn range(c: &mut Code<'_>, s: Value, words: Value, value: Value) {
    let (bits, signed) = (c.word(words, 7), c.word(words, 8));
    let fits = fits(c, value, bits, signed);
    let overflow = c.b.not(fits);
    c.when(overflow, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Out of range ", words, "", argument);
        c.say_text(s, words, 13);
        c.say(s, " but got ");
        c.call(Routine::PutInt, &[s, value]);
        c.raise_and_stop(s, "ValueError");
    });
}
