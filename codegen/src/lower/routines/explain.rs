//! Redoing the checks of a call one by one, and raising the first fault.

use abi_spec::TypeIndex;
use abi_spec::layout::{any, dl_tensor};

use super::super::codes::{Class, Op, header};
use super::Routine;
use super::code::{Code, state};
use super::evaluate::{fits, skip_leaves};
use super::header::{argument_of, begin_at, non_null, slot_of};
use crate::ir::{Binary, Cond, Convert, Type, Value};

/// `(handle, args, num_args, descriptor)`
pub(super) fn explain(c: &mut Code<'_>) {
    let [handle, args, num_args, descriptor] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let s = c.new_state(descriptor);
    c.b.store(args, s, state::ARGS);
    count(c, s, num_args, descriptor);
    let symbols = c.word(descriptor, header::SYMBOLS);
    let zero = c.b.i64(0);
    c.count_to(symbols, |c, symbol| {
        let origin = c.origin(s, symbol);
        c.b.store(zero, origin, 0);
    });
    let first = c.b.ptr_offset(descriptor, 4 * i64::from(header::STEPS));
    c.b.store(first, s, state::PC);
    let (next, stop) = (c.b.block("step"), c.b.block("stop"));
    c.b.jump(next, &[]);
    c.b.switch_to(next);
    let word = c.take_words(s, 1);
    let op = c.word(word, 0);
    for (code, routine) in [(Op::Occurrence, Routine::Occurrence), (Op::Header, Routine::Header)] {
        c.case(op, code as u32, next, |c| {
            let raised = c.call_value(routine, &[s]);
            let raised = c.b.compare_const(Cond::Ne, raised, 0);
            c.b.branch(raised, stop, next);
        });
    }
    c.case(op, Op::Context as u32, next, |c| {
        let words = c.take_words(s, 1);
        let slot = c.word(words, 0);
        let slot = c.slot(s, slot);
        c.b.store(handle, slot, 0);
    });
    c.case(op, Op::Scalar as u32, next, |c| scalar(c, s));
    c.case(op, Op::Compact as u32, next, |c| compact(c, s));
    c.case(op, Op::Data as u32, next, |c| data(c, s));
    c.case(op, Op::Settle as u32, next, |c| settle(c, s));
    c.case(op, Op::Constraint as u32, next, |c| constraint(c, s));
    c.case(op, Op::Argument as u32, next, |c| evaluate_to_explain(c, s));
    // Reached only if the wrapper saw a fault that is none: a bug in lowering.
    let subject = c.literal("check");
    c.begin_call(s, "Unexplained failed ", subject);
    let code = c.raise(s, "InternalError");
    c.b.ret(Some(code));
    c.b.switch_to(stop);
    c.return_code(-1);
}

/// The number of arguments.
fn count(c: &mut Code<'_>, s: Value, num_args: Value, descriptor: Value) {
    let found = c.b.convert(Convert::Sext, num_args, Type::I64);
    let expected = c.word(descriptor, header::COUNT);
    let differs = c.b.compare(Cond::Ne, found, expected);
    c.when(differs, |c| {
        let subject = c.literal("number of arguments");
        c.begin_call(s, "Mismatched ", subject);
        c.say(s, ", expected ");
        c.call(Routine::PutInt, &[s, expected]);
        c.say(s, " but got ");
        c.call(Routine::PutInt, &[s, found]);
        let code = c.raise(s, "TypeError");
        c.b.ret(Some(code));
    });
}

fn scalar(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 13);
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
        let argument = c.word(words, 4);
        c.begin(s, "Mismatched type of ", words, "", argument);
        c.say_text(s, words, 9);
        c.say(s, " but got ");
        c.call(Routine::PutType, &[s, arg]);
        let code = c.raise(s, "TypeError");
        c.b.ret(Some(code));
    });
}

fn range(c: &mut Code<'_>, s: Value, words: Value, value: Value) {
    let (bits, signed) = (c.word(words, 7), c.word(words, 8));
    let fits = fits(c, value, bits, signed);
    let overflow = c.b.not(fits);
    c.when(overflow, |c| {
        let argument = c.word(words, 4);
        c.begin(s, "Out of range ", words, "", argument);
        c.say_text(s, words, 9);
        c.say(s, " but got ");
        c.call(Routine::PutInt, &[s, value]);
        let code = c.raise(s, "ValueError");
        c.b.ret(Some(code));
    });
}

fn compact(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 6);
    let slot = slot_of(c, s, words);
    let dl = c.b.load(Type::Ptr, slot, 0);
    let elements = c.call_value(Routine::NotEmpty, &[dl]);
    let elements = c.b.compare_const(Cond::Ne, elements, 0);
    c.when(elements, |c| {
        let ndim = c.ndim(dl);
        c.count_to(ndim, |c, dim| {
            let extent = c.extent(dl, dim);
            let several = c.b.compare_const(Cond::Ne, extent, 1);
            let stride = c.call_value(Routine::StrideAt, &[dl, dim]);
            let expected = c.call_value(Routine::CompactAt, &[dl, dim]);
            let unlike = c.b.compare(Cond::Ne, stride, expected);
            let fault = c.b.and(several, unlike);
            c.when(fault, |c| {
                begin_at(c, s, words, ".strides[", dim);
                c.call(Routine::PutInt, &[s, expected]);
                c.say(s, " (contiguous) but got ");
                c.call(Routine::PutInt, &[s, stride]);
                let code = c.raise(s, "ValueError");
                c.b.ret(Some(code));
            });
        });
    });
}

fn data(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 8);
    let slot = slot_of(c, s, words);
    let dl = c.b.load(Type::Ptr, slot, 0);
    let pointer = c.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let null = c.b.compare_const(Cond::Eq, pointer, 0);
    c.when(null, |c| {
        let elements = c.call_value(Routine::NotEmpty, &[dl]);
        let elements = c.b.compare_const(Cond::Ne, elements, 0);
        c.when(elements, |c| {
            non_null(c, s, words, ".data");
            let code = c.raise(s, "ValueError");
            c.b.ret(Some(code));
        });
    });
    let address = c.first_element(dl);
    let address = c.b.convert(Convert::PtrToInt, address, Type::I64);
    let mask = c.b.load_aligned(Type::I64, words, 24, 4);
    let remainder = c.b.and(address, mask);
    let fault = c.b.compare_const(Cond::Ne, remainder, 0);
    c.when(fault, |c| {
        let argument = c.word(words, 4);
        c.begin(s, "Misaligned ", words, ".data", argument);
        c.say(s, "a multiple of ");
        let align = c.b.binary_const(Binary::Add, mask, 1);
        c.call(Routine::PutUnsigned, &[s, align]);
        c.say(s, " bytes but got remainder ");
        c.call(Routine::PutUnsigned, &[s, remainder]);
        let code = c.raise(s, "ValueError");
        c.b.ret(Some(code));
    });
}

/// A symbol that no stride has bound takes its compact value.
fn settle(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 3);
    evaluate_to_explain(c, s);
    let coefficient = c.b.load(Type::I64, s, state::STACK);
    evaluate_to_explain(c, s);
    let constant = c.b.load(Type::I64, s, state::STACK);
    let symbol = c.word(words, 0);
    let origin = c.origin(s, symbol);
    let bound = c.b.load(Type::I64, origin, 0);
    let free = c.b.compare_const(Cond::Eq, bound, 0);
    c.when(free, |c| {
        let one = c.b.i64(1);
        c.b.store(one, origin, 0);
        let tensor = c.word(words, 1);
        let tensor = c.slot(s, tensor);
        let dl = c.b.load(Type::Ptr, tensor, 0);
        let dim = c.word(words, 2);
        let compact = c.call_value(Routine::CompactAt, &[dl, dim]);
        let difference = c.b.binary(Binary::Sub, compact, constant);
        let zero = c.b.compare_const(Cond::Eq, coefficient, 0);
        let divisor = c.b.select(zero, one, coefficient);
        let (value, _) = super::evaluate::divide(c, difference, divisor);
        let slot = c.slot(s, symbol);
        c.b.store(value, slot, 0);
    });
}

/// Evaluates an expression; returns -1 if that has raised.
fn evaluate_to_explain(c: &mut Code<'_>, s: Value) {
    let raised = c.call_value(Routine::Evaluate, &[s]);
    let raised = c.b.compare_const(Cond::Ne, raised, 0);
    c.when(raised, |c| c.return_code(-1));
}

fn constraint(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 5);
    skip_leaves(c, s, words, 4);
    evaluate_to_explain(c, s);
    let holds = c.b.load(Type::I64, s, state::STACK);
    let violated = c.b.compare_const(Cond::Eq, holds, 0);
    c.when(violated, |c| {
        let ([text, length], subject) = (c.text_at(s, words, 0), c.text_at(s, words, 2));
        c.call(Routine::BeginCall, &[s, text, length, subject[0], subject[1]]);
        let leaves = c.b.ptr_offset(words, 16);
        c.call(Routine::Leaves, &[s, leaves]);
        let code = c.raise(s, "ValueError");
        c.b.ret(Some(code));
    });
}
