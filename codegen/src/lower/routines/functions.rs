//! Calls of FFI functions: look-up by name, and calls of functions of the registry that make containers.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, Text, call_indirect, routine};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::errors::pass_on;
use crate::lower::routines::memory::{
    Any, ByteArray, Caller, Keeper, Module, NamedCallee, Object, filled, slice, write,
};
use crate::lower::routines::message::{fail_at, raise};
use crate::lower::routines::release::{leave, release};
use crate::lower::routines::result::is_null;
use crate::lower::routines::runtime::{
    address_of_dec_ref, bytes_from_byte_array, function_call, function_create, function_get_global,
    lookup_from_imports, object_dec_ref, object_inc_ref,
};

/// Looks up a function by its name, which ends with a NUL. Returns NULL once it has raised.
///
/// The imports of the library, if `context` is not NULL, come before the registry. A function of the imports is
/// borrowed from its module; a function of the registry stays in the cache for good. If threads race, one fills the
/// cache and the others release the function that they found.
#[routine]
pub(crate) fn look_up(caller: Caller, name: Text, cache: &&Object, context: &u8) -> &Object {
    let out: &Object;
    *out = null;
    if context != null {
        let status = lookup_from_imports(context, name.data, out);
        if status != 0 {
            fail_call(caller, name, status);
            return null;
        }
        let function = *out;
        if function != null {
            cache.store_atomic(function);
            return function;
        }
    }
    let array: ByteArray;
    let status = function_get_global(filled(array, name.data, name.len), out);
    if status != 0 {
        fail_call(caller, name, status);
        return null;
    }
    let function = *out;
    if function == null {
        raise!(caller, Complaint::Missing, name);
    }
    let found = cache.compare_exchange(null, function);
    if found == null {
        return function;
    }
    object_dec_ref(function);
    found
}

/// Calls a function by its name. The first call looks it up. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn call_named(
    caller: Caller,
    callee: &NamedCallee,
    args: &Any,
    count: i32,
    result: &Any,
) -> i32 {
    let mut function = callee.cache.load_atomic();
    if function == null {
        function = look_up(caller, slice(callee.name, callee.len), callee.cache, *callee.context);
    }
    if function == null {
        return -1;
    }
    call_object(caller, function, args, count, result)
}

/// Calls a function object. Returns 0, or the status of [`fail_at()`] once it has raised.
///
/// If `result` is NULL, the result is released. If the callee fails, the result is overwritten with None and never
/// released.
#[routine]
pub(crate) fn call_object(
    caller: Caller,
    function: &Object,
    args: &Any,
    count: i32,
    result: &Any,
) -> i32 {
    let own: Any;
    let to = if result != null { result } else { own };
    write(to, TypeIndex::NONE, 0);
    let status = function_call(function, args, count, to);
    if status != 0 {
        write(to, TypeIndex::NONE, 0);
        let values: i64;
        *values = status as i64;
        return fail_at(caller, values);
    }
    if result == null {
        release(own, 1);
    }
    0
}

/// Passes on the error that a function of the runtime has raised. Raises one that names the function if there is none.
/// Returns -1.
#[routine(inline)]
pub(crate) fn fail_call(caller: Caller, name: Text, status: i32) -> i32 {
    if pass_on(caller) == 0 {
        raise!(caller, Complaint::Failed, name, status);
    }
    -1
}

/// Makes an `ffi.Array` of values, which retains their objects. Returns 0, or -1 once it has raised, as for a NULL
/// object or text.
#[routine]
pub(crate) fn make_array(caller: Caller, values: &Any, count: i32, result: &Any) -> i32 {
    for at in 0..count as i64 {
        if is_null(&values[at]) {
            raise!(caller, Complaint::NullElement);
        }
    }
    made("ffi.Array", TypeIndex::ARRAY, caller, values, count, result)
}

/// Makes an `ffi.Shape` of integers. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn make_shape(caller: Caller, values: &Any, count: i32, result: &Any) -> i32 {
    made("ffi.Shape", TypeIndex::SHAPE, caller, values, count, result)
}

/// Makes owned bytes. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn make_bytes(caller: Caller, bytes: Text, result: &Any) -> i32 {
    let array: ByteArray;
    let status = bytes_from_byte_array(filled(array, bytes.data, bytes.len), result);
    if status != 0 {
        write(result, TypeIndex::NONE, 0);
        return fail_call(caller, "TVMFFIBytesFromByteArray", status);
    }
    0
}

/// Makes a function object of a code and the array that it holds. The array passes to the function. Returns 0,
/// or -1 once it has raised.
#[routine]
pub(crate) fn make_function(caller: Caller, held: &Any, code: &u8, result: &Any) -> i32 {
    let out: &Object;
    *out = null;
    let status = function_create(held.object, code, address_of_dec_ref(), out);
    if status != 0 {
        return fail_call(caller, "TVMFFIFunctionCreate", status);
    }
    write(held, TypeIndex::NONE, 0);
    write(result, TypeIndex::FUNCTION, *out as u64);
    0
}

/// Stores an owned object that keeps the code loaded: the module of the library, whose address `context` holds, else
/// what the [`Keeper`] makes. If there is neither, nothing is stored. Returns 0, or -1 once it
/// has raised.
#[routine]
pub(crate) fn keep_code(caller: Caller, context: &&Module, keeper: &Keeper, to: &Any) -> i32 {
    let module = *context;
    if module != null {
        let object = &module.object;
        if object.type_index != TypeIndex::MODULE {
            return fail_call(caller, "__tvm_ffi__library_ctx", object.type_index);
        }
        object_inc_ref(object);
        write(to, TypeIndex::MODULE, object as u64);
        return 0;
    }
    let make = keeper.make;
    if make == null {
        return 0;
    }
    let status = call_keeper(make, keeper.code, to);
    if status != 0 {
        return fail_call(caller, "TVMFFIFunctionCreate", status);
    }
    0
}

/// Calls the `make` function of a keeper, which stores an owned object on success.
fn call_keeper(b: &mut Builder<'_>, make: Ref<u8>, code: Ref<u8>, to: Ref<Any>) -> Int<i32> {
    let make = make.value(b);
    call_indirect(b, make, (code, to))
}

/// Calls [`make()`] and requires a result of type index `ty`.
#[routine(inline)]
fn made(name: Text, ty: i32, caller: Caller, values: &Any, count: i32, result: &Any) -> i32 {
    make(caller, name, values, count, result)?;
    if result.type_index != ty {
        fail_call(caller, name, 0);
        leave(result, 1);
        write(result, TypeIndex::NONE, 0);
        return -1;
    }
    0
}

/// Calls a function of the registry with these values. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn make(caller: Caller, name: Text, values: &Any, count: i32, result: &Any) -> i32 {
    let out: &Object;
    *out = null;
    write(result, TypeIndex::NONE, 0);
    let array: ByteArray;
    let mut status = function_get_global(filled(array, name.data, name.len), out);
    let function = *out;
    if function != null {
        status = function_call(function, values, count, result);
        object_dec_ref(function);
    }
    if status != 0 || function == null {
        return fail_call(caller, name, status);
    }
    0
}
