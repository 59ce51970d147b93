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

use crate::object::Owned;
use crate::state::State;
use crate::tensor::ExchangeApi;

/// Status of a callee of releases up to 0.1.8 that has set an exception of Python.
const EXCEPTION_IS_SET: i32 = -2;

/// A tensor of a framework, and the framework's API.
type Framework = Option<(NonNull<PyObject>, NonNull<ExchangeApi>)>;

/// The end of a call, on its way through `tvm_ffi`.
#[derive(Debug)]
struct End {
    status: i32,
    /// The result, which is None as soon as it is handed over.
    result: Any,
}

/// A function of the FFI that ends as the [`End`] does whose address is its first argument.
///
/// # Safety
/// The first argument is the address of an `End` that nobody else uses.
pub(crate) unsafe extern "C" fn hand_over(
    _handle: *mut c_void,
    args: *const Any,
    _count: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: only `end` calls this function.
    unsafe {
        let end = &mut *(*args).pointer().cast::<End>();
        if end.status == 0 {
            result.write(std::mem::replace(&mut end.result, Any::NONE));
        }
        end.status
    }
}

/// Converts a result, which is taken over. Tensors become those of the framework. NULL if an exception is set.
///
/// # Safety
/// The interpreter's lock is held, the value is owned, and the framework's tensor is alive.
pub(crate) unsafe fn returned(state: &State, value: Any, framework: Framework) -> *mut PyObject {
    // SAFETY: as required above; the payload is what the type index says.
    unsafe {
        match value.ty() {
            TypeIndex::NONE => Owned::of(NonNull::new_unchecked(Py_None())).into_ptr(),
            TypeIndex::INT => PyLong_FromLongLong(value.bits()),
            TypeIndex::FLOAT => PyFloat_FromDouble(value.payload.float),
            TypeIndex::BOOL => PyBool_FromLong(i64::from(value.bits() != 0)),
            TypeIndex::TENSOR => {
                let tensor = framework.and_then(|(_, api)| of_framework(state, value, api));
                tensor.unwrap_or_else(|| end(state, End { status: 0, result: value }, framework))
            }
            _ => end(state, End { status: 0, result: value }, framework),
        }
    }
}

/// Raises the error that a callee has left. Always NULL.
///
/// # Safety
/// The interpreter's lock is held.
pub(crate) unsafe fn raise(state: &State, status: i32) -> *mut PyObject {
    // SAFETY: as required above.
    unsafe {
        if PyErr_Occurred().is_null() {
            return end(state, End { status, result: Any::NONE }, None);
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

/// Makes a tensor of a framework, and releases the tensor of the runtime. `None`, with nothing released, if the framework
/// makes none.
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

/// Lets `tvm_ffi` end a call. A tensor of a framework tells it the framework of the result.
///
/// # Safety
/// The interpreter's lock is held, the result is owned, and the framework's tensor is alive.
#[cold]
unsafe fn end(state: &State, mut end: End, framework: Framework) -> *mut PyObject {
    let like = framework.map_or(ptr::null_mut(), |(tensor, _)| tensor.as_ptr());
    let none = ptr::null_mut::<PyObject>();
    // SAFETY: as required above; the list of arguments ends with NULL.
    unsafe {
        let address = PyLong_FromVoidPtr((&raw mut end).cast());
        let Some(address) = Owned::new(address) else {
            release_value(state, end.result);
            return ptr::null_mut();
        };
        let finish = state.finish.as_ptr();
        let object = PyObject_CallFunctionObjArgs(finish, address.as_ptr(), like, none);
        // Nothing is left, unless `tvm_ffi` could not convert the tensor of the framework.
        release_value(state, end.result);
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
