//! The way from declarations and kernels to callable functions.

use std::any;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use abi_spec::symbol::{self, Reserved};
use cranelift_module::Module as _;
use tvm_ffi_codegen::{Library, Options, ir};

use crate::abi::SafeCall;
use crate::code::assembly::{Assembly, Linked};
use crate::code::callers;
use crate::code::routines::routines;
use crate::compiled::{Code, Compiled, Entry};
use crate::declared::{Declared, Vouched};
use crate::error::Error;
use crate::given::GivenFunction;
use crate::kernel::KernelFn;
use crate::options::{JitOptions, LOWERING};
use crate::runtime::Runtime;
use crate::value::call::Reads;

/// Compiles functions into the process.
///
/// Every method takes the JIT and returns it; [`Jit::compile`] and [`Jit::finish`] make a [`Compiled`] of it.
/// Kernels are C functions ([`Jit::kernel`]), addresses ([`Jit::kernel_at`]), or functions of the native module
/// ([`Jit::define`]).
///
/// # Contract of kernels
/// Calling a compiled function is safe, and it calls kernels, so giving a kernel is a promise. It must
///
/// 1. have the C type that the declarations call it with (the grammar's "C types of call arguments");
/// 2. be sound for all arguments that the checks of those declarations let pass, on any thread. Checks that
///    [`JitOptions::lowering`] omits refuse nothing. In particular:
///     * the memory of a tensor is what its extents, strides and type say, readable and writable, and may overlap that
///       of other tensors;
///     * a `ptr` is what its caller vouched for, in unsafe code, or NULL, since None stands for it and anybody may pass
///       that (`where p != null` refuses it);
///     * a `Stream` is any number, for which only [`Jit::launches`] vouches;
///     * a closure's `self` is what its [`Context`](crate::Context) holds;
/// 3. be sound for the addresses that the declarations make themselves, of a number (`ptr(n)`) or of a tensor (`x.data`
///    in a function made by a body, which may outlive the tensor);
/// 4. write only 0 and 1 to tensors of `bool`;
/// 5. write to no tensor whose elements the declaration says are only read
///    ([`Access::Read`](tvm_ffi_codegen::Access::Read)): callers pass memory that others read too, or that is
///    read-only. The type with which declarations call the kernel says `const` there;
/// 6. not access the memory of a tensor after it has returned the tensor;
/// 7. not write to the memory of a tensor that a function made by a body holds, unless nobody reads it then;
/// 8. not unwind;
/// 9. leave no error in the thread's slot after which it says that all went well: the next kernel that fails would seem
///    to have raised it;
/// 10. stay at its address until the code is freed: [`Jit::keep`] keeps its library loaded.
#[must_use]
pub struct Jit {
    pub(crate) options: JitOptions,
    pub(crate) assembly: Assembly,
    closures: Vec<String>,
    /// Functions that bodies may call, each name once.
    pub(crate) given: Vec<GivenFunction>,
    vouched: Vouched,
    pub(crate) kept: Vec<Box<dyn any::Any + Send>>,
}

impl Jit {
    /// The default of [`JitOptions::lowering`]: shared routines, no metadata, all checks.
    pub const OPTIONS: Options = LOWERING;

    /// Makes a JIT whose code calls the default [`runtime`](crate::runtime()).
    ///
    /// # Errors
    /// The errors of [`Jit::with_options`].
    pub fn new() -> Result<Jit, Error> {
        Jit::with_options(JitOptions::default())
    }

    /// Makes a JIT whose code calls this runtime.
    ///
    /// # Errors
    /// The errors of [`Jit::with_options`].
    pub fn with_runtime(runtime: &'static Runtime) -> Result<Jit, Error> {
        Jit::with_options(JitOptions { runtime, ..JitOptions::default() })
    }

    /// Makes a JIT with these options.
    ///
    /// # Errors
    /// [`Error::Runtime`] if the runtime is the default one and `TVM_FFI_LIBRARY` names a file that is no runtime;
    /// [`Error::Backend`] if there is no code generator for this machine.
    pub fn with_options(options: JitOptions) -> Result<Jit, Error> {
        options.runtime.rejected().map_or(Ok(()), |error| Err(error.clone()))?;
        callers::note(options.runtime);
        let routines = routines(options.runtime, options.observers)?;
        let assembly = Assembly::new(options.runtime, options.opt_level, routines)?;
        Ok(Jit {
            options,
            assembly,
            closures: Vec::new(),
            given: Vec::new(),
            vouched: Vouched::default(),
            kept: Vec::new(),
        })
    }

    /// Gives a kernel. Its type is compared with the one that declarations call it with, as far as it decides how C
    /// passes values: the number of parameters, and for each of them and for the result whether it is a pointer, an
    /// integer or a float and how wide it is; for integers below 32 bits also whether they have a sign.
    ///
    /// **What is not compared** is what a pointer points at, which no register shows: `*const f64` passes for a tensor
    /// of `float32`, and `*mut f32` for one that is only read. Kernels may read elements as another type, and what C
    /// declares without `const` need not write, so neither is refused. That the kernel does right with the memory is
    /// part of the promise below. [`Library::kernels`] lists the parameters as C writes them, with `const`.
    ///
    /// A later kernel of the same name replaces it. Functions of the native module and of the runtime precede it.
    /// [`Compiled::uncalled`] names the kernels that nobody calls.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// extern "C" fn add(x: i64, y: i32) -> i64 {
    ///     x + i64::from(y)
    /// }
    ///
    /// let library: Library = "add(x: int64, y: int64) -> int64 = add(x, y);".parse()?;
    /// // SAFETY: the kernel is sound for all integers.
    /// let jit = unsafe { Jit::new()?.kernel("add", add as extern "C" fn(_, _) -> _) };
    /// assert_eq!(
    ///     jit.compile(&library).unwrap_err().to_string(),
    ///     "kernel `add` is called as (i64, i64) -> i64 and was given as (i64, i32) -> i64"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// The kernel keeps the [contract of kernels](Jit#contract-of-kernels).
    pub unsafe fn kernel<K: KernelFn>(self, symbol: &str, kernel: K) -> Jit {
        self.assembly.symbols.define(symbol, kernel.address(), Some(K::signature()));
        self
    }

    /// Adds a kernel by its address. Its type is not checked.
    ///
    /// # Safety
    /// The requirements of [`Jit::kernel`] hold, and the function has the C type that the declarations call it with.
    pub unsafe fn kernel_at(self, symbol: &str, address: *const u8) -> Jit {
        self.assembly.symbols.define(symbol, address, None);
        self
    }

    /// Lets libraries launch GPU kernels of the images that they bring along, find variables there, and copy and fill
    /// memory of a GPU.
    ///
    /// # Safety
    /// GPU kernels keep the [contract of kernels](Jit#contract-of-kernels): they touch no memory but what the
    /// declarations give them. So do `upload`, `fill` and `copy`: the memory at their addresses has as many bytes. A
    /// `Stream` that a caller passes is one, though it is a number.
    pub unsafe fn launches(mut self) -> Jit {
        self.vouched.launches = true;
        self
    }

    /// Lets libraries call FFI functions that they do not define: by a name of the registry or of their imports,
    /// `@"name"(…)` and `image i on load @"name";`, and by value, `@(f)(…)`; and C functions by their addresses,
    /// `(p)(…)`.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// let library: Library = "f() -> Any = { let r: Any = @\"ffi.Shape\"(2, 3); return r; };".parse()?;
    /// let error = Jit::new()?.compile(&library).unwrap_err();
    /// assert_eq!(error.to_string(), "nobody vouches for `@\"ffi.Shape\"`: see `Jit::calls`");
    /// // SAFETY: the function makes a shape of integers.
    /// let compiled = unsafe { Jit::new()?.calls() }.compile(&library)?;
    /// assert_eq!(compiled.function("f").expect("it is declared").call(())?.shape()?, [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A C function whose address another kernel returns:
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// extern "C" fn twice(n: i64) -> i64 { 2 * n }
    /// extern "C" fn pick(n: i64) -> *const () { if n > 0 { twice as *const () } else { std::ptr::null() } }
    ///
    /// let text = "f(n: int64) -> int64 = { let p: ptr = pick(n); let r: int64 = (p)(n); return r; };";
    /// let kernel: extern "C" fn(_) -> _ = pick;
    /// // SAFETY: the kernel returns NULL or the address of a function from integer to integer.
    /// let jit = unsafe { Jit::new()?.kernel("pick", kernel).calls() };
    /// let compiled = jit.compile(&text.parse::<Library>()?)?;
    /// let f = compiled.function("f").expect("it is declared");
    /// assert_eq!(i64::try_from(f.call((21,))?)?, 42);
    /// let text = "ValueError: Mismatched p when calling: `f(n: int64)`, expected the address of a C function but got NULL";
    /// assert_eq!(f.call((0,)).unwrap_err().to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// These functions are sound for all arguments that the declarations call them with, and what they return is sound
    /// for what the declarations do with it. They write to no tensor that a declaration which passes it on says is only
    /// read. That is more than the [contract of
    /// functions](crate::FfiFunction#contract-of-functions) where a declaration passes on an address, such as `x.data`
    /// or the result of another call, for which no caller vouches.
    pub unsafe fn calls(mut self) -> Jit {
        self.vouched.calls = true;
        self
    }

    /// Marks an exported function of [`Jit::emit`] as a closure, which reads its handle. [`Jit::compile`] knows the
    /// closures of declarations.
    pub fn closure(mut self, name: &str) -> Jit {
        self.closures.push(name.to_owned());
        self
    }

    /// Keeps a value until the code is freed, such as the loaded library that kernels are in. Any thread may drop it.
    pub fn keep(mut self, value: impl Send + 'static) -> Jit {
        self.kept.push(Box::new(value));
        self
    }

    /// Compiles declarations: lowers them, emits the host IR, and links it with everything that was emitted and defined
    /// before.
    ///
    /// An error takes the JIT and the kernels with it, and names the first fault of the declarations.
    /// [`Library::validate`] needs no JIT and returns all faults: a compiler that shows errors to its users calls it first.
    ///
    /// Operators of [`Library::torch`] are registered by a call of the function `_torch` ([the chapter on
    /// frameworks](tvm_ffi_codegen::guide::frameworks) says what it returns). Code with operators is kept for the rest
    /// of the process, since PyTorch forgets none.
    ///
    /// # Errors
    /// [`Error::Declaration`] if they are not valid; [`Error::Undefined`] naming the kernels that are
    /// missing; [`Error::Kernel`] or, for one of the native module, [`Error::Backend`] if a kernel has another type;
    /// [`Error::Unvouched`] without [`Jit::launches`] or [`Jit::calls`]; [`Error::Backend`] for a [system
    /// library](Library::system_lib); and those of [`Jit::finish`].
    pub fn compile(mut self, library: &Library) -> Result<Compiled, Error> {
        if library.system_lib.is_some() {
            let reason = "a system library registers itself when a program starts that it is linked into: \
                 emit an object file";
            return Err(Error::Backend(backend_cranelift::Error::Unsupported { reason }));
        }
        // Whatever else the options say: the code is freed, and with it what its cached calls keep.
        let lowering = Options { in_process: true, ..self.options.lowering.clone() };
        let source = tvm_ffi_codegen::lower(&library.resolve()?, &lowering);
        let given: HashSet<&str> = self.given.iter().map(|given| &*given.name).collect();
        self.vouched.check(library, &given)?;
        let declared = Declared::new(library);
        // Lowering has made the host IR, and whoever gave kernels promised that they keep their contract.
        self.add(&source)?;
        let compiled = self.link(&declared)?;
        if library.torch.is_some() {
            std::mem::forget(compiled.clone());
        }
        Ok(compiled)
    }

    /// Emits host IR and compiles it to machine code. May be called several times, before [`Jit::finish`].
    ///
    /// # Safety
    /// Lowering made the host IR, from declarations whose kernels keep their contract; or else its exports named
    /// `__tvm_ffi_…` are FFI functions that are as sound. [`Jit::closure`] names those that read their handle. Whoever
    /// calls `_torch` of code with operators of PyTorch never frees the code.
    ///
    /// # Errors
    /// [`Error::Undefined`] if a symbol is not defined; [`Error::Kernel`] if a kernel has another type;
    /// [`Error::Backend`].
    pub unsafe fn emit(mut self, source: &ir::Module) -> Result<Jit, Error> {
        self.add(source)?;
        Ok(self)
    }

    /// Emits host IR, after functions for the symbols of given ones that it imports.
    fn add(&mut self, source: &ir::Module) -> Result<(), Error> {
        // A constructor may call what one runtime has and another lacks; it is refused alike in both.
        if !source.constructors.is_empty() {
            return Err(Error::Backend(backend_cranelift::Error::Constructors));
        }
        for given in &self.given {
            let symbol = given.symbol();
            let imported =
                source.find(&symbol).map(|symbol| source.symbols[symbol.index()].linkage);
            if imported == Some(ir::Linkage::Import)
                && self.assembly.native.get_name(&symbol).is_none()
            {
                self.assembly.emit(&given.thunk())?;
            }
        }
        self.assembly.emit(source)
    }

    /// Links all functions that were emitted and defined, and makes them executable and callable.
    ///
    /// # Errors
    /// [`Error::Undefined`] if the native module refers to a symbol that is not defined; [`Error::Memory`];
    /// [`Error::Profile`].
    pub fn finish(self) -> Result<Compiled, Error> {
        self.link(&Declared::default())
    }

    fn link(mut self, declared: &Declared<'_>) -> Result<Compiled, Error> {
        self.assembly.variables = self.given.iter().map(GivenFunction::variable).collect();
        let symbols = self.assembly.symbols.clone();
        let Linked { functions, own, data, keeper, variables, uncalled, text, .. } =
            self.assembly.link(self.options.observers)?;
        let mut entries = Vec::with_capacity(functions.len());
        let (mut getters, mut externals) = (Vec::new(), Vec::new());
        for (symbol, address) in functions {
            let Some(name) = symbol.strip_prefix(symbol::PREFIX) else {
                externals.push((symbol, address));
                continue;
            };
            if Reserved::of(&symbol).is_some() {
                getters.push((symbol, address));
                continue;
            }
            let function = declared.functions.get(name);
            let signature = function.map(|function| function.signature.clone());
            let reads = function.map_or(Reads::default(), |function| function.reads.clone());
            let closure = signature.as_ref().is_some_and(|signature| signature.has_self())
                || self.closures.iter().any(|closure| closure == name);
            // SAFETY: this is the address of a function of this type, as `emit` demands.
            let address = unsafe { std::mem::transmute::<*const u8, SafeCall>(address.0) };
            entries.push(Entry { name: name.to_owned(), address, signature, closure, reads });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        externals.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (given, place) in self.given.iter().zip(variables) {
            if let Some(place) = place {
                // SAFETY: lowering made the variable; nothing calls the code yet, which the function outlives.
                unsafe { given.fill(place) };
            }
        }
        self.kept.push(Box::new(self.given));
        let (runtime, _kept) = (self.options.runtime, Mutex::new(self.kept));
        let code = Code {
            runtime,
            entries,
            externals,
            getters,
            data,
            own,
            symbols,
            uncalled,
            text,
            _kept,
        };
        let compiled = Compiled(Arc::new(code));
        if let Some(place) = keeper {
            // SAFETY: lowering made the variable, and nothing calls the code yet.
            unsafe { compiled.keep(place) };
        }
        Ok(compiled)
    }
}

/// Shows the names of what was given: kernels, functions, and exports of what was emitted.
impl fmt::Debug for Jit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: Vec<&str> = self.given.iter().map(|given| &*given.name).collect();
        f.debug_struct("Jit")
            .field("kernels", &self.assembly.symbols.kernels())
            .field("functions", &functions)
            .field("emitted", &self.assembly.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
