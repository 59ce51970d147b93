//! References to objects of a runtime.

use std::fmt;
use std::ptr::NonNull;

use abi_spec::TypeIndex;

use crate::abi::Object;
use crate::runtime::Runtime;

/// Owns one reference to an object of any class.
pub struct ObjectRef {
    object: NonNull<Object>,
    runtime: &'static Runtime,
}

impl ObjectRef {
    /// Takes over a reference; `None` if it is NULL.
    ///
    /// # Safety
    /// The object is live, and the caller gives one reference to it up.
    pub unsafe fn from_raw(object: *mut Object, runtime: &'static Runtime) -> Option<ObjectRef> {
        NonNull::new(object).map(|object| ObjectRef { object, runtime })
    }

    /// The object; the reference stays here.
    pub fn as_raw(&self) -> *mut Object {
        self.object.as_ptr()
    }

    /// The object, with the reference, which the caller must give up some day.
    pub fn into_raw(self) -> *mut Object {
        std::mem::ManuallyDrop::new(self).object.as_ptr()
    }

    /// Its class.
    pub fn ty(&self) -> TypeIndex {
        // SAFETY: the reference keeps the object alive, and its class never changes.
        TypeIndex(unsafe { (*self.as_raw()).type_index })
    }

    /// Whose object it is.
    pub fn runtime(&self) -> &'static Runtime {
        self.runtime
    }

    /// What follows the header.
    pub(crate) fn cell<T>(&self) -> *const T {
        self.as_raw().wrapping_add(1).cast()
    }
}

impl Clone for ObjectRef {
    fn clone(&self) -> Self {
        // SAFETY: the reference keeps the object alive; the new one is the clone's.
        unsafe { (self.runtime.functions.inc_ref)(self.as_raw()) };
        ObjectRef { object: self.object, runtime: self.runtime }
    }
}

impl Drop for ObjectRef {
    fn drop(&mut self) {
        // SAFETY: this reference is given up once, here.
        unsafe { (self.runtime.functions.dec_ref)(self.as_raw()) };
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectRef({}, {:p})", self.ty().0, self.object)
    }
}
