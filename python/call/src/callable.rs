//! Callables: a builtin of Python for each function, and the object that is its `__self__`.
//!
//! The object owns all that the builtin uses: the function of `tvm_ffi`, and with it the code, its names and texts.

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use jit::abi::{Any, FunctionCell, Object, SafeCall};
use pyo3_ffi::{
    METH_FASTCALL, METH_KEYWORDS, Py_DECREF, Py_TPFLAGS_DEFAULT, Py_TPFLAGS_DISALLOW_INSTANTIATION,
    Py_TYPE, Py_ssize_t, Py_tp_dealloc, Py_tp_doc, Py_tp_free, Py_tp_members, PyCFunction_GetSelf,
    PyCFunction_NewEx, PyCFunctionFastWithKeywords, PyMemberDef, PyMethodDef, PyMethodDefPointer,
    PyObject, PyType_FromSpec, PyType_GenericAlloc, PyType_GetSlot, PyType_Slot, PyType_Spec,
    PyTypeObject, freefunc,
};

use crate::object::Owned;
use crate::state::State;

/// A parameter of a function.
#[derive(Debug)]
pub(crate) struct Param {
    /// Name, an interned `str`.
    pub(crate) name: Owned,
    pub(crate) default: Option<Owned>,
    pub(crate) borrows: Borrows,
}

/// The way in which a function uses the memory of a tensor that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Borrows {
    /// Takes a tensor object, which may be in use after the call, or no tensor.
    No,
    /// Reads and writes the memory until the call ends.
    Memory,
    /// Reads the memory until the call ends.
    ReadOnly,
}

impl Borrows {
    /// Decodes the number that `_calls.py` gives; `None` for another one.
    pub(crate) fn decode(number: isize) -> Option<Borrows> {
        Some(match number {
            0 => Borrows::No,
            1 => Borrows::Memory,
            2 => Borrows::ReadOnly,
            _ => return None,
        })
    }
}

impl Param {
    /// The default, borrowed.
    pub(crate) fn default(&self) -> Option<NonNull<PyObject>> {
        NonNull::new(self.default.as_ref()?.as_ptr())
    }
}

/// The description of a function, see `_calls.py`.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) name: CString,
    /// Text signature and documentation, as Python parses them.
    pub(crate) doc: CString,
    /// Parameters that take one argument each.
    pub(crate) params: Box<[Param]>,
    /// True if a last parameter takes all further arguments.
    pub(crate) variadic: bool,
    /// A Python function of the same signature, which refuses what does not fit.
    pub(crate) signature: Owned,
    /// The function of `tvm_ffi`.
    pub(crate) function: Owned,
    /// A callable that calls it with arguments as they are, which it converts.
    pub(crate) convert: Owned,
    /// A callable that raises the error of arguments whose memory is read-only where that cannot be; see `_access.py`.
    pub(crate) refuse: Owned,
    pub(crate) releases: bool,
}

/// The `__self__` of a builtin.
#[repr(C)]
pub(crate) struct Callable {
    head: PyObject,
    /// The function of `tvm_ffi`, once more for Python.
    pub(crate) function: *mut PyObject,
    /// Nonzero if the interpreter's lock is released while the function runs.
    pub(crate) releases: c_char,
    pub(crate) made: Made,
}

/// The part of a callable that Python does not see.
pub(crate) struct Made {
    pub(crate) state: &'static State,
    pub(crate) code: SafeCall,
    pub(crate) handle: *mut c_void,
    /// Number of parameters without a default.
    pub(crate) required: usize,
    /// Most positional arguments.
    pub(crate) most: usize,
    pub(crate) description: Description,
    method: PyMethodDef,
}

/// Address of the type of callables.
static TYPE: OnceLock<usize> = OnceLock::new();

const DOC: &std::ffi::CStr =
    c"A compiled function: `function` is that of tvm_ffi, and `release_gil` tells whether the \
interpreter's lock is released during calls.";

/// Returns the type of callables. `None` if an exception is set.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn callable_type() -> Option<NonNull<PyTypeObject>> {
    if let Some(&ty) = TYPE.get() {
        return NonNull::new(ptr::with_exposed_provenance_mut(ty));
    }
    let member = |name: &'static std::ffi::CStr, type_code, offset: usize, flags| PyMemberDef {
        name: name.as_ptr(),
        type_code,
        offset: offset as Py_ssize_t,
        flags,
        doc: ptr::null(),
    };
    let function = offset_of!(Callable, function);
    let mut members = [
        member(
            c"function",
            pyo3_ffi::structmember::T_OBJECT_EX,
            function,
            pyo3_ffi::structmember::READONLY,
        ),
        member(c"release_gil", pyo3_ffi::structmember::T_BOOL, offset_of!(Callable, releases), 0),
        PyMemberDef::default(),
    ];
    let slot = |slot: c_int, pfunc: *mut c_void| PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(Py_tp_dealloc, dealloc as *mut c_void),
        slot(Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(Py_tp_members, members.as_mut_ptr().cast()),
        PyType_Slot::default(),
    ];
    let mut spec = PyType_Spec {
        name: c"tvm_ffi_codegen.Callable".as_ptr(),
        basicsize: size_of::<Callable>() as c_int,
        itemsize: 0,
        flags: (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION) as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification is complete. Python copies the members.
    let ty = NonNull::new(unsafe { PyType_FromSpec(&mut spec) })?.cast::<PyTypeObject>();
    let address = *TYPE.get_or_init(|| ty.as_ptr().expose_provenance());
    NonNull::new(ptr::with_exposed_provenance_mut(address))
}

/// Frees a callable.
unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: Python calls this once, for a callable; the type is released after its object.
    unsafe {
        let ty = Py_TYPE(object);
        ptr::drop_in_place(&raw mut (*object.cast::<Callable>()).made);
        let free = PyType_GetSlot(ty, Py_tp_free);
        std::mem::transmute::<*mut c_void, freefunc>(free)(object.cast());
        Py_DECREF(ty.cast());
    }
}

impl Callable {
    /// Makes a builtin that runs `call`. NULL if an exception is set. `None` if the function is not one of `tvm_ffi`.
    ///
    /// # Safety
    /// The interpreter's lock is held, and `call` takes a callable as its first argument.
    pub(crate) unsafe fn make(
        state: &'static State,
        description: Description,
        call: PyCFunctionFastWithKeywords,
    ) -> Option<*mut PyObject> {
        // SAFETY: the lock is held.
        let value = unsafe { state.wrapped(description.function.as_ptr()) }?;
        if value.ty() != abi_spec::TypeIndex::FUNCTION {
            return None;
        }
        let object = value.pointer().cast::<Object>();
        // SAFETY: the cell of a function follows the header.
        let code = unsafe { (*object.add(1).cast::<FunctionCell>()).safe_call };
        let params = &description.params;
        let required = params.iter().filter(|param| param.default.is_none()).count();
        let most = if description.variadic { usize::MAX } else { params.len() };
        let method = PyMethodDef {
            ml_name: description.name.as_ptr(),
            ml_meth: PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
            ml_flags: METH_FASTCALL | METH_KEYWORDS,
            ml_doc: description.doc.as_ptr(),
        };
        let (function, releases) = (description.function.as_ptr(), description.releases);
        let made = Made { state, code, handle: object.cast(), required, most, description, method };
        // SAFETY: the lock is held; the memory has room for a callable, and is written before anybody sees it. The
        // builtin keeps the callable, in which the method stays where it is.
        unsafe {
            let Some(ty) = callable_type() else { return Some(ptr::null_mut()) };
            let Some(object) = Owned::new(PyType_GenericAlloc(ty.as_ptr(), 0)) else {
                return Some(ptr::null_mut());
            };
            let this = object.as_ptr().cast::<Callable>();
            (&raw mut (*this).function).write(function);
            (&raw mut (*this).releases).write(c_char::from(releases));
            (&raw mut (*this).made).write(made);
            let method = &raw mut (*this).made.method;
            Some(PyCFunction_NewEx(method, object.as_ptr(), ptr::null_mut()))
        }
    }

    /// Returns the callable of a builtin; `None` for other builtins.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the object is a builtin, which keeps the result.
    pub(crate) unsafe fn of<'a>(builtin: *mut PyObject) -> Option<&'a Callable> {
        // SAFETY: as required above.
        let this = NonNull::new(unsafe { PyCFunction_GetSelf(builtin) })?;
        // SAFETY: the object is alive.
        let ty = unsafe { Py_TYPE(this.as_ptr()) };
        // SAFETY: objects of this type are callables.
        (TYPE.get() == Some(&ty.addr())).then(|| unsafe { this.cast::<Callable>().as_ref() })
    }

    /// The function as an argument.
    pub(crate) fn value(&self) -> Any {
        Any::ptr(abi_spec::TypeIndex::FUNCTION, self.made.handle)
    }
}
