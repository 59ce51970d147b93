//! Calls of functions of the FFI, of which some bodies have many.

use abi_spec::TypeIndex;

use crate::ir::typed::routine;
use crate::lower::routines::errors::fail_at;
use crate::lower::routines::functions::look_up;
use crate::lower::routines::memory::{Any, Caller, Named, Object, slice, write};
use crate::lower::routines::result::release;
use crate::lower::routines::runtime::function_call;

/// Calls a function by its name, which is looked up once.
#[routine]
pub(crate) fn call_named(
    caller: Caller,
    callee: &Named,
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

/// Calls a function; a result at NULL is released. What a callee that fails leaves in the place of its result is not
/// ours.
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
