//! References to objects of Python.

use std::ptr::NonNull;

use pyo3_ffi::{Py_DECREF, Py_INCREF, PyObject};

/// A reference of our own to an object. It is dropped while the interpreter's lock is held.
#[derive(Debug)]
pub(crate) struct Owned(NonNull<PyObject>);

impl Owned {
    /// Takes a reference over from a function of Python. `None` for NULL, with which the function reports an exception.
    ///
    /// # Safety
    /// `object` is NULL or a reference that nobody else releases.
    pub(crate) unsafe fn new(object: *mut PyObject) -> Option<Owned> {
        NonNull::new(object).map(Owned)
    }

    /// Adds a reference to an object.
    ///
    /// # Safety
    /// The interpreter's lock is held, and `object` is alive.
    pub(crate) unsafe fn of(object: NonNull<PyObject>) -> Owned {
        // SAFETY: as required above.
        unsafe { Py_INCREF(object.as_ptr()) };
        Owned(object)
    }

    /// The object, which lives at least as long as this reference.
    pub(crate) fn as_ptr(&self) -> *mut PyObject {
        self.0.as_ptr()
    }

    /// Returns the address of the object without a reference of its own.
    pub(crate) fn borrowed(&self) -> NonNull<PyObject> {
        self.0
    }

    /// Hands the reference over to the caller.
    pub(crate) fn into_ptr(self) -> *mut PyObject {
        std::mem::ManuallyDrop::new(self).as_ptr()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and the lock is held.
        unsafe { Py_DECREF(self.as_ptr()) };
    }
}
