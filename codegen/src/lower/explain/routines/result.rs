//! Results that the kernel has written: checked, and handed on or released.

use abi_spec::layout::{ANY, OBJECT, any, object, seq_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::header;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;
use crate::resolve::accepted::MAX_SMALL;

/// Words of a type in the descriptor.
const TYPE_WORDS: u32 = 6;

/// `(descriptor, value, result)`: hands the value on if it is what was declared; its unused bytes are 0.
pub(crate) fn take_result(c: &mut Code<'_>) {
    let [descriptor, value, result] = [0, 1, 2].map(|i| c.b.param(i));
    let ok = c.call_value(Routine::Returnable, &[descriptor, value]);
    let wrong = c.b.compare_const(Cond::Eq, ok, 0);
    c.when(wrong, |c| {
        let code = c.call_value(Routine::RefuseResult, &[descriptor, value]);
        c.b.ret(Some(code));
    });
    let head = c.b.load(Type::I64, value, any::TYPE_INDEX.offset);
    let payload = used_payload(c, value);
    c.b.store(head, result, any::TYPE_INDEX.offset);
    c.b.store(payload, result, any::PAYLOAD.offset);
    c.return_code(0);
}

/// The payload without the bytes that mean nothing.
fn used_payload(c: &mut Code<'_>, value: Value) -> Value {
    let payload = c.b.load(Type::I64, value, any::PAYLOAD.offset);
    let used = c.variable(payload);
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let done = c.b.block("used");
    c.case(index, TypeIndex::NONE.0 as u32, done, |c| {
        let zero = c.b.i64(0);
        c.set(used, zero);
    });
    c.case(index, TypeIndex::BOOL.0 as u32, done, |c| {
        let truth = c.b.compare_const(Cond::Ne, payload, 0);
        let truth = c.b.widen_bool(truth, Type::I64);
        c.set(used, truth);
    });
    c.case(index, TypeIndex::DATA_TYPE.0 as u32, done, |c| {
        let word = c.b.binary_const(Binary::And, payload, 0xffff_ffff);
        c.set(used, word);
    });
    for small in [TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES] {
        c.case(index, small.0 as u32, done, |c| {
            let length = c.word(value, 1);
            let bits = c.b.binary_const(Binary::Shl, length, 3);
            let one = c.b.i64(1);
            let mask = c.b.binary(Binary::Shl, one, bits);
            let mask = c.b.binary_const(Binary::Sub, mask, 1);
            let text = c.b.binary(Binary::And, payload, mask);
            c.set(used, text);
        });
    }
    c.b.jump(done, &[]);
    c.b.switch_to(done);
    c.get(used)
}

/// `(descriptor, value)`: whether a value is what was declared.
pub(crate) fn returnable(c: &mut Code<'_>) {
    let [descriptor, value] = [0, 1].map(|i| c.b.param(i));
    let table = result_table(c, descriptor);
    let accepted = c.call_value(Routine::Accepts, &[table, value]);
    let refused = c.b.compare_const(Cond::Eq, accepted, 0);
    c.when(refused, |c| c.return_code(0));
    let excess = excess_length(c, value);
    let excess = c.b.compare_const(Cond::Ne, excess, 0);
    c.when(excess, |c| c.return_code(0));
    if_elements(c, table, value, |c, [elements, count, expected]| {
        let differs = other_count(c, count, expected);
        c.when(differs, |c| c.return_code(0));
        each_element(c, table, elements, [count, expected], |c, _, _, _| c.return_code(0));
    });
    c.return_code(1);
}

/// The declared type.
fn result_table(c: &mut Code<'_>, descriptor: Value) -> Value {
    let offset = c.word(descriptor, header::RESULT);
    c.b.ptr_add(descriptor, offset)
}

/// `(type, value)`: whether the type has this value's index, and there is an object where it says so.
pub(crate) fn accepts(c: &mut Code<'_>) {
    let [ty, value] = [0, 1].map(|i| c.b.param(i));
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let wide = c.b.convert(Convert::Sext, index, Type::I64);
    let masks = [0, 8].map(|at| c.b.load_aligned(Type::I64, ty, at, 4));
    let accepted = c.accepts(wide, masks);
    let missing = c.b.not(accepted);
    c.when(missing, |c| c.return_code(0));
    let is_object = c.b.compare_const(Cond::Sge, wide, TypeIndex::STATIC_OBJECT_BEGIN.0.into());
    c.when(is_object, |c| {
        let object = c.b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let null = c.b.compare_const(Cond::Eq, object, 0);
        c.when(null, |c| c.return_code(0));
        let own = c.b.load(Type::I32, object, object::TYPE_INDEX.offset);
        let other = c.b.compare(Cond::Ne, own, index);
        c.when(other, |c| c.return_code(0));
    });
    c.return_code(1);
}

/// What is too much in the word after the type index, and 0 where it is as it must be.
fn excess_length(c: &mut Code<'_>, value: Value) -> Value {
    let length = c.word(value, 1);
    let small = is_small(c, value);
    let fits = c.b.compare_const(Cond::Ule, length, MAX_SMALL);
    let fine = c.b.and(small, fits);
    let zero = c.b.i64(0);
    c.b.select(fine, zero, length)
}

fn is_small(c: &mut Code<'_>, value: Value) -> Value {
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let str = c.b.compare_const(Cond::Eq, index, TypeIndex::SMALL_STR.0.into());
    let bytes = c.b.compare_const(Cond::Eq, index, TypeIndex::SMALL_BYTES.0.into());
    c.b.or(str, bytes)
}

/// If the elements are checked and the value is a sequence, runs `body` with the address of its elements,
/// their number, and the number that is declared.
fn if_elements(
    c: &mut Code<'_>,
    table: Value,
    value: Value,
    body: impl FnOnce(&mut Code<'_>, [Value; 3]),
) {
    let expected = c.word(table, TYPE_WORDS);
    let checked = c.word(table, TYPE_WORDS + 1);
    let checked = c.b.compare_const(Cond::Ne, checked, 0);
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let array = c.b.compare_const(Cond::Eq, index, TypeIndex::ARRAY.0.into());
    let list = c.b.compare_const(Cond::Eq, index, TypeIndex::LIST.0.into());
    let sequence = c.b.or(array, list);
    let both = c.b.and(checked, sequence);
    c.when(both, |c| {
        let object = c.b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let cell = OBJECT.size as i32;
        let elements = c.b.load(Type::Ptr, object, cell + seq_cell::DATA.offset);
        let count = c.b.load(Type::I64, object, cell + seq_cell::SIZE.offset);
        body(c, [elements, count, expected]);
    });
}

/// Whether a number is declared, and it is another.
fn other_count(c: &mut Code<'_>, count: Value, expected: Value) -> Value {
    let fixed = c.b.compare_const(Cond::Ne, expected, u32::MAX.into());
    let differs = c.b.compare(Cond::Ne, count, expected);
    c.b.and(fixed, differs)
}

/// Runs `body` with the number, the type and the address of every element that its type does not accept.
fn each_element(
    c: &mut Code<'_>,
    table: Value,
    elements: Value,
    [count, expected]: [Value; 2],
    body: impl FnOnce(&mut Code<'_>, Value, Value, Value),
) {
    let fixed = c.b.compare_const(Cond::Ne, expected, u32::MAX.into());
    let fixed = c.b.widen_bool(fixed, Type::I64);
    let step = c.b.binary_const(Binary::Mul, fixed, 4 * i64::from(TYPE_WORDS));
    c.count_to(count, |c, at| {
        let offset = c.b.binary(Binary::Mul, at, step);
        let ty = c.b.ptr_add(table, offset);
        let ty = c.b.ptr_offset(ty, 4 * i64::from(TYPE_WORDS + 2));
        let offset = c.b.binary_const(Binary::Mul, at, ANY.size.into());
        let element = c.b.ptr_add(elements, offset);
        let accepted = c.call_value(Routine::Accepts, &[ty, element]);
        let refused = c.b.compare_const(Cond::Eq, accepted, 0);
        c.when(refused, |c| body(c, at, ty, element));
    });
}

/// `(descriptor, value)`: raises what is wrong with a value, and releases it; returns -1.
pub(crate) fn refuse_result(c: &mut Code<'_>) {
    let [descriptor, value] = [0, 1].map(|i| c.b.param(i));
    let s = c.new_state(descriptor);
    let table = result_table(c, descriptor);
    let raised = c.b.block("raised");
    let accepted = c.call_value(Routine::Accepts, &[table, value]);
    let refused = c.b.compare_const(Cond::Eq, accepted, 0);
    c.when(refused, |c| {
        let subject = c.literal("result");
        c.begin_call(s, "Mismatched type of ", subject);
        other_type(c, s, table, value);
        c.b.jump(raised, &[]);
    });
    let excess = excess_length(c, value);
    let wrong = c.b.compare_const(Cond::Ne, excess, 0);
    c.when(wrong, |c| {
        malformed(c, s, value, excess);
        c.b.jump(raised, &[]);
    });
    if_elements(c, table, value, |c, [elements, count, expected]| {
        let differs = other_count(c, count, expected);
        c.when(differs, |c| {
            let subject = c.literal("result.size");
            c.begin_call(s, "Mismatched ", subject);
            c.say(s, ", expected ");
            c.call(Routine::PutInt, &[s, expected]);
            c.say(s, " but got ");
            c.call(Routine::PutInt, &[s, count]);
            c.raise(s, "ValueError");
            c.b.jump(raised, &[]);
        });
        each_element(c, table, elements, [count, expected], |c, at, ty, element| {
            c.start(s);
            c.say(s, "Mismatched type of result[");
            c.call(Routine::PutInt, &[s, at]);
            c.say(s, "]");
            c.calling(s);
            other_type(c, s, ty, element);
            c.b.jump(raised, &[]);
        });
    });
    c.b.jump(raised, &[]);
    c.b.switch_to(raised);
    let one = c.b.i64(1);
    c.call(Routine::Release, &[value, one]);
    c.return_code(-1);
}

/// `, expected <type> but got <type of the value>`
fn other_type(c: &mut Code<'_>, s: Value, ty: Value, value: Value) {
    c.say(s, ", expected ");
    c.say_text(s, ty, 4);
    c.say(s, " but got ");
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let above = c.b.binary_const(Binary::Sub, index, TypeIndex::DL_TENSOR_PTR.0.into());
    let last = TypeIndex::BYTE_ARRAY_PTR.0 - TypeIndex::DL_TENSOR_PTR.0;
    let borrowed = c.b.compare_const(Cond::Ule, above, last.into());
    c.when(borrowed, |c| c.say(s, "a borrowed "));
    let done = c.b.block("said");
    let is_object = c.b.compare_const(Cond::Sge, index, TypeIndex::STATIC_OBJECT_BEGIN.0.into());
    c.when(is_object, |c| {
        let object = c.b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let null = c.b.compare_const(Cond::Eq, object, 0);
        c.when(null, |c| {
            c.say(s, "NULL");
            c.b.jump(done, &[]);
        });
        let own = c.b.load(Type::I32, object, object::TYPE_INDEX.offset);
        let other = c.b.compare(Cond::Ne, own, index);
        c.when(other, |c| {
            c.say(s, "type index ");
            let index = c.b.convert(Convert::Sext, index, Type::I64);
            c.call(Routine::PutInt, &[s, index]);
            c.say(s, " of an object with type index ");
            let own = c.b.convert(Convert::Sext, own, Type::I64);
            c.call(Routine::PutInt, &[s, own]);
            c.b.jump(done, &[]);
        });
    });
    c.call(Routine::PutType, &[s, value]);
    c.b.jump(done, &[]);
    c.b.switch_to(done);
    c.raise(s, "TypeError");
}

/// The word after the type index is wrong.
fn malformed(c: &mut Code<'_>, s: Value, value: Value, excess: Value) {
    let (small, said) = (is_small(c, value), c.b.block("said"));
    c.when(small, |c| {
        let subject = c.literal("result.small_str_len");
        c.begin_call(s, "Mismatched ", subject);
        c.say(s, ", expected at most ");
        let most = c.b.i64(MAX_SMALL);
        c.call(Routine::PutInt, &[s, most]);
        c.b.jump(said, &[]);
    });
    let subject = c.literal("result.zero_padding");
    c.begin_call(s, "Mismatched ", subject);
    c.say(s, ", expected 0");
    c.b.jump(said, &[]);
    c.b.switch_to(said);
    c.say(s, " but got ");
    c.call(Routine::PutUnsigned, &[s, excess]);
    c.raise(s, "ValueError");
}

/// `(values, count)`: gives up the objects among these values.
pub(crate) fn release(c: &mut Code<'_>) {
    let [values, count] = [0, 1].map(|i| c.b.param(i));
    c.count_to(count, |c, at| {
        let offset = c.b.binary_const(Binary::Mul, at, ANY.size.into());
        let value = c.b.ptr_add(values, offset);
        let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
        let begin = TypeIndex::STATIC_OBJECT_BEGIN.0;
        let is_object = c.b.compare_const(Cond::Sge, index, begin.into());
        c.when(is_object, |c| {
            // NULL is fine.
            let object = c.b.load(Type::Ptr, value, any::PAYLOAD.offset);
            let release = crate::lower::runtime(c.b.module, &runtime::OBJECT_DEC_REF);
            c.b.call(release, &[object]);
        });
    });
    c.b.ret(None);
}

/// `(descriptor, result)`
pub(crate) fn fail_result(c: &mut Code<'_>) {
    let [descriptor, value] = [0, 1].map(|i| c.b.param(i));
    let s = c.new_state(descriptor);
    let subject = c.literal("result");
    c.begin_call(s, "Out of range ", subject);
    c.say(s, ", expected int64 but got ");
    c.call(Routine::PutUnsigned, &[s, value]);
    let code = c.raise(s, "OverflowError");
    c.b.ret(Some(code));
}
