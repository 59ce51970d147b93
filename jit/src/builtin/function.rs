//! Function objects.

use std::ffi::c_void;
use std::ptr;

use abi_spec::TypeIndex;

use super::object;
use crate::abi::{Any, FunctionCell, Object, SafeCall};

/// The body of a function object: the cell, and the arguments of [`create`].
#[repr(C)]
struct FunctionBody {
    cell: FunctionCell,
    callee: SafeCall,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Drop for FunctionBody {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: `create` demands that this frees the context.
            unsafe { deleter(self.context) };
        }
    }
}

/// `TVMFFIFunctionCreate`
///
/// # Safety
/// `callee` may be called with `context`, or with the object where there is neither context nor
/// deleter, until `deleter` is called with it; `out` is valid.
pub(super) unsafe extern "C" fn create(
    context: *mut c_void,
    callee: SafeCall,
    deleter: Option<unsafe extern "C" fn(*mut c_void)>,
    out: *mut *mut Object,
) -> i32 {
    let bare = context.is_null() && deleter.is_none();
    let safe_call = if bare { callee } else { enter };
    let cell = FunctionCell { safe_call, cpp_call: ptr::null_mut() };
    // SAFETY: `out` is valid.
    unsafe {
        *out =
            object::allocate(TypeIndex::FUNCTION, FunctionBody { cell, callee, context, deleter });
    }
    0
}

/// The safe call of functions with a context: passes the context as the handle.
unsafe extern "C" fn enter(
    handle: *mut c_void,
    args: *const Any,
    num_args: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: only functions made here have this safe call, and its handle is the function object. The other arguments
    // are passed on unchanged.
    unsafe {
        let body = object::body::<FunctionBody>(handle.cast());
        ((*body).callee)((*body).context, args, num_args, result)
    }
}

/// `TVMFFIFunctionCall`
///
/// # Safety
/// `function` is a live function of any origin; the rest as the function demands.
pub(super) unsafe extern "C" fn call(
    function: *mut Object,
    args: *mut Any,
    num_args: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: a function's body starts with its cell.
    unsafe {
        let safe_call = (*object::body::<FunctionCell>(function)).safe_call;
        safe_call(function.cast(), args, num_args, result)
    }
}
