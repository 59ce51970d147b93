//! Calls of compiled functions from Python, without the arguments' way through `tvm_ffi`.
//!
//! An extension module for the stable ABI of CPython 3.11 and newer, which the package loads if it is there.
//! `_calls.py` describes functions to it. A `callable` is a builtin; it converts `arguments`, tensors as
//! views (`tensor`; those of PyTorch by their `handle`), and hands what it does not know to `tvm_ffi`: arguments,
//! results and errors (`outcome`).
//!
//! Everything here runs while the interpreter's lock is held, but for the compiled function itself.

mod arguments;
mod call;
mod callable;
mod exchange;
mod extents;
mod handle;
mod keywords;
mod object;
mod outcome;
mod state;
mod tensor;

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::{self, NonNull};
use std::slice;

use abi_spec::DType;
use pyo3_ffi::{
    METH_FASTCALL, Py_None, Py_ssize_t, PyBool_FromLong, PyErr_Occurred, PyErr_SetString,
    PyExc_TypeError, PyExc_ValueError, PyLong_AsSsize_t, PyLong_AsVoidPtr, PyLong_FromVoidPtr,
    PyMethodDef, PyMethodDefPointer, PyModule_AddObjectRef, PyModule_Create2, PyModuleDef,
    PyModuleDef_HEAD_INIT, PyObject, PyObject_IsTrue, PyTuple_GetItem, PyTuple_Size,
    PyUnicode_AsUTF8AndSize,
};

use crate::call::call;
use crate::callable::{Borrows, Callable, Description, Param};
use crate::exchange::ExchangeApi;
use crate::handle::{GETTERS, Reader};
use crate::object::Owned;
use crate::state::State;
use crate::tensor::View;

/// The version of the stable ABI, for `PyModule_Create2`.
const ABI: c_int = 3;

/// Prepares the module: takes `finish`, `kind` and the offset of an object's address in wrappers of `tvm_ffi`.
///
/// # Safety
/// Python calls it, with the lock held.
unsafe extern "C" fn setup(
    _module: *mut PyObject,
    args: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: as required above.
    let done = || unsafe {
        let [finish, kind, offset] = given(args, count)?;
        let offset = PyLong_AsSsize_t(offset.as_ptr());
        let offset = usize::try_from(offset).ok().filter(|_| PyErr_Occurred().is_null())?;
        if !State::make(Owned::of(finish), Owned::of(kind), offset) {
            return Some(fault(PyExc_ValueError, c"there is no runtime that fits"));
        }
        Some(Owned::of(NonNull::new(Py_None())?).into_ptr())
    };
    done().unwrap_or(ptr::null_mut())
}

/// Makes a builtin: takes the parts of a [`Description`].
///
/// # Safety
/// Python calls it, with the lock held.
unsafe extern "C" fn callable(
    _module: *mut PyObject,
    args: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: as required above.
    let made = || unsafe {
        let [name, doc, listed, variadic, signature, function, convert, refuse, releases] =
            given(args, count)?;
        let Some(state) = State::get() else {
            return Some(fault(PyExc_ValueError, c"setup comes first"));
        };
        let description = Description {
            name: text(name)?,
            doc: text(doc)?,
            params: params(listed)?,
            variadic: truth(variadic)?,
            signature: Owned::of(signature),
            function: Owned::of(function),
            convert: Owned::of(convert),
            refuse: Owned::of(refuse),
            releases: truth(releases)?,
        };
        let builtin = Callable::make(state, description, call);
        Some(builtin.unwrap_or_else(|| fault(PyExc_TypeError, c"this is no function of tvm_ffi")))
    };
    made().unwrap_or(ptr::null_mut())
}

/// Adds an element type of NumPy: takes NumPy's object for it, and the code and the number of bits of DLPack.
///
/// # Safety
/// Python calls it, with the lock held.
unsafe extern "C" fn element(
    _module: *mut PyObject,
    args: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: as required above.
    let done = || unsafe {
        let [object, code, bits] = given(args, count)?;
        let number = |object: NonNull<PyObject>| u8::try_from(PyLong_AsSsize_t(object.as_ptr()));
        let (Some(state), Ok(code), Ok(bits)) = (State::get(), number(code), number(bits)) else {
            return Some(fault(PyExc_ValueError, c"this is no element type"));
        };
        state.add_element(Owned::of(object), DType { code, bits, lanes: 1 });
        Some(Owned::of(NonNull::new(Py_None())?).into_ptr())
    };
    done().unwrap_or(ptr::null_mut())
}

/// Sets the reader of PyTorch's tensors: takes the addresses of its functions.
///
/// # Safety
/// Python calls it, with the lock held, and the addresses are those of the functions.
unsafe extern "C" fn reader(
    _module: *mut PyObject,
    args: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: as required above.
    let done = || unsafe {
        let listed = given::<GETTERS>(args, count)?;
        let addresses = listed.map(|object| NonNull::new(PyLong_AsVoidPtr(object.as_ptr())));
        let addresses = addresses.into_iter().collect::<Option<Vec<_>>>();
        let addresses = addresses.and_then(|addresses| addresses.try_into().ok());
        let (Some(state), Some(addresses)) = (State::get(), addresses) else {
            return Some(fault(PyExc_ValueError, c"these are no addresses"));
        };
        state.set_reader(Reader::of(addresses));
        Some(Owned::of(NonNull::new(Py_None())?).into_ptr())
    };
    done().unwrap_or(ptr::null_mut())
}

/// Compares what reader and exchange API say of a tensor of PyTorch: takes the tensor, and the address of the API.
///
/// # Safety
/// Python calls it, with the lock held, and the tensor has its handle behind its head.
unsafe extern "C" fn agrees(
    _module: *mut PyObject,
    args: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: as required above.
    let compared = || unsafe {
        let [object, api] = given(args, count)?;
        let api = NonNull::new(PyLong_AsVoidPtr(api.as_ptr()).cast::<ExchangeApi>());
        let reader = State::get().and_then(State::reader);
        let (Some(reader), Some(api)) = (reader, api) else {
            return Some(fault(PyExc_ValueError, c"there is no reader, or no API"));
        };
        Some(PyBool_FromLong(View::compare(reader, api, object).into()))
    };
    compared().unwrap_or(ptr::null_mut())
}

/// Returns the arguments of a function of the module that takes `N`. `None` if an exception is set.
///
/// # Safety
/// The interpreter's lock is held, and there are `count` arguments.
unsafe fn given<const N: usize>(
    args: *mut *mut PyObject,
    count: Py_ssize_t,
) -> Option<[NonNull<PyObject>; N]> {
    if count.unsigned_abs() != N {
        // SAFETY: as required above.
        unsafe { fault(PyExc_TypeError, c"another number of arguments") };
        return None;
    }
    // SAFETY: as required above; no argument is NULL.
    Some(unsafe { args.cast::<[NonNull<PyObject>; N]>().read() })
}

/// Raises an exception. Always NULL.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn fault(kind: *mut PyObject, message: &CStr) -> *mut PyObject {
    // SAFETY: as required above.
    unsafe { PyErr_SetString(kind, message.as_ptr()) };
    ptr::null_mut()
}

/// Returns a text. `None` if an exception is set.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn text(object: NonNull<PyObject>) -> Option<CString> {
    let mut size = 0;
    // SAFETY: as required above; the text lives as long as the object.
    unsafe {
        let data = NonNull::new(PyUnicode_AsUTF8AndSize(object.as_ptr(), &mut size).cast_mut())?;
        let bytes = slice::from_raw_parts(data.cast::<u8>().as_ptr(), size.unsigned_abs());
        let text = CString::new(bytes).ok();
        if text.is_none() {
            fault(PyExc_ValueError, c"a NUL in a text");
        }
        text
    }
}

/// Returns a truth value. `None` if an exception is set.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn truth(object: NonNull<PyObject>) -> Option<bool> {
    // SAFETY: as required above.
    let truth = unsafe { PyObject_IsTrue(object.as_ptr()) };
    (truth >= 0).then_some(truth > 0)
}

/// Reads a tuple of parameters: of a name, the number of a way to borrow tensors, and a default if there is one. `None`
/// if an exception is set.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn params(tuple: NonNull<PyObject>) -> Option<Box<[Param]>> {
    // SAFETY: as required above.
    let listed = unsafe { entries(tuple, 0) }?;
    let param = |entry: NonNull<PyObject>| {
        // SAFETY: as above.
        unsafe {
            let parts = entries(entry, 2)?;
            let default = parts.get(2).map(|&default| Owned::of(default));
            let borrows = Borrows::decode(PyLong_AsSsize_t(parts[1].as_ptr()));
            let Some(borrows) = borrows else {
                fault(PyExc_ValueError, c"no way to borrow a tensor has this number");
                return None;
            };
            Some(Param { name: Owned::of(parts[0]), default, borrows })
        }
    };
    listed.into_iter().map(param).collect()
}

/// Returns the entries of a tuple that has at least so many. `None` if an exception is set.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn entries(tuple: NonNull<PyObject>, least: Py_ssize_t) -> Option<Vec<NonNull<PyObject>>> {
    // SAFETY: as required above; a size below zero comes with an exception.
    unsafe {
        let count = PyTuple_Size(tuple.as_ptr());
        if count < least {
            if PyErr_Occurred().is_null() {
                fault(PyExc_ValueError, c"a parameter is a name and a number");
            }
            return None;
        }
        (0..count).map(|index| NonNull::new(PyTuple_GetItem(tuple.as_ptr(), index))).collect()
    }
}

/// The functions of the module, and an end; Python reads them without writing.
struct Methods([PyMethodDef; 6]);

// SAFETY: the pointers in it are constants.
unsafe impl Sync for Methods {}

const fn method(
    name: &'static CStr,
    function: unsafe extern "C" fn(*mut PyObject, *mut *mut PyObject, Py_ssize_t) -> *mut PyObject,
) -> PyMethodDef {
    PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionFast: function },
        ml_flags: METH_FASTCALL,
        ml_doc: ptr::null::<c_char>(),
    }
}

static METHODS: Methods = Methods([
    method(c"setup", setup),
    method(c"callable", callable),
    method(c"element", element),
    method(c"reader", reader),
    method(c"agrees", agrees),
    PyMethodDef::zeroed(),
]);

/// The definition of the module, which Python writes to.
static mut MODULE: PyModuleDef = PyModuleDef {
    m_base: PyModuleDef_HEAD_INIT,
    m_name: c"tvm_ffi_codegen._call".as_ptr(),
    m_doc: c"Calls of compiled functions.".as_ptr(),
    // The module belongs to one interpreter.
    m_size: -1,
    m_methods: ptr::null_mut(),
    m_slots: ptr::null_mut(),
    m_traverse: None,
    m_clear: None,
    m_free: None,
};

/// Makes the module: `setup(finish, kind, handle_offset)`, `element(dtype, code, bits)`, `reader(*addresses)`,
/// `agrees(tensor, api)`, `callable(name, doc, params, variadic, signature, function, convert, refuse, release_gil)`,
/// and `HAND_OVER`, the address of the function that `finish` is to call.
///
/// # Safety
/// Python calls it, with the lock held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__call() -> *mut PyObject {
    // SAFETY: as required above; the lock keeps others from the definition.
    unsafe {
        let definition = &raw mut MODULE;
        (*definition).m_methods = METHODS.0.as_ptr().cast_mut();
        let Some(module) = Owned::new(PyModule_Create2(definition, ABI)) else {
            return ptr::null_mut();
        };
        let address = outcome::hand_over as *const () as *mut std::ffi::c_void;
        let Some(address) = Owned::new(PyLong_FromVoidPtr(address)) else {
            return ptr::null_mut();
        };
        let name = c"HAND_OVER".as_ptr();
        if PyModule_AddObjectRef(module.as_ptr(), name, address.as_ptr()) != 0 {
            return ptr::null_mut();
        }
        module.into_ptr()
    }
}
