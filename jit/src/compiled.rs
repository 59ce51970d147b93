//! Compiled code and the functions in it.

use std::any;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use crate::abi::{Any, SafeCall};
use crate::error::Error;
use crate::ffi_function::{Context, FfiFunction};
use crate::memory::Memory;
use crate::runtime::Runtime;
use crate::symbols::Address;
use crate::value::{CallError, Returned, Value};

/// What one [`Jit`](crate::Jit) compiled. A handle: clones share the code, which is freed with the last
/// of them and of the functions taken from it.
#[derive(Clone)]
pub struct Compiled(pub(crate) Arc<Code>);

/// Code and all it needs. Nothing in it runs any more when this is dropped, because whoever runs it
/// holds a handle.
pub(crate) struct Code {
    pub(crate) runtime: &'static Runtime,
    /// Sorted by name.
    pub(crate) entries: Vec<Entry>,
    /// The functions that return metadata and documentation, by symbol.
    pub(crate) getters: Vec<(String, Address)>,
    /// The import tree and the context, where there are any, by symbol.
    pub(crate) data: Vec<(String, Place)>,
    /// Owns the code; goes before what the code refers to.
    pub(crate) memory: Memory,
    /// See [`Jit::keep`](crate::Jit::keep).
    pub(crate) _kept: Vec<Box<dyn any::Any + Send + Sync>>,
}

/// Data of compiled code.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) start: Address,
    pub(crate) size: usize,
}

/// A function of compiled code.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) address: SafeCall,
    /// Reads its handle.
    pub(crate) closure: bool,
}

impl Compiled {
    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<Function> {
        let index = self.0.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        Some(Function { address: self.0.entries[index].address, code: self.0.clone(), index })
    }

    /// The names of all functions, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.entries.iter().map(|entry| entry.name.as_str())
    }

    /// How much memory the code and its data take, in bytes: whole mappings, of which only pages that
    /// are used count for the process.
    pub fn mapped_bytes(&self) -> usize {
        self.0.memory.mapped()
    }

    /// The runtime that the code calls.
    pub fn runtime(&self) -> &'static Runtime {
        self.0.runtime
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Compiled")?;
        f.debug_list().entries(self.names()).finish()
    }
}

/// A compiled function. Keeps its code alive; may be called from any thread.
#[derive(Clone)]
pub struct Function {
    address: SafeCall,
    code: Arc<Code>,
    index: usize,
}

impl Function {
    /// Calls it.
    ///
    /// # Errors
    /// What the function raised: the checks of the declaration, or the kernel. A closure cannot be
    /// called like this, since it has no context yet; see [`Function::into_ffi_function`].
    pub fn call(&self, args: &[Value<'_>]) -> Result<Returned, CallError> {
        if self.entry().closure {
            let message = format!("closure `{}` needs a context", self.name());
            return Err(CallError::new("RuntimeError", message));
        }
        // No function takes as many.
        let num_args = i32::try_from(args.len()).unwrap_or(i32::MAX);
        let mut result = Any::NONE;
        // SAFETY: values are valid and `Value` is a transparent `Any`; there are `num_args` of them or
        // more. Wrappers check all that kernels rely on, which is what `Jit::kernel` demands to be
        // enough.
        let status =
            unsafe { self.call_raw(ptr::null_mut(), args.as_ptr().cast(), num_args, &mut result) };
        match status {
            // SAFETY: the call has succeeded.
            0 => Ok(unsafe { Returned::take(result, self.code.runtime) }),
            _ => Err(CallError::take(status, self.code.runtime)),
        }
    }

    /// Calls it as C does.
    ///
    /// # Safety
    /// `args` points at `num_args` valid values and `result` at a place for one, which holds no object;
    /// `handle` is what a closure expects, and ignored by others.
    pub unsafe fn call_raw(
        &self,
        handle: *mut c_void,
        args: *const Any,
        num_args: i32,
        result: *mut Any,
    ) -> i32 {
        // SAFETY: as required above; the code is alive.
        unsafe { (self.address)(handle, args, num_args, result) }
    }

    /// Its address, good for as long as a handle to the code lives.
    pub fn as_ptr(&self) -> SafeCall {
        self.address
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// Makes a function object of the runtime, which keeps the code and the context alive. The
    /// kernels of a closure get the context's pointer as `self`.
    ///
    /// ```
    /// use codegen::Library;
    /// use tvm_ffi_codegen_jit::{Context, Jit, Returned};
    ///
    /// extern "C" fn scale(factor: *const f64, x: f64) -> f64 {
    ///     // SAFETY: the context is an `f64`.
    ///     unsafe { *factor * x }
    /// }
    ///
    /// let library: Library = "scale(self: ptr, x: float64) -> float64 = scale(self, x);".parse()?;
    /// let mut jit = Jit::new()?;
    /// // SAFETY: the kernel has the type that the declaration calls it with.
    /// unsafe { jit.kernel("scale", scale as *const u8) };
    /// let function = jit.compile(&library)?.function("scale").expect("it is declared");
    ///
    /// // SAFETY: the kernel takes a `*const f64`.
    /// let twice = function.clone().into_ffi_function(unsafe { Context::new(2.0_f64) })?;
    /// // SAFETY: as above.
    /// let thrice = function.into_ffi_function(unsafe { Context::new(3.0_f64) })?;
    /// assert!(matches!(twice.call(&[7.0.into()])?, Returned::Float(14.0)));
    /// assert!(matches!(thrice.call(&[7.0.into()])?, Returned::Float(21.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Context`] for a closure without a context; [`Error::Call`] if the runtime refuses.
    pub fn into_ffi_function(self, context: Context) -> Result<FfiFunction, Error> {
        if self.entry().closure && context.is_none() {
            return Err(Error::Context { function: self.name().to_owned() });
        }
        FfiFunction::create(self, context)
    }

    pub(crate) fn runtime(&self) -> &'static Runtime {
        self.code.runtime
    }

    fn entry(&self) -> &Entry {
        &self.code.entries[self.index]
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name())
    }
}
