//! Compiled code and the functions in it.

use std::any;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex};

use abi_spec::symbol::PREFIX;
use tvm_ffi_codegen::Signature;
use tvm_ffi_codegen::linker::{FORGET, UNLOAD};

use crate::abi::{Any, SafeCall};
use crate::code::address::{Address, DataRange};
use crate::code::assembly::{OwnFunction, Text};
use crate::code::symbols::Symbols;
use crate::error::CallError;
use crate::runtime::Runtime;
use crate::value::args::Args;
use crate::value::call::{Callee, Reads};
use crate::value::object::raised;
use crate::value::returned::Returned;

/// The code that one [`Jit`](crate::Jit) compiled. A handle: clones share the code, which is freed with the last
/// of them and of the functions taken from it.
#[derive(Clone)]
pub struct Compiled(pub(crate) Arc<Code>);

/// Code and everything it refers to. No function runs when this is dropped, since its caller holds a handle.
pub(crate) struct Code {
    pub(crate) runtime: &'static Runtime,
    /// FFI functions, sorted by name.
    pub(crate) entries: Vec<Entry>,
    /// C functions of `extern` declarations, sorted by name.
    pub(crate) externals: Vec<(String, Address)>,
    /// The functions that return metadata and documentation, by symbol.
    pub(crate) getters: Vec<(String, Address)>,
    /// The import tree and the library context, if there are any, by symbol.
    pub(crate) data: Vec<(String, DataRange)>,
    /// Functions that the user has defined in the native module.
    pub(crate) own: Vec<OwnFunction<Address>>,
    /// The kernels that were given.
    pub(crate) symbols: Symbols,
    /// Names of kernels that nothing calls.
    pub(crate) uncalled: Vec<String>,
    /// The code. It is dropped before the values that it refers to.
    pub(crate) text: Text,
    /// The values of [`Jit::keep`](crate::Jit::keep). The lock makes the field `Sync`, which the values need not be.
    pub(crate) _kept: Mutex<Vec<Box<dyn any::Any + Send>>>,
}

impl Code {
    /// Returns the address of an exported function that is no FFI function.
    fn external(&self, name: &str) -> Option<*const c_void> {
        let index = self.externals.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(self.externals[index].1.0.cast())
    }
}

/// Releases what cached calls keep.
impl Drop for Code {
    fn drop(&mut self) {
        if let Some(address) = self.external(FORGET) {
            // SAFETY: lowering gives the function this type, and no function of the code runs.
            let forget: extern "C" fn() = unsafe { std::mem::transmute(address) };
            forget();
        }
    }
}

/// An FFI function of compiled code.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) address: SafeCall,
    /// The signature of its declaration; `None` for host IR that [`Jit::emit`](crate::Jit::emit) got.
    pub(crate) signature: Option<Arc<Signature>>,
    /// True if the function reads its handle.
    pub(crate) closure: bool,
    pub(crate) reads: Reads,
}

impl Compiled {
    /// Returns the function of this name.
    pub fn function(&self, name: &str) -> Option<HostFunction> {
        let index = self.0.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        let Entry { address, closure, reads, .. } = &self.0.entries[index];
        let (address, closure, reads) = (*address, *closure, reads.clone());
        let (code, runtime) = (self.0.clone(), self.0.runtime);
        Some(HostFunction { address, runtime, reads, closure, code, index })
    }

    /// Returns the address of the C function of a declaration that is `extern`, or of a handler of XLA by its symbol:
    /// `xla_f` for `f` with [`Handlers::new("xla")`](tvm_ffi_codegen::Handlers::new).
    ///
    /// Its type is the prototype in [`Resolved::header`](tvm_ffi_codegen::Resolved::header): the parameters of the
    /// declaration as C types, then a pointer for the result unless that is `None`. It returns 0, or -1 with the error
    /// in the thread's slot, from which [`Compiled::raised`] takes it. The address is valid while a handle to the code
    /// lives.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// let library: Library = "extern half(n: int64) -> int64 where n % 2 == 0 = { return n / 2; };".parse()?;
    /// assert!(library.resolve()?.header().contains("int32_t half(int64_t n, int64_t* result);"));
    /// let compiled = Jit::new()?.compile(&library)?;
    /// let address = compiled.external("half").expect("it is declared `extern`");
    /// // SAFETY: this is the type in the header, and `compiled` outlives the calls.
    /// let half: extern "C" fn(i64, *mut i64) -> i32 = unsafe { std::mem::transmute(address) };
    ///
    /// let mut result = 0;
    /// assert_eq!((half(6, &mut result), result), (0, 3));
    /// let status = half(7, &mut result);
    /// assert!(compiled.raised(status).message.starts_with("Violated n % 2 == 0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn external(&self, name: &str) -> Option<*const c_void> {
        self.0.external(name)
    }

    /// Returns the address of a function or of data by its symbol: what the code defines, such as `__tvm_ffi_add_one`
    /// and the kernels of [`Jit::define`](crate::Jit::define), or else a kernel that it was given or has
    /// [imported](crate::Jit::import). The address is valid while a handle to the code lives; that of a given kernel is
    /// what was given.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// extern "C" fn one() -> i64 {
    ///     1
    /// }
    ///
    /// let library: Library = "f() -> int64 = one();".parse()?;
    /// let kernel: extern "C" fn() -> _ = one;
    /// // SAFETY: the kernel is sound.
    /// let compiled = unsafe { Jit::new()?.kernel("one", kernel) }.compile(&library)?;
    /// assert_eq!(compiled.address("one"), Some(kernel as *const _));
    /// let function = compiled.function("f").expect("it is declared");
    /// assert_eq!(compiled.address("__tvm_ffi_f"), Some(function.as_ptr() as *const _));
    /// assert_eq!(compiled.address("two"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn address(&self, symbol: &str) -> Option<*const c_void> {
        let code = &self.0;
        let entry = || Some(self.function(symbol.strip_prefix(PREFIX)?)?.as_ptr() as *const u8);
        let own = || Some(code.own.iter().find(|own| own.symbol == symbol)?.place.0);
        let getter = || Some(code.getters.iter().find(|(name, _)| name == symbol)?.1.0);
        let data = || Some(code.data.iter().find(|(name, _)| name == symbol)?.1.start.0);
        let kernel = || Some(code.symbols.kernel(symbol)?.0);
        let external = self.external(symbol).map(<*const c_void>::cast);
        let found = external.or_else(entry).or_else(own).or_else(getter).or_else(data);
        found.or_else(kernel).map(<*const u8>::cast)
    }

    /// Takes the error out of the thread's slot after a C function of this code has returned a status other than 0. If
    /// the slot is empty, the result is a `RuntimeError` that names the status.
    pub fn raised(&self, status: i32) -> CallError {
        raised(status, self.0.runtime)
    }

    /// Unloads the images from which functions of this code have launched GPU kernels. The next launch loads them
    /// again. Freeing the code leaves images loaded, since it is not known when the last of their GPU kernels has run.
    ///
    /// # Safety
    /// No function of this code is running. No GPU kernel of the images is running or will run, as one in a captured
    /// graph would.
    pub unsafe fn unload_images(&self) {
        if let Some(address) = self.external(UNLOAD) {
            // SAFETY: lowering gives the function this type; the rest is required above.
            let unload: extern "C" fn() = unsafe { std::mem::transmute(address) };
            unload();
        }
    }

    /// Names of all functions, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Names of the [kernels](crate::Jit::kernel) that were given and that nothing calls, in alphabetical order.
    /// Callers may warn of them, since the names may be misspelt.
    pub fn uncalled(&self) -> impl Iterator<Item = &str> {
        self.0.uncalled.iter().map(String::as_str)
    }

    /// Size of the code and its data in memory, in bytes: whole pages.
    pub fn mapped_bytes(&self) -> usize {
        self.0.text.memory.size()
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
pub struct HostFunction {
    address: SafeCall,
    runtime: &'static Runtime,
    pub(crate) reads: Reads,
    closure: bool,
    code: Arc<Code>,
    index: usize,
}

// SAFETY: `Jit::kernel` demands that kernels are sound for arguments that pass the checks of wrappers, and do not write
// to tensors that are declared as only read. `HostFunction::call` does not call closures.
unsafe impl Callee for HostFunction {
    #[inline]
    fn runtime(&self) -> &'static Runtime {
        self.runtime
    }

    #[inline]
    fn reads(&self, index: usize) -> bool {
        self.reads.has(index)
    }

    #[inline]
    unsafe fn enter(&self, args: *const Any, num_args: i32, result: *mut Any) -> i32 {
        // SAFETY: as required of the caller; the function ignores its handle.
        unsafe { (self.address)(ptr::null_mut(), args, num_args, result) }
    }
}

impl HostFunction {
    /// Calls the function with a tuple or an array of [arguments](crate::IntoArg).
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// extern "C" fn axpy(a: f64, x: *const f64, y: *mut f64, n: i64) {
    ///     for i in 0..n as usize {
    ///         // SAFETY: the declaration says that both have `n` elements.
    ///         unsafe { *y.add(i) += a * *x.add(i) };
    ///     }
    /// }
    ///
    /// let library: Library = "
    ///     axpy(x: Tensor([n], float64, access=read), y: Tensor([n], float64), a: float64) -> None
    ///         = axpy(a, x.data, y.data, n);
    /// ".parse()?;
    /// let kernel: extern "C" fn(_, _, _, _) = axpy;
    /// // SAFETY: the kernel is sound for vectors of one length, and only reads `x`.
    /// let jit = unsafe { Jit::new()?.kernel("axpy", kernel) };
    /// let axpy = jit.compile(&library)?.function("axpy").expect("it is declared");
    ///
    /// let (x, mut y) = (vec![1.0, 2.0], vec![10.0, 10.0]);
    /// axpy.call((&x, &mut y, 2.0))?;
    /// assert_eq!(y, [12.0, 14.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The error that a check of the declaration or a kernel raised. A `TypeError` if an argument is an object of
    /// another runtime, memory that is shared and might be written to, or an address that a call has returned and that
    /// is not [vouched for](crate::Arg::vouched). A `RuntimeError` for a closure, which has no context yet; see
    /// [`HostFunction::into_ffi_function`].
    #[inline]
    pub fn call(&self, args: impl Args) -> Result<Returned, CallError> {
        if self.closure {
            return Err(*self.without_context());
        }
        args.call(self)
    }

    #[cold]
    fn without_context(&self) -> Box<CallError> {
        let message = format!("closure `{}` needs a context", self.name());
        Box::new(CallError::new("RuntimeError", message))
    }

    /// Calls the function as C does.
    ///
    /// # Safety
    /// `args` points at `num_args` valid values and `result` at a value that is no object. `handle` is the context of a
    /// closure; other functions ignore it.
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

    /// The address of the function, valid while a handle to the code lives. It raises errors in its
    /// [runtime](HostFunction::runtime).
    pub fn as_ptr(&self) -> SafeCall {
        self.address
    }

    /// The name in the declaration.
    pub fn name(&self) -> &str {
        &self.code.entries[self.index].name
    }

    /// The signature of its declaration; `None` for a function of host IR that [`Jit::emit`](crate::Jit::emit) got.
    pub fn signature(&self) -> Option<&Signature> {
        self.code.entries[self.index].signature.as_deref()
    }

    /// The runtime that the function calls.
    pub fn runtime(&self) -> &'static Runtime {
        self.runtime
    }

    /// True if the function reads its handle, so that it needs a context.
    pub fn is_closure(&self) -> bool {
        self.closure
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFunction({})", self.name())
    }
}
