//! References to objects of a runtime, and the error in a thread's slot.

use std::fmt;
use std::slice;
use std::sync::Arc;

use abi_spec::TypeIndex;

use crate::abi::{Any, ErrorCell, Object, SeqCell};
use crate::error::CallError;
use crate::runtime::Runtime;

/// A value that owns a reference if it is an object.
pub(crate) struct Owned {
    any: Any,
    runtime: &'static Runtime,
}

impl Owned {
    /// Takes over a value.
    ///
    /// # Safety
    /// The value is valid. An object is live and belongs to this runtime, and the caller gives one reference up.
    #[inline]
    pub(crate) unsafe fn new(any: Any, runtime: &'static Runtime) -> Owned {
        Owned { any, runtime }
    }

    #[inline]
    pub(crate) fn any(&self) -> &Any {
        &self.any
    }

    #[inline]
    pub(crate) fn runtime(&self) -> &'static Runtime {
        self.runtime
    }

    /// The value as an object; `None` if it is not an object.
    pub(crate) fn as_object(&self) -> Option<&ObjectRef> {
        let is_object = self.any.ty().is_object() && !self.any.pointer().is_null();
        // SAFETY: `ObjectRef` is a transparent `Owned` that holds an object.
        is_object.then(|| unsafe { &*(&raw const *self).cast::<ObjectRef>() })
    }

    /// The value as an object. Returns the value if it is not an object.
    pub(crate) fn into_object(self) -> Result<ObjectRef, Owned> {
        if self.as_object().is_some() { Ok(ObjectRef(self)) } else { Err(self) }
    }
}

impl Clone for Owned {
    fn clone(&self) -> Self {
        if let Some(object) = self.as_object() {
            // SAFETY: this reference keeps the object alive; the clone owns the new one.
            unsafe { (self.runtime.functions.inc_ref)(object.as_raw()) };
        }
        Owned { any: self.any, runtime: self.runtime }
    }
}

impl Drop for Owned {
    #[inline]
    fn drop(&mut self) {
        if self.any.ty().is_object() && !self.any.pointer().is_null() {
            // SAFETY: this reference is released once, here.
            unsafe { (self.runtime.functions.dec_ref)(self.any.pointer().cast()) };
        }
    }
}

/// Owns one reference to an object of any class.
///
/// It stays on its thread, since the methods of a class may not be thread-safe. [`FfiFunction`](crate::FfiFunction) and
/// [`TensorObject`](crate::TensorObject) may be sent and shared.
///
/// ```compile_fail
/// fn sent<T: Send>() {}
/// sent::<tvm_ffi_codegen_jit::ObjectRef>();
/// ```
#[derive(Clone)]
#[repr(transparent)]
pub struct ObjectRef(Owned);

impl ObjectRef {
    /// Takes over a reference. Returns `None` for NULL.
    ///
    /// # Safety
    /// The object is live and belongs to this runtime, and the caller gives one reference up.
    pub unsafe fn from_raw(object: *mut Object, runtime: &'static Runtime) -> Option<ObjectRef> {
        if object.is_null() {
            return None;
        }
        // SAFETY: the object is live.
        let ty = TypeIndex(unsafe { (*object).type_index });
        // SAFETY: as required above.
        Some(ObjectRef(unsafe { Owned::new(Any::ptr(ty, object.cast()), runtime) }))
    }

    /// The address of the object, borrowed.
    #[inline]
    pub fn as_raw(&self) -> *mut Object {
        self.0.any.pointer().cast()
    }

    /// Hands over the reference, which the caller must release.
    pub fn into_raw(self) -> *mut Object {
        std::mem::ManuallyDrop::new(self).as_raw()
    }

    /// The type index of its class.
    pub fn ty(&self) -> TypeIndex {
        self.0.any.ty()
    }

    /// The runtime of the object.
    #[inline]
    pub fn runtime(&self) -> &'static Runtime {
        self.0.runtime
    }

    /// The value that the reference is in.
    pub(crate) fn any(&self) -> &Any {
        &self.0.any
    }

    /// The address of the cell, which follows the header.
    #[inline]
    pub(crate) fn cell<T>(&self) -> *const T {
        self.as_raw().wrapping_add(1).cast()
    }

    /// True if this is the only reference to the object, weak references included.
    pub(crate) fn is_unique(&self) -> bool {
        const ONE: u64 = 1 | 1 << 32;
        // SAFETY: the reference keeps the object alive.
        let count = unsafe { &(*self.as_raw()).combined_ref_count };
        count.load(std::sync::atomic::Ordering::Acquire) == ONE
    }
}

impl From<ObjectRef> for Owned {
    fn from(object: ObjectRef) -> Self {
        object.0
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectRef({}, {:p})", self.ty().0, self.as_raw())
    }
}

/// A handle to objects of one class.
///
/// # Safety
/// The type is a transparent [`ObjectRef`], and its methods are sound for every object of the class.
pub(crate) unsafe trait Class: Sized {
    /// The type index of the class.
    const TYPE: TypeIndex;

    /// The object as one of this class; `None` if it is of another.
    fn of(object: &ObjectRef) -> Option<&Self> {
        // SAFETY: the handle is a transparent `ObjectRef`, and the object is of its class.
        (object.ty() == Self::TYPE).then(|| unsafe { &*(&raw const *object).cast::<Self>() })
    }
}

/// The elements of an array or a list.
///
/// # Safety
/// The object is an array or a list, and is neither freed nor changed while the result is used.
pub(crate) unsafe fn elements<'a>(object: *const Object) -> &'a [Any] {
    let cell = object.wrapping_add(1).cast::<SeqCell>();
    // SAFETY: the cell follows the header.
    let (data, size) = unsafe { ((*cell).data, (*cell).size) };
    let size = usize::try_from(size).unwrap_or(0);
    // SAFETY: `size` is the number of elements, which live as long as the object.
    if size == 0 { &[] } else { unsafe { slice::from_raw_parts(data, size) } }
}

/// Takes the error of a call that returned `status` out of the thread's slot.
#[cold]
pub(crate) fn raised(status: i32, runtime: &'static Runtime) -> CallError {
    let mut error = std::ptr::null_mut();
    // SAFETY: `error` is a valid place.
    unsafe { (runtime.functions.move_from_raised)(&mut error) };
    // SAFETY: the error comes with a reference, which is this function's now.
    let Some(error) = (unsafe { ObjectRef::from_raw(error, runtime) }) else {
        let message = format!("the call returned {status} without an error");
        return CallError::new("RuntimeError", message);
    };
    // SAFETY: the slot holds errors only.
    let [kind, message, backtrace] = unsafe { texts(&error) };
    CallError { kind, message, backtrace, object: Some(Arc::new(Raised(error))) }
}

/// Raises an error: the object that it was made of, if that belongs to this runtime and has the same texts, or else a
/// new one. Returns the status -1.
#[cold]
pub(crate) fn raise_again(error: &CallError, runtime: &'static Runtime) -> i32 {
    let object = error.object.as_ref().and_then(|object| object.downcast_ref::<Raised>());
    let object = object.map(|Raised(object)| object);
    // SAFETY: the object is an error.
    let is_same = |object: &&ObjectRef| unsafe { texts(object) }.iter().eq(error.texts());
    match object.filter(|object| object.runtime().is_same(runtime)).filter(is_same) {
        Some(object) => {
            // SAFETY: the object is an error of the runtime, which takes a reference of its own.
            unsafe { (runtime.functions.error_set_raised)(object.as_raw()) };
            -1
        }
        None => runtime.raise_traced(&error.kind, &error.message, &error.backtrace),
    }
}

/// An error object that was raised.
struct Raised(ObjectRef);

// SAFETY: references are counted atomically. Here the object is only read and raised again; its texts and whatever it
// holds may be freed on any thread, since the slot of a thread is freed with it.
unsafe impl Send for Raised {}
// SAFETY: as above.
unsafe impl Sync for Raised {}

/// Returns the kind, the message and the backtrace of an error. Bytes that are no UTF-8 are replaced.
///
/// # Safety
/// The object is an error.
unsafe fn texts(error: &ObjectRef) -> [String; 3] {
    let cell = error.cell::<ErrorCell>();
    // SAFETY: these fields are in the cells of every release, and their bytes live as long as the error.
    unsafe { [(*cell).kind, (*cell).message, (*cell).backtrace].map(|part| part.bytes()) }
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
