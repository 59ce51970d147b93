//! Function objects of a runtime, which other languages and libraries call too.

use std::ptr;

use abi_spec::TypeIndex;

use super::arg::{Arg, IntoArg, object, values};
use super::args::Args;
use super::call::{Callee, Reads};
use super::object::{ObjectRef, raised};
use super::returned::Returned;
use crate::abi::{Any, ByteArray, FunctionCell, Object};
use crate::error::{CallError, Error};
use crate::runtime::Runtime;

/// Owns one reference to a function object of a runtime.
///
/// # Contract of functions
/// Calling a function is safe, also one that another function has returned. So whoever takes one from outside, by
/// [`FfiFunction::from_raw`] or [`FfiFunction::global`], promises that it can be called on any thread with any number of
/// values of any type, and that the same holds for every function that it returns.
///
/// Values include None, of which libtvm_ffi makes a NULL pointer wherever a function takes a pointer. Few functions
/// that take pointers are therefore sound: `ffi.FunctionFromExternC` makes a function of any address, also of NULL. An
/// address other than NULL is vouched for where it becomes an argument, see [`Arg::pointer`].
///
/// A closure that takes a function ([`FfiFunction::wrap`]) trusts its callers with that promise, as every function of
/// TVM FFI does that takes one.
///
/// Nor does the function change a list or a dict that another thread may use at the same time: the runtime's containers
/// have no lock.
#[derive(Clone, Debug)]
pub struct FfiFunction {
    object: ObjectRef,
    reads: Reads,
}

// SAFETY: reference counts are atomic, and a function object may be called and freed on any thread.
unsafe impl Send for FfiFunction {}
// SAFETY: as above.
unsafe impl Sync for FfiFunction {}

// SAFETY: a function object keeps the contract of functions, as everything that makes one demands.
unsafe impl Callee for FfiFunction {
    #[inline]
    fn runtime(&self) -> &'static Runtime {
        self.object.runtime()
    }

    #[inline]
    fn reads(&self, index: usize) -> bool {
        self.reads.has(index)
    }

    #[inline]
    unsafe fn enter(&self, args: *const Any, num_args: i32, result: *mut Any) -> i32 {
        // SAFETY: the object is a function. Its cell has the function to call, with the object as the handle.
        unsafe {
            let safe_call = (*self.object.cell::<FunctionCell>()).safe_call;
            safe_call(self.as_raw().cast(), args, num_args, result)
        }
    }
}

/// A function that keeps its arguments.
pub(crate) struct Retaining(FfiFunction);

// SAFETY: as for the function itself.
unsafe impl Callee for Retaining {
    fn runtime(&self) -> &'static Runtime {
        self.0.runtime()
    }

    fn reads(&self, _index: usize) -> bool {
        false
    }

    fn retains_arguments(&self) -> bool {
        true
    }

    unsafe fn enter(&self, args: *const Any, num_args: i32, result: *mut Any) -> i32 {
        // SAFETY: as required of the caller.
        unsafe { self.0.enter(args, num_args, result) }
    }
}

impl Retaining {
    pub(crate) fn call(&self, args: impl Args) -> Result<Returned, CallError> {
        args.call(self)
    }
}

impl FfiFunction {
    /// Takes over a reference. Returns `None` for NULL and for objects that are no functions.
    ///
    /// # Safety
    /// The object is live and belongs to this runtime, the caller gives one reference up, and the function keeps the
    /// [contract of functions](FfiFunction#contract-of-functions).
    pub unsafe fn from_raw(object: *mut Object, runtime: &'static Runtime) -> Option<FfiFunction> {
        // SAFETY: as required above.
        FfiFunction::try_from(unsafe { ObjectRef::from_raw(object, runtime) }?).ok()
    }

    /// The address of the object, borrowed.
    pub fn as_raw(&self) -> *mut Object {
        self.object.as_raw()
    }

    /// Hands over the reference, which the caller must release.
    pub fn into_raw(self) -> *mut Object {
        self.object.into_raw()
    }

    /// Calls the function, as [`HostFunction::call`](crate::HostFunction::call) does.
    ///
    /// # Errors
    /// The error that the function raised; a `TypeError` if an argument is an object of another runtime, memory that is
    /// shared and might be written to, or an address that a call has returned.
    #[inline]
    pub fn call(&self, args: impl Args) -> Result<Returned, CallError> {
        args.call(self)
    }

    /// Looks a global function up by name.
    ///
    /// ```
    /// use tvm_ffi_codegen_jit::{FfiFunction, Returned, runtime};
    ///
    /// // SAFETY: the function makes a shape of integers and raises an error for everything else.
    /// let make = unsafe { FfiFunction::global("ffi.Shape", runtime()) }?.expect("every runtime has it");
    /// assert_eq!(make.call((2, 3))?.shape()?, [2, 3]);
    /// assert!(make.call(((),)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Looking one up needs `unsafe`, since its name does not tell what it does:
    ///
    /// ```compile_fail,E0133
    /// use tvm_ffi_codegen_jit::{FfiFunction, runtime};
    ///
    /// let function = FfiFunction::global("ffi.FunctionFromExternC", runtime());
    /// ```
    ///
    /// # Safety
    /// The function of this name, if there is one, keeps the [contract of
    /// functions](FfiFunction#contract-of-functions), or it is only called with arguments for which it does.
    ///
    /// # Errors
    /// [`Error::Call`] if the runtime refuses.
    pub unsafe fn global(
        name: &str,
        runtime: &'static Runtime,
    ) -> Result<Option<FfiFunction>, Error> {
        let get_global = runtime.get_global()?;
        let (name, mut object) = (ByteArray::new(name.as_bytes()), ptr::null_mut());
        // SAFETY: both places are valid.
        match unsafe { get_global(&name, &mut object) } {
            // SAFETY: the object is a function and comes with a reference; the rest is required above.
            0 => Ok(unsafe { FfiFunction::from_raw(object, runtime) }),
            status => Err(raised(status, runtime).into()),
        }
    }

    /// Registers the function under a global name, for every user of the runtime in the process.
    ///
    /// # Safety
    /// The runtime's table of functions has no lock: while this call runs, no other thread registers a function or
    /// looks one up, as compiled code does at its first call of a function by name. If `replace` is true and the name
    /// is taken, whoever calls that function can do with this one: code trusts `ffi.Array` to return an array.
    ///
    /// # Errors
    /// [`Error::Call`] if the name is taken and `replace` is false; [`Error::Unavailable`] with the
    /// built-in runtime.
    pub unsafe fn register_global(&self, name: &str, replace: bool) -> Result<(), Error> {
        let runtime = self.object.runtime();
        let name = ByteArray::new(name.as_bytes());
        let set_global = runtime.set_global()?;
        // SAFETY: the object is a live function; the runtime takes a reference of its own.
        match unsafe { set_global(&name, self.as_raw(), i32::from(replace)) } {
            0 => Ok(()),
            status => Err(raised(status, runtime).into()),
        }
    }

    /// Sets the arguments that the function only reads.
    ///
    /// # Safety
    /// The function writes to no tensor among them.
    pub(crate) unsafe fn reading(self, reads: Reads) -> FfiFunction {
        FfiFunction { reads, ..self }
    }

    /// The function as one that keeps its arguments.
    pub(crate) fn retaining(self) -> Retaining {
        Retaining(self)
    }
}

values! {
    ['a] &'a FfiFunction, function => object(&function.object);
}

impl From<FfiFunction> for ObjectRef {
    fn from(function: FfiFunction) -> Self {
        function.object
    }
}

impl TryFrom<ObjectRef> for FfiFunction {
    type Error = ObjectRef;

    /// Returns the object if it is no function.
    fn try_from(object: ObjectRef) -> Result<FfiFunction, ObjectRef> {
        if object.ty() != TypeIndex::FUNCTION {
            return Err(object);
        }
        Ok(FfiFunction { object, reads: Reads::default() })
    }
}
