//! Function objects of compiled functions, the contexts of closures, and what keeps the code of function objects that
//! bodies make.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use abi_spec::TypeIndex;

use crate::abi::{Any, SafeCall};
use crate::code::address::DataRange;
use crate::compiled::{Code, Compiled, HostFunction};
use crate::error::Error;
use crate::unwinding::quietly;
use crate::value::function::FfiFunction;
use crate::value::object::raised;

/// The `self` of a closure: a pointer and the function that frees it. The default is no context, for functions that are
/// no closures.
#[derive(Default)]
pub struct Context(Option<OwnedPointer>);

/// A pointer and the function that frees it.
struct OwnedPointer {
    pointer: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: whoever makes a context promises that it can be used and freed on any thread.
unsafe impl Send for OwnedPointer {}
// SAFETY: as above.
unsafe impl Sync for OwnedPointer {}

impl Context {
    /// Returns no context, for functions that are no closures.
    pub const fn none() -> Context {
        Context(None)
    }

    /// Makes a context of a Rust value. Kernels get a `*const T`. The value is dropped with the function object.
    ///
    /// # Safety
    /// The kernels of the closure take a `*const T` as `self`, and access the value only as any thread may while it is
    /// shared.
    pub unsafe fn new<T: Send + Sync + 'static>(value: T) -> Context {
        unsafe extern "C" fn free<T>(pointer: *mut c_void) {
            // SAFETY: called once, with the pointer of the box below.
            drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
        }
        let pointer = Box::into_raw(Box::new(value)).cast();
        Context(Some(OwnedPointer { pointer, free: Some(free::<T>) }))
    }

    /// Makes a context of any pointer. `free` is called with it once, when the function object is freed.
    ///
    /// # Safety
    /// The kernels of the closure may use `pointer` as `self` from any thread until `free` is called, or for ever
    /// without `free`; `free` may be called on any thread.
    pub const unsafe fn from_raw(
        pointer: *mut c_void,
        free: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Context {
        Context(Some(OwnedPointer { pointer, free }))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn pointer(&self) -> *mut c_void {
        self.0.as_ref().map_or(ptr::null_mut(), |owned| owned.pointer)
    }
}

impl Drop for OwnedPointer {
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

/// The handle of a function object. The context is dropped first, since freeing it may run the code.
struct Holder {
    context: Context,
    address: SafeCall,
    _function: HostFunction,
}

/// The safe call of function objects with a context: passes the context as the handle.
unsafe extern "C" fn enter(
    handle: *mut c_void,
    args: *const Any,
    num_args: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: the handle is the holder that the function object was created with, and the caller keeps the object
    // alive.
    let holder = unsafe { &*handle.cast::<Holder>() };
    // SAFETY: the other arguments are passed on unchanged; the context is the one that the closure expects.
    unsafe { (holder.address)(holder.context.pointer(), args, num_args, result) }
}

/// The deleter of function objects.
unsafe extern "C" fn release(handle: *mut c_void) {
    // SAFETY: called once, with the pointer that `into_ffi_function` handed over.
    let holder = unsafe { Box::from_raw(handle.cast::<Holder>()) };
    quietly(|| drop(holder));
}

/// The variable [`KEEPER`](tvm_ffi_codegen::linker::KEEPER) of host IR.
#[repr(C)]
struct Keeper {
    make: unsafe extern "C" fn(*const Code, *mut Any) -> i32,
    code: *const Code,
}

impl Compiled {
    /// Fills a variable, so that the function objects that bodies make keep the code.
    ///
    /// # Safety
    /// The place is that of a [`KEEPER`](tvm_ffi_codegen::linker::KEEPER) of this code, which is not running.
    pub(crate) unsafe fn keep(&self, place: DataRange) {
        let keeper = Keeper { make: make_owner, code: Arc::as_ptr(&self.0) };
        // SAFETY: the variable is writable and has the size and the alignment of a keeper.
        unsafe { place.start.0.cast_mut().cast::<Keeper>().write(keeper) };
    }
}

/// Makes an object that keeps code: a function that does nothing and owns a handle.
unsafe extern "C" fn make_owner(code: *const Code, to: *mut Any) -> i32 {
    // SAFETY: a function of the code is running, so that its caller holds a handle.
    let function_create = unsafe { (*code).runtime }.functions.function_create;
    let mut object = ptr::null_mut();
    let handle = code.cast_mut().cast();
    // SAFETY: as above, for the handle that the object frees.
    let status = unsafe {
        Arc::increment_strong_count(code);
        function_create(handle, do_nothing, Some(release_code), &mut object)
    };
    // SAFETY: no object frees the handle; on success the place is writable, and the object comes with a reference.
    unsafe {
        if status != 0 {
            release_code(handle);
            return status;
        }
        to.write(Any::ptr(TypeIndex::FUNCTION, object.cast()));
    }
    0
}

/// The safe call of an object that keeps code.
unsafe extern "C" fn do_nothing(_: *mut c_void, _: *const Any, _: i32, result: *mut Any) -> i32 {
    // SAFETY: whoever calls a function object gives it a place for the result.
    unsafe { result.write(Any::NONE) };
    0
}

/// The deleter of an object that keeps code.
unsafe extern "C" fn release_code(code: *mut c_void) {
    // SAFETY: called once, with the handle of `make_owner`.
    let code = unsafe { Arc::from_raw(code.cast_const().cast::<Code>()) };
    quietly(|| drop(code));
}

impl HostFunction {
    /// Makes a function object of the runtime, which keeps the code and the context alive. Kernels of a closure get the
    /// pointer of the context as `self`.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::{Context, Jit};
    ///
    /// extern "C" fn scale(factor: *const f64, x: f64) -> f64 {
    ///     // SAFETY: the context is an `f64`.
    ///     unsafe { *factor * x }
    /// }
    ///
    /// let library: Library = "scale(self: ptr, x: float64) -> float64 = scale(self, x);".parse()?;
    /// // SAFETY: the contexts below are numbers.
    /// let jit = unsafe { Jit::new()?.kernel("scale", scale as extern "C" fn(_, _) -> _) };
    /// let function = jit.compile(&library)?.function("scale").expect("it is declared");
    ///
    /// // SAFETY: the kernel takes a `*const f64`.
    /// let twice = function.clone().into_ffi_function(unsafe { Context::new(2.0_f64) })?;
    /// // SAFETY: as above.
    /// let thrice = function.into_ffi_function(unsafe { Context::new(3.0_f64) })?;
    /// assert_eq!(f64::try_from(twice.call((7.0,))?)?, 14.0);
    /// assert_eq!(f64::try_from(thrice.call((7.0,))?)?, 21.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Context`] for a closure without a context; [`Error::Call`] if the runtime refuses.
    pub fn into_ffi_function(self, context: Context) -> Result<FfiFunction, Error> {
        if self.is_closure() && context.is_none() {
            return Err(Error::Context { function: self.name().to_owned() });
        }
        let (runtime, address, reads) = (self.runtime(), self.as_ptr(), self.reads.clone());
        // A function that ignores its handle is called directly.
        let callee = if context.is_none() { address } else { enter };
        let holder = Box::into_raw(Box::new(Holder { context, address, _function: self }));
        let mut object = ptr::null_mut();
        // SAFETY: `callee` takes the holder as its handle or ignores it; `release` frees the holder.
        let status = unsafe {
            (runtime.functions.function_create)(holder.cast(), callee, Some(release), &mut object)
        };
        // SAFETY: on success the object comes with a reference, and is this function.
        match (status, unsafe { FfiFunction::from_raw(object, runtime) }) {
            // SAFETY: the object calls the host function, which only reads these arguments.
            (0, Some(object)) => Ok(unsafe { object.reading(reads) }),
            _ => {
                // SAFETY: no function object owns the holder.
                unsafe { release(holder.cast()) };
                Err(raised(status, runtime).into())
            }
        }
    }
}
