//! Calls of functions of the FFI, of which some bodies have many.

use abi_spec::layout::ANY;
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Builder, Cond, Convert, Type};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::{Routine, named};
use crate::lower::value::write_any;

/// `(descriptor, site, callee, args, count, result)`: calls a function by its name, which is looked up once.
pub(crate) fn call_named(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, callee, args, count, result] = [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    let cache = b.load(Type::Ptr, callee, named::CACHE as i32);
    let known = b.atomic_load(Type::Ptr, cache, 0);
    let is_known = b.compare_const(Cond::Ne, known, 0);
    let look_up = |b: &mut Builder<'_>| {
        let name = b.ptr_offset(callee, named::NAME.into());
        let length = b.load(Type::I64, callee, named::LENGTH as i32);
        let context = b.load(Type::Ptr, callee, named::CONTEXT as i32);
        let context = b.load(Type::Ptr, context, 0);
        b.routine_value(Routine::LookUp, &[descriptor, site, name, length, cache, context])
    };
    let function = b.if_else(is_known, Type::Ptr, |_| known, look_up);
    let missing = b.compare_const(Cond::Eq, function, 0);
    b.return_if(missing, -1);
    let args = [descriptor, site, function, args, count, result];
    let status = b.routine_value(Routine::CallObject, &args);
    b.ret(Some(status));
}

/// `(descriptor, site, function, args, count, result)`: calls a function; a result at NULL is released. What a
/// callee that fails leaves in the place of its result is not ours.
pub(crate) fn call_object(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, function, args, count, result] = [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    let (own, zero) = (b.stack_slot(ANY.size, ANY.align), b.i64(0));
    let kept = b.compare_const(Cond::Ne, result, 0);
    let result = b.select(kept, result, own);
    write_any(b, result, TypeIndex::NONE, zero);
    let status = b.runtime(&runtime::FUNCTION_CALL, &[function, args, count, result]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        let none = b.i64(0);
        write_any(b, result, TypeIndex::NONE, none);
        let status = b.convert(Convert::Sext, status, Type::I64);
        let values = b.values(&[status]);
        let code = b.routine_value(Routine::FailAt, &[descriptor, site, values]);
        b.ret(Some(code));
    });
    b.return_if(kept, 0);
    let one = b.i64(1);
    b.routine(Routine::Release, &[own, one]);
    b.return_code(0);
}
