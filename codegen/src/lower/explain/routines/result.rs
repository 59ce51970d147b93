//! Values that somebody else has made: whether they are owned, how they are copied, and released.

use abi_spec::layout::{any, object};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::resolve::accepted::{Accepted, MAX_SMALL, owned};

/// `(from, to)`: what is copied is the value, its unused bytes are 0.
pub(crate) fn copy_any(b: &mut Builder<'_>, _: Used) {
    let [from, to] = [0, 1].map(|i| b.param(i));
    let rvalue = b.load(Type::I32, from, any::TYPE_INDEX.offset);
    let rvalue = b.is_one_of(rvalue, &[TypeIndex::OBJECT_RVALUE_REF]);
    b.if_then(rvalue, |b| {
        let (index, object) = b.borrow(from);
        b.store(index, to, any::TYPE_INDEX.offset);
        b.store(object, to, any::PAYLOAD.offset);
        b.ret(None);
    });
    let index = b.load(Type::I32, from, any::TYPE_INDEX.offset);
    let small = b.is_one_of(index, &[TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES]);
    let head = b.load(Type::I64, from, any::TYPE_INDEX.offset);
    let plain = b.binary_const(Binary::And, head, 0xffff_ffff);
    let head = b.select(small, head, plain);
    let payload = used_payload(b, from);
    b.store(head, to, any::TYPE_INDEX.offset);
    b.store(payload, to, any::PAYLOAD.offset);
    b.ret(None);
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
            // What claims to be longer than it can be is copied as it is.
            let length = b.unsigned(value, any::SMALL_LEN.offset);
            let small = b.compare_const(Cond::Ule, length, MAX_SMALL);
            let zero = b.i64(0);
            let length = b.select(small, length, zero);
            let bits = b.binary_const(Binary::Shl, length, 3);
            let one = b.i64(1);
            let mask = b.binary(Binary::Shl, one, bits);
            let mask = b.binary_const(Binary::Sub, mask, 1);
            let used = b.and(payload, mask);
            [b.select(small, used, payload)]
        });
    }
    b.jump(done, &[payload]);
    b.switch_to(done);
    used
}

/// What is wrong with a value that should be owned.
struct Faults {
    /// `Bool`s: borrowed, or an object that is none.
    foreign: Value,
    /// The second word of the value is more than it may be.
    long: Value,
    /// It is that of small text or bytes.
    small: Value,
    most: Value,
    length: Value,
}

fn faults(b: &mut Builder<'_>, value: Value) -> Faults {
    let index = b.signed(value, any::TYPE_INDEX.offset);
    let Accepted { low, high } = owned();
    let masks = [low, high].map(|mask| b.i64(mask as i64));
    let accepted = b.accepts(index, masks);
    let is_object = b.is_object(index);
    let done = b.block("checked");
    let foreign = b.block_param(done, Type::Bool, "foreign");
    let not_accepted = b.not(accepted);
    let both = b.and(accepted, is_object);
    b.if_then(both, |b| {
        let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let some = b.compare_const(Cond::Ne, object, 0);
        b.if_then(some, |b| {
            let own = b.signed(object, object::TYPE_INDEX.offset);
            let other = b.compare(Cond::Ne, own, index);
            b.jump(done, &[other]);
        });
        let null = b.constant(Type::Bool, 1);
        b.jump(done, &[null]);
    });
    b.jump(done, &[not_accepted]);
    b.switch_to(done);
    let length = b.unsigned(value, any::SMALL_LEN.offset);
    let small = b.is_one_of(index, &[TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES]);
    let (zero, most) = (b.i64(0), b.i64(MAX_SMALL));
    let most = b.select(small, most, zero);
    let long = b.compare(Cond::Ugt, length, most);
    Faults { foreign, long, small, most, length }
}

/// `(value)`: 1 if a value is owned, there is an object where it says so, and the word after the type index is 0, or
/// a length that there is room for.
pub(crate) fn is_owned(b: &mut Builder<'_>, _: Used) {
    let value = b.param(0);
    let Faults { foreign, long, .. } = faults(b, value);
    let fault = b.or(foreign, long);
    b.return_if(fault, 0);
    b.return_code(1);
}

/// `(state)`: the same as a step.
pub(crate) fn check_owned(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Owned>();
    let head = step.head(b);
    let value = b.any_of(s, head);
    let (head, expected) = (step.head(b).address(b), step.expected(b).address(b));
    let Faults { foreign, long, small, most, length } = faults(b, value);
    b.refuse(s, foreign, Complaint::Foreign, &[head, expected, value]);
    b.if_then(long, |b| {
        let complaint = b.either(small, Complaint::SmallLength, Complaint::Padding);
        b.complain_of(s, complaint, &[head, most, length]);
    });
    b.return_code(0);
}

/// `(descriptor, site, value)`: text is copied, an object gets an owner more; a `DLTensor*` cannot be owned.
pub(crate) fn own(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, value] = [0, 1, 2].map(|i| b.param(i));
    let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let is_object = b.is_object(index);
    b.if_then(is_object, |b| {
        let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
        b.runtime(&runtime::OBJECT_INC_REF, &[object]);
        b.return_code(0);
    });
    let tensor = b.is_one_of(index, &[TypeIndex::DL_TENSOR_PTR]);
    b.if_then(tensor, |b| b.fail_with(descriptor, site, Complaint::Borrowed, &[]));
    let raw = b.is_one_of(index, &[TypeIndex::RAW_STR, TypeIndex::BYTE_ARRAY_PTR]);
    let plain = b.not(raw);
    b.return_if(plain, 0);
    let status = b.runtime(&runtime::ANY_VIEW_TO_OWNED_ANY, &[value, value]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        let name = b.text(runtime::ANY_VIEW_TO_OWNED_ANY.name);
        b.fail_call([descriptor, site], name, status);
        b.return_code(-1);
    });
    b.return_code(0);
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
