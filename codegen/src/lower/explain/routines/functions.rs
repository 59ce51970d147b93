//! Functions of the FFI that are found by name, and what those of the runtime make.

use abi_spec::layout::{ANY, BYTE_ARRAY, any, byte_array};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Builder, Cond, Type, Value};
use crate::lower::explain::codes::Used;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::value::write_any;

/// `(descriptor, site, name, length, cache, context)`: a function of the imports is borrowed from the module that has it;
/// one of the registry is kept. The name ends with a NUL. Of several threads one fills the cache.
pub(crate) fn look_up(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, name, length, cache, context] = [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    let at = [descriptor, site];
    let (null, out) = (b.null(), b.stack_slot(8, 8));
    b.store(null, out, 0);
    let imports = b.compare_const(Cond::Ne, context, 0);
    b.if_then(imports, |b| {
        let status = b.runtime(&runtime::ENV_MOD_LOOKUP_FROM_IMPORTS, &[context, name, out]);
        let failed = b.compare_const(Cond::Ne, status, 0);
        b.if_then(failed, |b| not_found(b, at, [name, length], status));
        let function = b.load(Type::Ptr, out, 0);
        let some = b.compare_const(Cond::Ne, function, 0);
        b.if_then(some, |b| {
            b.atomic_store(function, cache, 0);
            b.ret(Some(function));
        });
    });
    let array = b.byte_array([name, length]);
    let status = b.runtime(&runtime::FUNCTION_GET_GLOBAL, &[array, out]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| not_found(b, at, [name, length], status));
    let function = b.load(Type::Ptr, out, 0);
    let some = b.compare_const(Cond::Ne, function, 0);
    b.unless(some, |b| {
        b.say_at(descriptor, site, Complaint::Missing, &[name, length]);
        b.null_return();
    });
    let null = b.null();
    let found = b.compare_exchange(cache, null, function);
    let first = b.compare_const(Cond::Eq, found, 0);
    b.if_then(first, |b| b.ret(Some(function)));
    b.release_object(function);
    b.ret(Some(found));
}

/// Raises what the runtime has raised, or that it failed, and returns NULL.
fn not_found(b: &mut Builder<'_>, at: [Value; 2], name: [Value; 2], status: Value) {
    b.fail_call(at, name, status);
    b.null_return();
}

impl Builder<'_> {
    fn null_return(&mut self) {
        let null = self.null();
        self.ret(Some(null));
    }

    /// The address of a `TVMFFIByteArray` on the stack.
    pub(crate) fn byte_array(&mut self, [data, size]: [Value; 2]) -> Value {
        let array = self.stack_slot(BYTE_ARRAY.size, BYTE_ARRAY.align);
        self.store(data, array, byte_array::DATA.offset);
        self.store(size, array, byte_array::SIZE.offset);
        array
    }
}

/// `(descriptor, site, values, count, result)`: an array of values, which it shares.
pub(crate) fn make_array(b: &mut Builder<'_>, _: Used) {
    made(b, "ffi.Array", TypeIndex::ARRAY);
}

/// `(descriptor, site, values, count, result)`: a shape of values that are integers.
pub(crate) fn make_shape(b: &mut Builder<'_>, _: Used) {
    made(b, "ffi.Shape", TypeIndex::SHAPE);
}

fn made(b: &mut Builder<'_>, name: &str, ty: TypeIndex) {
    let [descriptor, site, values, count, result] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let [name, length] = b.text(name);
    let args = [descriptor, site, name, length, values, count, result];
    let code = b.routine_value(Routine::Make, &args);
    let failed = b.compare_const(Cond::Ne, code, 0);
    b.if_then(failed, |b| b.ret(Some(code)));
    let index = b.load(Type::I32, result, any::TYPE_INDEX.offset);
    let right = b.compare_const(Cond::Eq, index, ty.0.into());
    b.unless(right, |b| {
        let zero = b.i32(0);
        b.fail_call([descriptor, site], [name, length], zero);
        let one = b.i64(1);
        b.routine(Routine::Leave, &[result, one]);
        let none = b.i64(0);
        write_any(b, result, TypeIndex::NONE, none);
        b.return_code(-1);
    });
    b.return_code(0);
}

/// `(descriptor, site, name, length, values, count, result)`: calls a function of the registry.
pub(crate) fn make(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, name, length, values, count, result] =
        [0, 1, 2, 3, 4, 5, 6].map(|i| b.param(i));
    let out = b.stack_slot(8, 8);
    let (null, zero) = (b.null(), b.i64(0));
    b.store(null, out, 0);
    write_any(b, result, TypeIndex::NONE, zero);
    let array = b.byte_array([name, length]);
    let status = b.runtime(&runtime::FUNCTION_GET_GLOBAL, &[array, out]);
    let function = b.load(Type::Ptr, out, 0);
    let some = b.compare_const(Cond::Ne, function, 0);
    let call = |b: &mut Builder<'_>| {
        let status = b.runtime(&runtime::FUNCTION_CALL, &[function, values, count, result]);
        b.release_object(function);
        status
    };
    let status = b.if_else(some, Type::I32, call, |_| status);
    let failed = b.compare_const(Cond::Ne, status, 0);
    let missing = b.not(some);
    let failed = b.or(failed, missing);
    b.if_then(failed, |b| {
        b.fail_call([descriptor, site], [name, length], status);
        b.return_code(-1);
    });
    b.return_code(0);
}

const _: () = assert!(ANY.size == 16);
