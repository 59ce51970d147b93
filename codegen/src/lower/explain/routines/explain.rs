//! Redoing the checks of a call one by one, and raising the first fault.

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Op, header};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};
use crate::lower::explain::routines::loops;

/// `(handle, args, num_args, descriptor)`: for arguments that have a fault.
pub(crate) fn explain(c: &mut Code<'_>) {
    let args = [0, 1, 2, 3].map(|i| c.b.param(i));
    let raised = c.call_value(Routine::Redo, &args);
    let some = c.b.compare_const(Cond::Ne, raised, 0);
    c.when(some, |c| c.b.ret(Some(raised)));
    // Reached only if the wrapper saw a fault that is none: a bug in lowering.
    let s = c.new_state(args[3]);
    let subject = c.literal("check");
    c.begin_call(s, "Unexplained failed ", subject);
    let code = c.raise(s, "InternalError");
    c.b.ret(Some(code));
}

/// `(handle, args, num_args, descriptor)`
pub(crate) fn redo(c: &mut Code<'_>) {
    let [handle, args, num_args, descriptor] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let s = c.new_state(descriptor);
    c.b.store(handle, s, state::HANDLE);
    c.b.store(args, s, state::ARGS);
    let num_args = c.b.convert(Convert::Sext, num_args, Type::I64);
    c.b.store(num_args, s, state::NUM_ARGS);
    count(c, s, num_args, descriptor);
    let zero = c.b.i64(0);
    c.b.store(zero, s, state::DEVICE_COUNT);
    let symbols = c.word(descriptor, header::SYMBOLS);
    c.count_to(symbols, |c, symbol| {
        let origin = c.origin(s, symbol);
        c.b.store(zero, origin, 0);
    });
    let slots = c.word(descriptor, header::SLOTS);
    let null = c.b.null();
    c.count_to(slots, |c, slot| c.locate(s, slot, null));
    let first = c.b.ptr_offset(descriptor, 4 * i64::from(header::STEPS));
    c.b.store(first, s, state::PC);
    let raised = c.call_value(Routine::Interpret, &[s]);
    let passed = c.b.compare_const(Cond::Eq, raised, 0);
    c.when(passed, |c| c.return_code(0));
    c.return_code(-1);
}

/// `(state)`: steps from the program counter to their end; 1 if that has raised.
pub(crate) fn interpret(c: &mut Code<'_>) {
    let s = c.state();
    let (next, stop) = (c.b.block("step"), c.b.block("stop"));
    c.b.jump(next, &[]);
    c.b.switch_to(next);
    let word = c.take_words(s, 1);
    let op = c.word(word, 0);
    c.step(op, Op::Argument, next, |c| {
        let words = c.take_words(s, 2);
        let args = c.b.load(Type::Ptr, s, state::ARGS);
        let index = c.word(words, 1);
        let any = c.argument(args, index);
        let slot = c.word(words, 0);
        c.locate(s, slot, any);
    });
    for (code, routine) in [
        (Op::Scalar, Routine::Scalar),
        (Op::Header, Routine::Header),
        (Op::Occurrence, Routine::Occurrence),
        (Op::Compact, Routine::Compact),
        (Op::Data, Routine::Data),
        (Op::Settle, Routine::SettleSymbol),
        (Op::Type, Routine::Type),
        (Op::Instance, Routine::Instance),
        (Op::Size, Routine::Size),
        (Op::Dtype, Routine::Dtype),
        (Op::Device, Routine::Device),
        (Op::Numbers, Routine::CheckNumbers),
        (Op::Literal, Routine::Literal),
        (Op::Each, Routine::Each),
        (Op::Entries, Routine::Entries),
        (Op::OneOf, Routine::OneOf),
        (Op::Constraint, Routine::Constraint),
        (Op::Evaluate, Routine::Evaluate),
    ] {
        c.step(op, code, next, |c| {
            let raised = c.call_value(routine, &[s]);
            let raised = c.b.compare_const(Cond::Ne, raised, 0);
            c.b.branch(raised, stop, next);
        });
    }
    c.step(op, Op::Context, next, |c| {
        let words = c.take_words(s, 1);
        let slot = c.word(words, 0);
        let slot = c.slot(s, slot);
        let handle = c.b.load(Type::Ptr, s, state::HANDLE);
        c.b.store(handle, slot, 0);
    });
    c.step(op, Op::Element, next, |c| loops::element(c, s));
    c.step(op, Op::Present, next, |c| present(c, s));
    c.step(op, Op::Bound, next, |c| bound(c, s));
    c.return_code(0);
    c.b.switch_to(stop);
    c.return_code(1);
}

/// The number of arguments.
fn count(c: &mut Code<'_>, s: Value, found: Value, descriptor: Value) {
    let (least, most) =
        (c.word(descriptor, header::LEAST), c.signed_word(descriptor, header::MOST));
    let few = c.b.compare(Cond::Slt, found, least);
    let many = c.b.compare(Cond::Sgt, found, most);
    let limited = c.b.compare_const(Cond::Ne, most, -1);
    let many = c.b.and(many, limited);
    let fault = c.b.or(few, many);
    c.when(fault, |c| {
        let subject = c.literal("number of arguments");
        c.begin_call(s, "Mismatched ", subject);
        c.say(s, ", expected ");
        let unlimited = c.b.not(limited);
        c.when(unlimited, |c| c.say(s, "at least "));
        c.call(Routine::PutInt, &[s, least]);
        let range = c.b.compare(Cond::Ne, least, most);
        let range = c.b.and(range, limited);
        c.when(range, |c| {
            c.say(s, " to ");
            c.call(Routine::PutInt, &[s, most]);
        });
        c.say(s, " but got ");
        c.call(Routine::PutInt, &[s, found]);
        let code = c.raise(s, "TypeError");
        c.b.ret(Some(code));
    });
}

/// Skips what follows unless a value is there; one that is None has no other value.
fn present(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 2);
    let slot = c.word(words, 0);
    let there = c.is_some(s, slot);
    let absent = c.b.compare_const(Cond::Eq, there, 0);
    c.when(absent, |c| {
        let at = c.slot(s, slot);
        let zero = c.b.i64(0);
        c.b.store(zero, at, 0);
        c.skip(s, words, 1);
    });
}

/// Skips what follows unless a symbol is bound.
fn bound(c: &mut Code<'_>, s: Value) {
    let words = c.take_words(s, 2);
    let symbol = c.word(words, 0);
    let origin = c.origin(s, symbol);
    let origin = c.b.load(Type::I64, origin, 0);
    let free = c.b.compare_const(Cond::Eq, origin, 0);
    c.when(free, |c| c.skip(s, words, 1));
}

/// `(state)`: a comparison of the `where` clause; 1 if that has raised.
pub(crate) fn constraint(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, 5);
    c.skip(s, words, 4);
    c.evaluate_or_stop(s);
    let holds = c.b.load(Type::I64, s, state::STACK);
    let violated = c.b.compare_const(Cond::Eq, holds, 0);
    c.when(violated, |c| {
        let ([text, length], subject) = (c.text_at(s, words, 0), c.text_at(s, words, 2));
        c.call(Routine::BeginCall, &[s, text, length, subject[0], subject[1]]);
        let leaves = c.b.ptr_offset(words, 16);
        c.call(Routine::Leaves, &[s, leaves]);
        c.raise_and_stop(s, "ValueError");
    });
    c.return_code(0);
}
