//! What all callables share: functions of the runtime, and what is known of types of Python.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use abi_spec::{DType, TypeIndex};
use jit::abi::{Any, ByteArray, DLManagedTensorVersioned, Object};
use jit::{Origin, Runtime};
use pyo3_ffi::{
    Py_TYPE, PyErr_Clear, PyErr_Occurred, PyLong_AsSsize_t, PyObject, PyObject_CallFunctionObjArgs,
    PyTypeObject,
};
use rustc_hash::FxHashMap;

use crate::exchange::ExchangeApi;
use crate::handle::Reader;
use crate::object::Owned;

/// How arguments of a type are converted. `kind` in `_calls.py` decides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// By `tvm_ffi`.
    Other,
    /// An object of the runtime, in a wrapper of `tvm_ffi`.
    Object,
    /// An array of NumPy.
    Array,
    /// An array that never changes, which `tvm_ffi` converts where the function only reads it.
    Fixed,
    /// A tensor of a framework that fills `DLTensor`s.
    Exchange(NonNull<ExchangeApi>),
    /// A tensor of PyTorch, which the reader reads.
    Handle(NonNull<ExchangeApi>),
}

impl Kind {
    /// Decodes the answer of `kind` in `_calls.py`: a number, or the address of an exchange API, below zero for
    /// [`Kind::Handle`].
    fn decode(answer: isize) -> Kind {
        let api = NonNull::new(ptr::without_provenance_mut::<ExchangeApi>(answer.unsigned_abs()));
        match (answer, api) {
            (1, _) => Kind::Object,
            (2, _) => Kind::Array,
            (3, _) => Kind::Fixed,
            (4.., Some(api)) => Kind::Exchange(api),
            (..=-1, Some(api)) => Kind::Handle(api),
            _ => Kind::Other,
        }
    }
}

/// Declares the functions of the runtime that this crate calls; their contracts are those of `c_api.h` and
/// `c_env_api.h`.
macro_rules! functions {
    ($($field:ident: $symbol:literal, fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of the runtime.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Looks all functions up; `None` if one is missing.
            fn of(runtime: &Runtime) -> Option<Functions> {
                Some(Functions {
                    // SAFETY: this is the type of the function in the headers.
                    $($field: unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($arg),*) $(-> $result)?,
                        >(runtime.symbol($symbol)?)
                    },)*
                })
            }
        }
    };
}

functions! {
    dec_ref: "TVMFFIObjectDecRef", fn(*mut c_void) -> i32;
    move_from_raised: "TVMFFIErrorMoveFromRaised", fn(*mut *mut c_void);
    string: "TVMFFIStringFromByteArray", fn(*const ByteArray, *mut Any) -> i32;
    bytes: "TVMFFIBytesFromByteArray", fn(*const ByteArray, *mut Any) -> i32;
    to_dlpack: "TVMFFITensorToDLPackVersioned", fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> i32;
    set_stream: "TVMFFIEnvSetStream", fn(i32, i32, *mut c_void, *mut *mut c_void) -> i32;
    set_allocator: "TVMFFIEnvSetDLPackManagedTensorAllocator", fn(*mut c_void, i32, *mut *mut c_void) -> i32;
}

/// What all callables share. Made once, by the package.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) functions: Functions,
    /// Function of `tvm_ffi` that calls `hand_over`, see [`outcome`](crate::outcome).
    pub(crate) finish: Owned,
    /// Offset in bytes of the object's address in the wrappers of `tvm_ffi`.
    handle_offset: usize,
    /// Function of Python that tells the kind of a type.
    classify: Owned,
    /// Known types. They are never freed: `tvm_ffi` keeps every type that it has seen, too.
    kinds: RefCell<FxHashMap<usize, Kind>>,
    /// The last known type that was asked for.
    last: Cell<Option<(usize, Kind)>>,
    /// Element types by the address of NumPy's object for each, which is kept.
    elements: RefCell<FxHashMap<usize, (DType, Owned)>>,
    /// The reader of PyTorch's tensors, if there is one.
    reader: OnceCell<Reader>,
}

// SAFETY: the state is used only while the interpreter's lock is held.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

static STATE: OnceLock<State> = OnceLock::new();

impl State {
    /// Makes the state, once. False if the process has no runtime of `tvm_ffi`, or one that lacks a function.
    pub(crate) fn make(finish: Owned, classify: Owned, handle_offset: usize) -> bool {
        let runtime = jit::runtime();
        let functions = Functions::of(runtime).filter(|_| *runtime.origin() == Origin::Process);
        let Some(functions) = functions else { return false };
        STATE.get_or_init(|| State {
            functions,
            finish,
            handle_offset,
            classify,
            kinds: RefCell::default(),
            last: Cell::new(None),
            elements: RefCell::default(),
            reader: OnceCell::new(),
        });
        true
    }

    /// The state; `None` before it is made.
    pub(crate) fn get() -> Option<&'static State> {
        STATE.get()
    }

    /// Keeps an object of NumPy that stands for an element type.
    pub(crate) fn add_element(&self, object: Owned, element: DType) {
        self.elements.borrow_mut().insert(object.as_ptr().addr(), (element, object));
    }

    /// Returns the element type that an object of NumPy stands for, if it is a known one.
    #[inline]
    pub(crate) fn element(&self, object: *mut PyObject) -> Option<DType> {
        self.elements.borrow().get(&object.addr()).map(|&(element, _)| element)
    }

    /// Keeps the reader of PyTorch's tensors, which is the same each time.
    pub(crate) fn set_reader(&self, reader: Reader) {
        self.reader.get_or_init(|| reader);
    }

    /// The reader of PyTorch's tensors; `None` before it is set.
    #[inline]
    pub(crate) fn reader(&self) -> Option<&Reader> {
        self.reader.get()
    }

    /// Returns the kind of a type if it is the last one that was asked for.
    #[inline]
    pub(crate) fn last_kind(&self, ty: *mut PyTypeObject) -> Option<Kind> {
        self.last.get().filter(|&(last, _)| last == ty.addr()).map(|(_, kind)| kind)
    }

    /// Returns the kind of a type. Asks `_calls.py` the first time.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the type is alive.
    pub(crate) unsafe fn kind(&self, ty: *mut PyTypeObject) -> Kind {
        if let Some(&kind) = self.kinds.borrow().get(&ty.addr()) {
            self.last.set(Some((ty.addr(), kind)));
            return kind;
        }
        // SAFETY: as required above.
        unsafe { self.learn(ty) }
    }

    /// Asks for the kind of a type and keeps the answer, and the type.
    ///
    /// # Safety
    /// The requirements of [`kind`](State::kind).
    #[cold]
    unsafe fn learn(&self, ty: *mut PyTypeObject) -> Kind {
        let end = ptr::null_mut::<PyObject>();
        // SAFETY: the list of arguments ends with NULL.
        let answer = unsafe {
            Owned::new(PyObject_CallFunctionObjArgs(
                self.classify.as_ptr(),
                ty.cast::<PyObject>(),
                end,
            ))
        };
        // SAFETY: the object is alive; any object but an integer is an exception.
        let number = answer.map(|answer| unsafe { PyLong_AsSsize_t(answer.as_ptr()) });
        // SAFETY: the lock is held.
        if unsafe { !PyErr_Occurred().is_null() } {
            // SAFETY: as above. `tvm_ffi` meets the same type, and reports what is wrong with it.
            unsafe { PyErr_Clear() };
            return Kind::Other;
        }
        let kind = number.map_or(Kind::Other, Kind::decode);
        if self.kinds.borrow_mut().insert(ty.addr(), kind).is_none() {
            // SAFETY: the type is alive. No other type gets its address while the reference exists.
            unsafe { pyo3_ffi::Py_INCREF(ty.cast()) };
        }
        kind
    }

    /// Returns the object in a wrapper of `tvm_ffi`, as a borrowed value; `None` if it was moved out.
    ///
    /// # Safety
    /// `wrapper` is of a type of [`Kind::Object`].
    pub(crate) unsafe fn object(&self, wrapper: *mut PyObject) -> Option<Any> {
        // SAFETY: every wrapper has the address at this offset.
        let object = unsafe { *wrapper.byte_add(self.handle_offset).cast::<*mut Object>() };
        // SAFETY: an object that has a wrapper is alive.
        let header = unsafe { object.as_ref() }?;
        Some(Any::ptr(TypeIndex(header.type_index), object.cast()))
    }

    /// As [`object`](State::object), for an object of any type.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the object is alive.
    pub(crate) unsafe fn wrapped(&self, object: *mut PyObject) -> Option<Any> {
        // SAFETY: as required above.
        match unsafe { self.kind(Py_TYPE(object)) } {
            // SAFETY: the type is of this kind.
            Kind::Object => unsafe { self.object(object) },
            Kind::Other | Kind::Array | Kind::Fixed | Kind::Exchange(_) | Kind::Handle(_) => None,
        }
    }
}
