//! Arguments of one call: objects of Python as values of the FFI, and what they borrow until the call ends.
//!
//! What is not converted here is converted by `tvm_ffi`, together with all other arguments of the call, so that results
//! and errors are the same.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use abi_spec::TypeIndex;
use jit::abi::{Any, ByteArray, Payload};
use pyo3_ffi::{
    Py_None, Py_TYPE, Py_True, PyBool_Type, PyBytes_AsStringAndSize, PyBytes_Type,
    PyCFunction_Type, PyErr_Clear, PyFloat_AsDouble, PyFloat_Type, PyLong_AsLongLongAndOverflow,
    PyLong_Type, PyObject, PyUnicode_AsUTF8AndSize, PyUnicode_Type,
};
use smallvec::SmallVec;

use crate::callable::{Borrows, Callable};
use crate::exchange::ExchangeApi;
use crate::state::{Kind, State};
use crate::tensor::View;

/// Number of arguments that need no memory besides the stack.
pub(crate) const FEW: usize = 16;

/// Most bytes of a text that a value holds itself.
const SMALL: usize = 7;

/// The arguments of a call in progress. It is dropped while the interpreter's lock is held.
pub(crate) struct Frame<'a> {
    state: &'a State,
    values: &'a mut [MaybeUninit<Any>],
    /// Number of values.
    count: usize,
    /// Tensors that values point at.
    views: &'a mut [MaybeUninit<View>],
    /// Number of views.
    viewed: usize,
    /// Objects of the runtime that were made for the call.
    made: SmallVec<[*mut c_void; 4]>,
    /// Last tensor of a framework, and the framework's API.
    pub(crate) framework: Option<(NonNull<PyObject>, NonNull<ExchangeApi>)>,
    /// First device that is not the cpu, and the framework's stream on it.
    pub(crate) stream: Option<(i32, i32, *mut c_void)>,
}

impl<'a> Frame<'a> {
    /// Starts with memory for as many values, the first `count` of which are there, and as many views.
    #[inline]
    pub(crate) fn new(
        state: &'a State,
        values: &'a mut [MaybeUninit<Any>],
        count: usize,
        views: &'a mut [MaybeUninit<View>],
    ) -> Frame<'a> {
        let made = SmallVec::new();
        Frame { state, values, count, views, viewed: 0, made, framework: None, stream: None }
    }

    /// The values: their address and number.
    #[inline]
    pub(crate) fn values(&self) -> (*const Any, i32) {
        (self.values.as_ptr().cast(), self.count as i32)
    }

    /// The number of values that are there.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds an argument; `borrows` tells how a tensor may be borrowed. False if `tvm_ffi` is to convert the arguments;
    /// then no exception is set.
    ///
    /// # Safety
    /// The interpreter's lock is held, the object is alive, and there is room.
    #[inline]
    pub(crate) unsafe fn add(&mut self, object: NonNull<PyObject>, borrows: Borrows) -> bool {
        // SAFETY: as required above; a kind is that of the type.
        let value = unsafe {
            match self.state.last_kind(Py_TYPE(object.as_ptr())) {
                Some(kind) => self.known(object, kind, borrows),
                None => scalar(object.as_ptr()).or_else(|| self.other(object, borrows)),
            }
        };
        let Some(value) = value else { return false };
        self.values[self.count].write(value);
        self.count += 1;
        true
    }

    /// Converts anything else.
    ///
    /// # Safety
    /// The requirements of [`add`](Frame::add).
    #[inline(never)]
    unsafe fn other(&mut self, object: NonNull<PyObject>, borrows: Borrows) -> Option<Any> {
        let state = self.state;
        // SAFETY: as required above; types are compared before functions of a type are called.
        unsafe {
            let ty = Py_TYPE(object.as_ptr());
            if ty == &raw mut PyUnicode_Type {
                return self.text(object.as_ptr());
            } else if ty == &raw mut PyBytes_Type {
                return self.bytes(object.as_ptr());
            } else if ty == &raw mut PyCFunction_Type {
                return Some(Callable::of(object.as_ptr())?.value());
            }
            self.known(object, state.kind(ty), borrows)
        }
    }

    /// Converts an object by the kind of its type.
    ///
    /// # Safety
    /// The requirements of [`add`](Frame::add), and the kind is that of the object's type.
    #[inline]
    unsafe fn known(
        &mut self,
        object: NonNull<PyObject>,
        kind: Kind,
        borrows: Borrows,
    ) -> Option<Any> {
        let (state, place) = (self.state, &mut self.views[self.viewed]);
        let (is_borrowed, is_read) = (borrows != Borrows::No, borrows == Borrows::ReadOnly);
        // SAFETY: as required above.
        let (view, api) = unsafe {
            match kind {
                Kind::Object => return state.object(object.as_ptr()),
                Kind::Array if is_borrowed => {
                    (View::of_array(place, state, object, is_read)?, None)
                }
                Kind::Exchange(api) if is_borrowed => {
                    (View::of_framework(place, api, object)?, Some(api))
                }
                Kind::Handle(api) if is_borrowed => {
                    (View::of_handle(place, state.reader()?, api, object, is_read)?, Some(api))
                }
                Kind::Other | Kind::Array | Kind::Fixed | Kind::Exchange(_) | Kind::Handle(_) => {
                    return None;
                }
            }
        };
        let (tensor, device) = (view.tensor(), view.device());
        self.viewed += 1;
        if let Some(api) = api {
            self.framework = Some((object, api));
            // SAFETY: as required above.
            unsafe { self.follow(api, device) };
        }
        Some(Any::ptr(TypeIndex::DL_TENSOR_PTR, tensor.cast()))
    }

    /// Asks a framework for its stream, for the first device that is not the cpu.
    ///
    /// # Safety
    /// The interpreter's lock is held.
    #[inline]
    unsafe fn follow(&mut self, api: NonNull<ExchangeApi>, device: Option<(i32, i32)>) {
        let (None, Some((ty, index))) = (self.stream, device) else { return };
        // SAFETY: frameworks keep their API for ever.
        let Some(current) = (unsafe { api.as_ref() }).stream else { return };
        let mut stream = ptr::null_mut();
        // SAFETY: as required above.
        if unsafe { current(ty, index, &mut stream) } == 0 {
            self.stream = Some((ty, index, stream));
        }
    }

    /// Converts a text. `None` if it is not Unicode.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the object is a `str`.
    unsafe fn text(&mut self, object: *mut PyObject) -> Option<Any> {
        let mut size = 0;
        // SAFETY: as required above.
        let data = unsafe { PyUnicode_AsUTF8AndSize(object, &mut size) };
        if data.is_null() {
            // SAFETY: the lock is held.
            unsafe { PyErr_Clear() };
            return None;
        }
        let bytes = ByteArray { data, size: size.unsigned_abs() };
        // SAFETY: the text lives as long as the object.
        unsafe { self.made(bytes, TypeIndex::SMALL_STR, self.state.functions.string) }
    }

    /// Converts bytes.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the object is a `bytes`.
    unsafe fn bytes(&mut self, object: *mut PyObject) -> Option<Any> {
        let (mut data, mut size) = (ptr::null_mut::<c_char>(), 0);
        // SAFETY: as required above; such an object has its bytes.
        if unsafe { PyBytes_AsStringAndSize(object, &mut data, &mut size) } != 0 {
            // SAFETY: the lock is held.
            unsafe { PyErr_Clear() };
            return None;
        }
        let bytes = ByteArray { data, size: size.unsigned_abs() };
        // SAFETY: the bytes live as long as the object.
        unsafe { self.made(bytes, TypeIndex::SMALL_BYTES, self.state.functions.bytes) }
    }

    /// Copies bytes into a value, or into an object that the runtime makes for the call.
    ///
    /// # Safety
    /// The bytes are valid.
    unsafe fn made(
        &mut self,
        bytes: ByteArray,
        small: TypeIndex,
        make: unsafe extern "C" fn(*const ByteArray, *mut Any) -> i32,
    ) -> Option<Any> {
        if bytes.size <= SMALL {
            let mut value = Any { small_len: bytes.size as u32, ..Any::int(small, 0) };
            // SAFETY: the bytes are valid, and the payload has eight of them.
            unsafe {
                value.payload.bytes[..bytes.size].copy_from_slice(bytes.bytes());
            }
            return Some(value);
        }
        let mut value = Any::NONE;
        // SAFETY: as required above.
        if unsafe { make(&bytes, &mut value) } != 0 {
            return None;
        }
        if value.type_index >= TypeIndex::OBJECT.0 {
            self.made.push(value.pointer());
        }
        Some(value)
    }
}

/// Converts an integer, a float, a truth value or None, which borrow nothing. `None` for anything else.
///
/// # Safety
/// The interpreter's lock is held, and the object is alive.
#[inline]
pub(crate) unsafe fn scalar(object: *mut PyObject) -> Option<Any> {
    // SAFETY: as required above; every type is compared before the function of the type is called.
    unsafe {
        let ty = Py_TYPE(object);
        if ty == &raw mut PyLong_Type {
            let mut overflow = 0;
            let int = PyLong_AsLongLongAndOverflow(object, &mut overflow);
            (overflow == 0).then_some(Any::int(TypeIndex::INT, int))
        } else if ty == &raw mut PyFloat_Type {
            let payload = Payload { float: PyFloat_AsDouble(object) };
            Some(Any { type_index: TypeIndex::FLOAT.0, small_len: 0, payload })
        } else if ty == &raw mut PyBool_Type {
            Some(Any::int(TypeIndex::BOOL, i64::from(object == Py_True())))
        } else {
            (object == Py_None()).then_some(Any::NONE)
        }
    }
}

impl Drop for Frame<'_> {
    #[inline]
    fn drop(&mut self) {
        for view in &mut self.views[..self.viewed] {
            // SAFETY: these views are made.
            unsafe { view.assume_init_drop() };
        }
        for &object in &self.made {
            // SAFETY: the reference is that of the frame.
            unsafe { (self.state.functions.dec_ref)(object) };
        }
    }
}
