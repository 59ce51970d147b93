//! Ends of calls: results as objects of Python, and errors as exceptions.
//!
//! Numbers, truth values and None are converted here. Everything else, and every error, is handed over to `tvm_ffi`: it
//! calls the function [`hand_over`], which returns the value or leaves the error, as if the callee had done so.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use abi_spec::TypeIndex;
use jit::abi::Any;
use pyo3_ffi::{
    Py_None, PyBool_FromLong, PyErr_Clear, PyErr_Occurred, PyFloat_FromDouble, PyLong_FromLongLong,
    PyLong_FromVoidPtr, PyObject, PyObject_CallFunctionObjArgs,
};

use crate::exchange::ExchangeApi;
use crate::object::Owned;
use crate::state::State;

/// Status of a callee that has left an error in the thread's slot.
const FAILED: i32 = -1;

/// Status of a callee of releases up to 0.1.8 that has set an exception of Python.
const EXCEPTION_IS_SET: i32 = -2;

/// A tensor of a framework, and the framework's API.
pub(crate) type Framework = Option<(NonNull<PyObject>, NonNull<ExchangeApi>)>;

/// A function of the FFI that returns the value whose address is its first argument, and leaves None there. Without
/// arguments it fails, with the error that is in the thread's slot.
///
/// # Safety
/// The first argument is the address of an owned value that nobody else uses.
pub(crate) unsafe extern "C" fn hand_over(
    _handle: *mut c_void,
    args: *const Any,
    count: i32,
    result: *mut Any,
) -> i32 {
    if count == 0 {
        return FAILED;
    }
    // SAFETY: only `end` passes arguments.
    unsafe { result.write((*args).pointer().cast::<Any>().replace(Any::NONE)) };
    0
}

/// Converts a result, which is taken over. Tensors become those of the framework. NULL if an exception is set.
///
/// # Safety
/// The interpreter's lock is held, the value is owned, and the framework's tensor is alive.
#[inline(never)]
pub(crate) unsafe fn returned(
    state: &State,
    value: &mut Any,
    framework: Framework,
) -> *mut PyObject {
    // SAFETY: as required above; the payload is what the type index says.
    unsafe {
        match value.ty() {
            TypeIndex::NONE => none(),
            TypeIndex::INT => PyLong_FromLongLong(value.bits()),
            TypeIndex::FLOAT => PyFloat_FromDouble(value.payload.float),
            TypeIndex::BOOL => PyBool_FromLong(i64::from(value.bits() != 0)),
            TypeIndex::TENSOR => {
                let tensor = framework.and_then(|(_, api)| of_framework(state, *value, api));
                tensor.unwrap_or_else(|| end(state, value, framework))
            }
            _ => end(state, value, framework),
        }
    }
}

/// Returns None.
///
/// # Safety
/// The interpreter's lock is held.
#[inline]
pub(crate) unsafe fn none() -> *mut PyObject {
    // SAFETY: as required above; None is there.
    unsafe { Owned::of(NonNull::new_unchecked(Py_None())).into_ptr() }
}

/// Raises the error that a callee has left. Always NULL.
///
/// # Safety
/// The interpreter's lock is held.
#[cold]
pub(crate) unsafe fn raise(state: &State, status: i32) -> *mut PyObject {
    // SAFETY: as required above.
    unsafe {
        if PyErr_Occurred().is_null() {
            let finish = state.finish.as_ptr();
            return PyObject_CallFunctionObjArgs(finish, ptr::null_mut::<PyObject>());
        }
        // The exception goes on; the error in the thread's slot only says that there is one.
        if status != EXCEPTION_IS_SET {
            let mut error = ptr::null_mut();
            (state.functions.move_from_raised)(&mut error);
            release(state, error);
        }
    }
    ptr::null_mut()
}

/// Makes a tensor of a framework, and releases the tensor of the runtime. `None`, with nothing released, if the
/// framework makes none.
///
/// # Safety
/// The interpreter's lock is held, and the value is an owned tensor.
unsafe fn of_framework(
    state: &State,
    value: Any,
    api: NonNull<ExchangeApi>,
) -> Option<*mut PyObject> {
    let (mut exported, mut object) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: as required above; frameworks keep their API for ever.
    unsafe {
        let make = api.as_ref().to_object?;
        if (state.functions.to_dlpack)(value.pointer(), &mut exported) != 0 {
            return None;
        }
        if make(exported, &mut object) == 0 {
            release(state, value.pointer());
            return Some(object);
        }
        PyErr_Clear();
        if let Some(delete) = (*exported).deleter {
            delete(exported);
        }
    }
    None
}

/// Lets `tvm_ffi` convert a result. A tensor of a framework tells it the framework of the result.
///
/// # Safety
/// The interpreter's lock is held, the result is owned, and the framework's tensor is alive.
unsafe fn end(state: &State, value: &mut Any, framework: Framework) -> *mut PyObject {
    let like = framework.map_or(ptr::null_mut(), |(tensor, _)| tensor.as_ptr());
    let none = ptr::null_mut::<PyObject>();
    // SAFETY: as required above; the list of arguments ends with NULL.
    unsafe {
        let Some(address) = Owned::new(PyLong_FromVoidPtr((&raw mut *value).cast())) else {
            release_value(state, *value);
            return ptr::null_mut();
        };
        let finish = state.finish.as_ptr();
        let object = PyObject_CallFunctionObjArgs(finish, address.as_ptr(), like, none);
        // None is left, unless `tvm_ffi` could not convert the tensor of the framework.
        release_value(state, *value);
        object
    }
}

/// Releases a value.
///
/// # Safety
/// The value is owned.
unsafe fn release_value(state: &State, value: Any) {
    if value.type_index >= TypeIndex::OBJECT.0 {
        // SAFETY: as required above.
        unsafe { release(state, value.pointer()) };
    }
}

/// Releases an object of the runtime; NULL is none.
///
/// # Safety
/// The reference is owned.
unsafe fn release(state: &State, object: *mut c_void) {
    if !object.is_null() {
        // SAFETY: as required above.
        unsafe { (state.functions.dec_ref)(object) };
    }
}
