//! Results that the kernel has written: checked, and handed on or released.

use abi_spec::layout::{any, object, seq_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Header, Type as TypeRecord, Used, Written};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::schema::{At, Part};
use crate::resolve::accepted::MAX_SMALL;

/// `(descriptor, value, result)`: hands the value on if it is what was declared; its unused bytes are 0.
pub(crate) fn take_result(b: &mut Builder<'_>, _: Used) {
    let [descriptor, value, result] = [0, 1, 2].map(|i| b.param(i));
    let quiet = b.quiet_state();
    let wrong = b.ask(Routine::CheckResult, &[quiet, descriptor, value]);
    b.if_then(wrong, |b| {
        let code = b.routine_value(Routine::RefuseResult, &[descriptor, value]);
        b.ret(Some(code));
    });
    let head = b.load(Type::I64, value, any::TYPE_INDEX.offset);
    let payload = used_payload(b, value);
    b.store(head, result, any::TYPE_INDEX.offset);
    b.store(payload, result, any::PAYLOAD.offset);
    b.return_code(0);
}

/// The payload without the bytes that mean nothing.
fn used_payload(b: &mut Builder<'_>, value: Value) -> Value {
    let payload = b.load(Type::I64, value, any::PAYLOAD.offset);
    let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let done = b.block("used");
    let used = b.block_param(done, Type::I64, "used");
    b.case(index, TypeIndex::NONE.0 as u32, done, |b| [b.i64(0)]);
    b.case(index, TypeIndex::BOOL.0 as u32, done, |b| {
        let truth = b.compare_const(Cond::Ne, payload, 0);
        [b.truth(truth)]
    });
    b.case(index, TypeIndex::DATA_TYPE.0 as u32, done, |b| {
        [b.binary_const(Binary::And, payload, 0xffff_ffff)]
    });
    for small in [TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES] {
        b.case(index, small.0 as u32, done, |b| {
            let length = b.unsigned(value, any::SMALL_LEN.offset);
            let bits = b.binary_const(Binary::Shl, length, 3);
            let one = b.i64(1);
            let mask = b.binary(Binary::Shl, one, bits);
            let mask = b.binary_const(Binary::Sub, mask, 1);
            [b.and(payload, mask)]
        });
    }
    b.jump(done, &[payload]);
    b.switch_to(done);
    used
}

/// `(state, descriptor, value)`: complains unless a value is what was declared.
pub(crate) fn check_result(b: &mut Builder<'_>, _: Used) {
    let [s, descriptor, value] = [0, 1, 2].map(|i| b.param(i));
    let header = At::<Header>::new(descriptor);
    let (offset, texts) = (header.written(b), header.texts(b));
    let inside = b.compare(Cond::Ult, offset, texts);
    b.unless(inside, |b| b.complain(s, Complaint::Damaged, &[]));
    let written = At::<Written>::new(b.ptr_add(descriptor, offset));
    let ty = written.ty(b).address(b);
    let accepted = b.ask(Routine::Accepts, &[ty, value]);
    b.unless(accepted, |b| {
        let expected = At::<TypeRecord>::new(ty).expected(b).address(b);
        b.complain(s, Complaint::ResultType, &[expected, value]);
    });
    padding(b, s, value);
    let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let sequence = b.is_one_of(index, &[TypeIndex::ARRAY, TypeIndex::LIST]);
    let checked = written.checked(b);
    let both = b.and(checked, sequence);
    b.if_then(both, |b| elements(b, s, written, value));
    b.return_code(0);
}

/// The word after the type index is 0, or a length that there is room for.
fn padding(b: &mut Builder<'_>, s: Value, value: Value) {
    let length = b.unsigned(value, any::SMALL_LEN.offset);
    let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let small = b.is_one_of(index, &[TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES]);
    let (zero, most) = (b.i64(0), b.i64(MAX_SMALL));
    let most = b.select(small, most, zero);
    let long = b.compare(Cond::Ugt, length, most);
    b.if_then(long, |b| {
        let complaint = b.either(small, Complaint::ResultSmall, Complaint::ResultPadding);
        b.complain_of(s, complaint, &[most, length]);
    });
}

/// The elements of a sequence: how many, and each.
fn elements(b: &mut Builder<'_>, s: Value, written: At<Written>, value: Value) {
    let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
    let elements = b.load(Type::Ptr, object, seq_cell::DATA.in_object());
    let count = b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let expected = written.count(b);
    let fixed = b.compare_const(Cond::Ne, expected, -1);
    let differs = b.compare(Cond::Ne, count, expected);
    let wrong = b.and(fixed, differs);
    b.refuse(s, wrong, Complaint::ResultSize, &[expected, count]);
    // Without a number one type is that of all elements.
    let each = b.truth(fixed);
    let step = b.binary_const(Binary::Mul, each, i64::from(4 * TypeRecord::WORDS));
    let types = written.end(b);
    b.count_to(count, |b, at| {
        let offset = b.binary(Binary::Mul, at, step);
        let ty = b.ptr_add(types, offset);
        let element = b.any_at(elements, at);
        let accepted = b.ask(Routine::Accepts, &[ty, element]);
        b.unless(accepted, |b| {
            let expected = At::<TypeRecord>::new(ty).expected(b).address(b);
            b.complain(s, Complaint::ElementType, &[at, expected, element]);
        });
    });
}

/// `(type, value)`: 1 if the type has this value's index, and there is an object where it says so.
pub(crate) fn accepts(b: &mut Builder<'_>, _: Used) {
    let [ty, value] = [0, 1].map(|i| b.param(i));
    let ty = At::<TypeRecord>::new(ty);
    let index = b.signed(value, any::TYPE_INDEX.offset);
    let masks = [ty.low(b), ty.high(b)];
    let accepted = b.accepts(index, masks);
    let missing = b.not(accepted);
    b.return_if(missing, 0);
    let is_object = b.is_object(index);
    b.if_then(is_object, |b| {
        let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let null = b.compare_const(Cond::Eq, object, 0);
        b.return_if(null, 0);
        let own = b.signed(object, object::TYPE_INDEX.offset);
        let other = b.compare(Cond::Ne, own, index);
        b.return_if(other, 0);
    });
    b.return_code(1);
}

/// `(descriptor, value)`: raises what is wrong with a value, and releases it; returns -1.
pub(crate) fn refuse_result(b: &mut Builder<'_>, _: Used) {
    let [descriptor, value] = [0, 1].map(|i| b.param(i));
    let s = b.state_slot(0);
    b.routine(Routine::Open, &[s, descriptor]);
    b.routine(Routine::CheckResult, &[s, descriptor, value]);
    let one = b.i64(1);
    b.routine(Routine::Leave, &[value, one]);
    b.return_code(-1);
}

/// `(state, any)`: how messages print the type of a value that a kernel has written.
pub(crate) fn put_written(b: &mut Builder<'_>, _: Used) {
    let [s, value] = [0, 1].map(|i| b.param(i));
    let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let above = b.binary_const(Binary::Sub, index, TypeIndex::DL_TENSOR_PTR.0.into());
    let last = TypeIndex::BYTE_ARRAY_PTR.0 - TypeIndex::DL_TENSOR_PTR.0;
    let borrowed = b.compare_const(Cond::Ule, above, last.into());
    b.if_then(borrowed, |b| b.say(s, "a borrowed "));
    let is_object = b.is_object(index);
    b.if_then(is_object, |b| {
        let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let null = b.compare_const(Cond::Eq, object, 0);
        b.if_then(null, |b| {
            b.say(s, "NULL");
            b.ret(None);
        });
        let own = b.load(Type::I32, object, object::TYPE_INDEX.offset);
        let other = b.compare(Cond::Ne, own, index);
        b.if_then(other, |b| {
            let [index, own] = [index, own].map(|i| b.convert(Convert::Sext, i, Type::I64));
            b.say(s, "type index ");
            b.routine(Routine::PutInt, &[s, index]);
            b.say(s, " of an object with type index ");
            b.routine(Routine::PutInt, &[s, own]);
            b.ret(None);
        });
    });
    b.routine(Routine::PutType, &[s, value]);
    b.ret(None);
}

/// `(values, count)`: gives up the objects among these values.
pub(crate) fn release(b: &mut Builder<'_>, _: Used) {
    let [values, count] = [0, 1].map(|i| b.param(i));
    b.count_to(count, |b, at| {
        let value = b.any_at(values, at);
        let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
        let is_object = b.is_object(index);
        b.if_then(is_object, |b| {
            // NULL is fine.
            let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
            let release = crate::lower::runtime(b.module, &runtime::OBJECT_DEC_REF);
            b.call(release, &[object]);
        });
    });
    b.ret(None);
}

/// `(values, count)`: gives up the objects among values after something has failed. Their deleters may overwrite
/// the error in the thread's slot, so it is set again.
pub(crate) fn leave(b: &mut Builder<'_>, _: Used) {
    let args = [0, 1].map(|i| b.param(i));
    let error = b.take_error();
    b.routine(Routine::Release, &args);
    let some = b.compare_const(Cond::Ne, error, 0);
    b.if_then(some, |b| b.set_raised(error));
    b.ret(None);
}
