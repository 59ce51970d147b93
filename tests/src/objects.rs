//! Objects that only a runtime can make.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

use abi_spec::TypeIndex;
use jit::abi::{Any, ByteArray, Object};

use crate::ffi::Ffi;

/// Notes that [`note`] has made on this thread.
#[derive(Debug, Default)]
struct Notes(RefCell<Vec<String>>);

thread_local! {
    static NOTES: Notes = Notes::default();
}

/// Takes the calls of functions made by [`Ffi::noting_function`] on this thread since the last call.
pub fn take_notes() -> Vec<String> {
    NOTES.with(|notes| notes.0.take())
}

/// Notes and returns the number of arguments.
unsafe extern "C" fn note(_: *mut c_void, _: *const Any, count: i32, result: *mut Any) -> i32 {
    NOTES.with(|notes| notes.0.borrow_mut().push(format!("called with {count}")));
    // SAFETY: callers give a place for the result.
    unsafe { *result = Any::int(TypeIndex::INT, i64::from(count)) };
    0
}

unsafe extern "C" fn forget(_: *mut c_void) {}

/// Objects of the runtime; each result owns one reference. `None` if the runtime lacks a function.
impl Ffi {
    /// Makes a function that notes its calls.
    pub fn noting_function(&self) -> Option<Any> {
        type Create = unsafe extern "C" fn(
            *mut c_void,
            jit::abi::SafeCall,
            Option<unsafe extern "C" fn(*mut c_void)>,
            *mut *mut Object,
        ) -> i32;
        // SAFETY: the type is that of `c_api.h`.
        let create = unsafe { self.function::<Create>("TVMFFIFunctionCreate") }?;
        let mut object = ptr::null_mut();
        // SAFETY: `note` needs no context.
        let status = unsafe { create(ptr::null_mut(), note, None, &mut object) };
        Some(self.made(status, object))
    }

    /// Makes an error.
    pub fn error(&self, kind: &str, message: &str) -> Option<Any> {
        type Create = unsafe extern "C" fn(
            *const ByteArray,
            *const ByteArray,
            *const ByteArray,
            *mut *mut Object,
        ) -> i32;
        // SAFETY: the type is that of `c_api.h`.
        let create = unsafe { self.function::<Create>("TVMFFIErrorCreate") }?;
        let [kind, message, none] = [kind, message, ""].map(|text| ByteArray::new(text.as_bytes()));
        let mut object = ptr::null_mut();
        // SAFETY: the texts are copied.
        let status = unsafe { create(&kind, &message, &none, &mut object) };
        Some(self.made(status, object))
    }

    /// Makes an opaque object of another language, with nothing in it.
    pub fn opaque(&self) -> Option<Any> {
        type Create = unsafe extern "C" fn(
            *mut c_void,
            i32,
            unsafe extern "C" fn(*mut c_void),
            *mut *mut Object,
        ) -> i32;
        // SAFETY: the type is that of `c_api.h`.
        let create = unsafe { self.function::<Create>("TVMFFIObjectCreateOpaque") }?;
        let (index, mut object) = (TypeIndex::OPAQUE_PY_OBJECT.0, ptr::null_mut());
        // SAFETY: the handle is only given back.
        let status = unsafe { create(ptr::dangling_mut(), index, forget, &mut object) };
        Some(self.made(status, object))
    }

    /// Makes an integer: an object if it does not fit `int64`.
    pub fn big_int(&self, value: i128) -> Option<Any> {
        type Make = unsafe extern "C" fn(*const ByteArray, *mut Any) -> i32;
        // SAFETY: the type is that of `c_api.h`.
        let make = unsafe { self.function::<Make>("TVMFFIBigIntFromByteArray") }?;
        let (words, mut result) = (value.to_ne_bytes(), Any::NONE);
        // SAFETY: the words are copied; an integer on this machine has its least significant word first.
        let status = unsafe { make(&ByteArray::new(&words), &mut result) };
        assert_eq!(status, 0, "{value}: {:?}", self.take_error());
        Some(result)
    }

    /// Calls a global function of the runtime and returns its result.
    pub fn call_global(&self, name: &str, args: &[Any]) -> Option<Any> {
        let (function, mut result) = (self.global(name)?, Any::NONE);
        // SAFETY: the function is live and the arguments are valid.
        let status = unsafe { self.call(function, args.as_ptr(), args.len() as i32, &mut result) };
        assert_eq!(status, 0, "{name}: {:?}", self.take_error());
        // SAFETY: the function came with a reference.
        unsafe { self.release(function) };
        Some(result)
    }

    fn made(&self, status: i32, object: *mut Object) -> Any {
        assert!(status == 0 && !object.is_null(), "{:?}", self.take_error());
        // SAFETY: the object is live, since this reference is the caller's.
        Any::ptr(TypeIndex(unsafe { (*object).type_index }), object.cast())
    }
}
