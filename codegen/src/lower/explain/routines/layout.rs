//! Explaining strides, data and alignment.

use abi_spec::layout::dl_tensor;

use crate::ir::{Binary, Cond, Convert, Type};
use crate::lower::explain::codes::head;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};
use crate::lower::explain::routines::evaluate::divide;
use crate::lower::explain::routines::header::{begin_at, non_null, slot_of};

/// `(state)`: strides that must be compact; 1 if that has raised.
pub(crate) fn compact(c: &mut Code<'_>) {
    let s = c.state();
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
                c.raise_and_stop(s, "ValueError");
            });
        });
    });
    c.return_code(0);
}

/// `(state)`: data pointer and alignment; 1 if that has raised.
pub(crate) fn data(c: &mut Code<'_>) {
    let s = c.state();
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
            c.raise_and_stop(s, "ValueError");
        });
    });
    let address = c.first_element(dl);
    let address = c.b.convert(Convert::PtrToInt, address, Type::I64);
    let mask = c.b.load_aligned(Type::I64, words, 24, 4);
    let remainder = c.b.and(address, mask);
    let fault = c.b.compare_const(Cond::Ne, remainder, 0);
    c.when(fault, |c| {
        let argument = c.word(words, head::ARGUMENT);
        c.begin(s, "Misaligned ", words, ".data", argument);
        c.say(s, "a multiple of ");
        let align = c.b.binary_const(Binary::Add, mask, 1);
        c.call(Routine::PutUnsigned, &[s, align]);
        c.say(s, " bytes but got remainder ");
        c.call(Routine::PutUnsigned, &[s, remainder]);
        c.raise_and_stop(s, "ValueError");
    });
    c.return_code(0);
}

/// `(state)`: a symbol that no stride has bound takes its compact value; 1 if that has raised.
pub(crate) fn settle(c: &mut Code<'_>) {
    let s = c.state();
    let words = c.take_words(s, 3);
    c.evaluate_or_stop(s);
    let coefficient = c.b.load(Type::I64, s, state::STACK);
    c.evaluate_or_stop(s);
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
        let (value, _) = divide(c, difference, divisor);
        let slot = c.slot(s, symbol);
        c.b.store(value, slot, 0);
    });
    c.return_code(0);
}
