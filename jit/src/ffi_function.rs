//! Function objects of the runtime: what other languages and libraries call.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use abi_spec::TypeIndex;

use crate::abi::{Any, ByteArray, Object, SafeCall};
use crate::compiled::Function;
use crate::error::Error;
use crate::object::ObjectRef;
use crate::runtime::Runtime;
use crate::value::{CallError, Returned, Value};

/// What a closure gets as `self`, and how to free it.
pub struct Context(Option<Owned>);

/// A pointer and how to free it.
struct Owned {
    pointer: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: who makes a context promises that it can be used and freed on any thread.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Context {
    /// No context, for functions that are not closures.
    pub const fn none() -> Context {
        Context(None)
    }

    /// A value of Rust; kernels get a `*const T`. It is dropped with the function object.
    ///
    /// # Safety
    /// The kernels of the closure take a `*const T` as `self`, and may use it as they do from any
    /// thread while it is shared.
    pub unsafe fn new<T: Send + Sync + 'static>(value: T) -> Context {
        unsafe extern "C" fn free<T>(pointer: *mut c_void) {
            // SAFETY: called once, with the pointer of the box below.
            drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
        }
        let pointer = Box::into_raw(Box::new(value)).cast();
        Context(Some(Owned { pointer, free: Some(free::<T>) }))
    }

    /// Any pointer. `free` is called with it once, when the function object goes.
    ///
    /// # Safety
    /// The kernels of the closure may use `pointer` as `self` from any thread until `free` is called,
    /// for ever if there is none; `free` may be called on any thread.
    pub const unsafe fn from_raw(
        pointer: *mut c_void,
        free: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Context {
        Context(Some(Owned { pointer, free }))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn pointer(&self) -> *mut c_void {
        self.0.as_ref().map_or(ptr::null_mut(), |owned| owned.pointer)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: dropped once, as `Context::from_raw` allows.
            unsafe { free(self.pointer) };
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:p})", self.pointer())
    }
}

/// What a function object holds. The context goes first: freeing it may run the code.
struct Holder {
    context: Context,
    address: SafeCall,
    _function: Function,
}

/// The safe call of function objects: replaces the holder by the context.
unsafe extern "C" fn enter(
    handle: *mut c_void,
    args: *const Any,
    num_args: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: the handle is the holder that was given together with this function, and the caller
    // keeps the function object alive.
    let holder = unsafe { &*handle.cast::<Holder>() };
    // SAFETY: the rest is passed on as it came; the context is what the closure expects.
    unsafe { (holder.address)(holder.context.pointer(), args, num_args, result) }
}

/// The deleter of function objects.
unsafe extern "C" fn release(handle: *mut c_void) {
    // SAFETY: called once, with the pointer that `FfiFunction::create` gave away.
    drop(unsafe { Box::from_raw(handle.cast::<Holder>()) });
}

/// Owns one reference to a function object of a runtime.
#[derive(Clone, Debug)]
pub struct FfiFunction(ObjectRef);

// SAFETY: reference counts are atomic, and a function object may be called and freed on any thread.
unsafe impl Send for FfiFunction {}
// SAFETY: as above.
unsafe impl Sync for FfiFunction {}

impl FfiFunction {
    pub(crate) fn create(function: Function, context: Context) -> Result<FfiFunction, Error> {
        let (runtime, address) = (function.runtime(), function.as_ptr());
        // A function that ignores its handle needs no detour.
        let callee = if context.is_none() { address } else { enter };
        let holder = Box::into_raw(Box::new(Holder { context, address, _function: function }));
        let mut object = ptr::null_mut();
        // SAFETY: `callee` takes the holder, or anything, as its handle; `release` frees the holder.
        let status = unsafe {
            (runtime.functions.function_create)(holder.cast(), callee, Some(release), &mut object)
        };
        // SAFETY: on success the object comes with a reference.
        match (status, unsafe { ObjectRef::from_raw(object, runtime) }) {
            (0, Some(object)) => Ok(FfiFunction(object)),
            _ => {
                // SAFETY: no function object has taken the holder over.
                unsafe { release(holder.cast()) };
                Err(CallError::take(status, runtime).into())
            }
        }
    }

    /// Takes over a reference; `None` if it is NULL or not a function.
    ///
    /// # Safety
    /// The object is live, the caller gives one reference up, and the function can be called with any
    /// valid arguments on any thread.
    pub unsafe fn from_raw(object: *mut Object, runtime: &'static Runtime) -> Option<FfiFunction> {
        // SAFETY: as required above.
        let object = unsafe { ObjectRef::from_raw(object, runtime) }?;
        (object.ty() == TypeIndex::FUNCTION).then(|| FfiFunction(object))
    }

    /// The object; the reference stays here.
    pub fn as_raw(&self) -> *mut Object {
        self.0.as_raw()
    }

    /// The object, with the reference, which the caller must give up some day.
    pub fn into_raw(self) -> *mut Object {
        self.0.into_raw()
    }

    /// Calls it through the runtime.
    ///
    /// # Errors
    /// What the function raised.
    pub fn call(&self, args: &[Value<'_>]) -> Result<Returned, CallError> {
        let runtime = self.0.runtime();
        let num_args = i32::try_from(args.len()).unwrap_or(i32::MAX);
        let mut result = Any::NONE;
        // SAFETY: the object is a function; arguments are valid and only read.
        let status = unsafe {
            let args = args.as_ptr().cast_mut().cast();
            (runtime.functions.function_call)(self.as_raw(), args, num_args, &mut result)
        };
        match status {
            // SAFETY: the call has succeeded.
            0 => Ok(unsafe { Returned::take(result, runtime) }),
            _ => Err(CallError::take(status, runtime)),
        }
    }

    /// The global function of this name; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the built-in runtime.
    pub fn global(name: &str, runtime: &'static Runtime) -> Result<Option<FfiFunction>, Error> {
        let get_global = runtime.get_global()?;
        let (name, mut object) = (ByteArray::new(name.as_bytes()), ptr::null_mut());
        // SAFETY: both places are valid.
        match unsafe { get_global(&name, &mut object) } {
            // SAFETY: the object is a function and comes with a reference. Global functions can be
            // called by everybody.
            0 => Ok(unsafe { FfiFunction::from_raw(object, runtime) }),
            status => Err(CallError::take(status, runtime).into()),
        }
    }

    /// Makes it a global function, which every user of the runtime in the process can look up.
    ///
    /// # Errors
    /// [`Error::Call`] if the name is taken and `replace` is false; [`Error::Unavailable`] with the
    /// built-in runtime.
    pub fn register_global(&self, name: &str, replace: bool) -> Result<(), Error> {
        let runtime = self.0.runtime();
        let name = ByteArray::new(name.as_bytes());
        let set_global = runtime.set_global()?;
        // SAFETY: the object is a live function; the runtime takes a reference of its own.
        match unsafe { set_global(&name, self.as_raw(), i32::from(replace)) } {
            0 => Ok(()),
            status => Err(CallError::take(status, runtime).into()),
        }
    }
}

impl From<FfiFunction> for ObjectRef {
    fn from(function: FfiFunction) -> Self {
        function.0
    }
}

impl<'a> From<&'a FfiFunction> for Value<'a> {
    fn from(function: &'a FfiFunction) -> Self {
        (&function.0).into()
    }
}
