//! From declarations and kernels to callable functions.

use std::any;
use std::fmt;
use std::sync::{Arc, Mutex};

use abi_spec::symbol;
use backend_cranelift::signature;
use cranelift_codegen::ir::Signature;
use cranelift_module::Module;
use tvm_ffi_codegen::{Library, Loader, Options, Routines, Unchecked, ir};

use crate::abi::SafeCall;
use crate::code::assembly::{Assembly, Linked, Observers};
use crate::code::machine::{OptLevel, isa};
use crate::code::routines::routines;
use crate::compiled::{Code, Compiled, Entry};
use crate::error::Error;
use crate::runtime::{Runtime, runtime};
use crate::value::call::Reads;

/// The name of the function that an entry is exported under too.
const MAIN: &str = "main";

/// How to compile.
///
/// ```
/// use tvm_ffi_codegen_jit::{JitOptions, Observers, OptLevel};
///
/// let options = JitOptions {
///     opt_level: OptLevel::Speed,
///     observers: Observers { profiler: true, ..Observers::default() },
///     ..JitOptions::default()
/// };
/// # drop(options);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct JitOptions {
    /// Whose functions the code calls; [`runtime`] by default.
    pub runtime: &'static Runtime,
    /// For kernels that are defined in the [module](Jit::module); none by default.
    pub opt_level: OptLevel,
    /// Who is told of functions; nobody by default.
    pub observers: Observers,
}

impl Default for JitOptions {
    fn default() -> Self {
        let (opt_level, observers) = (OptLevel::default(), Observers::default());
        JitOptions { runtime: runtime(), opt_level, observers }
    }
}

/// Compiles functions into the process.
///
/// Kernels are C functions given by address ([`Jit::kernel`]), or functions that are defined in the
/// same module ([`Jit::module`]).
///
/// # Contract of kernels
/// Calling a compiled function is safe, and it calls kernels, so giving a kernel is a promise. It must
///
/// * have the C type that the declarations call it with (the grammar's "C types of call arguments");
/// * be sound for all arguments that the checks of those declarations let pass, on any thread: a
///   tensor's memory is what its extents, strides and type say, readable and writable, and may overlap
///   that of other tensors; a `ptr` is what its caller vouched for, in unsafe code; a closure's `self` is what its
///   [`Context`](crate::Context) holds;
/// * write only 0 and 1 to tensors of `bool`, and to no tensor that [`Jit::reads`] names;
/// * leave the memory of a tensor that it returns to those who hold the tensor;
/// * not unwind;
/// * stay where it is until the code is freed. [`Jit::keep`] helps.
pub struct Jit {
    options: JitOptions,
    assembly: Assembly,
    closures: Vec<String>,
    /// Functions and parameters.
    reads: Vec<(String, String)>,
    /// Images may be launched from.
    launches: bool,
    /// What [`Jit::signature`] has lowered.
    lowered: Mutex<Option<(Library, ir::Module)>>,
    kept: Vec<Box<dyn any::Any + Send>>,
}

impl Jit {
    /// A JIT whose code calls the default [`runtime`].
    ///
    /// # Errors
    /// Those of [`Jit::with_options`].
    pub fn new() -> Result<Jit, Error> {
        Jit::with_options(JitOptions::default())
    }

    /// A JIT whose code calls this runtime.
    ///
    /// # Errors
    /// Those of [`Jit::with_options`].
    pub fn with_runtime(runtime: &'static Runtime) -> Result<Jit, Error> {
        Jit::with_options(JitOptions { runtime, ..JitOptions::default() })
    }

    /// A JIT with these options.
    ///
    /// # Errors
    /// [`Error::Runtime`] if `TVM_FFI_LIBRARY` names something that is none, and its runtime was asked for;
    /// [`Error::Backend`] if there is no code generator for this machine.
    pub fn with_options(options: JitOptions) -> Result<Jit, Error> {
        options.runtime.rejected().map_or(Ok(()), |error| Err(error.clone()))?;
        let routines = routines(options.runtime, options.observers)?;
        let assembly = Assembly::new(options.runtime, options.opt_level, Some(routines))?;
        let (closures, reads, kept) = (Vec::new(), Vec::new(), Vec::new());
        let lowered = Mutex::default();
        Ok(Jit { options, assembly, closures, reads, launches: false, lowered, kept })
    }

    /// Gives a kernel by its address. A later one of the same name replaces it; what is defined in the
    /// module, and the runtime's own functions, go first. [`Compiled::uncalled`] says which nobody calls.
    ///
    /// # Safety
    /// See the contract of kernels.
    pub unsafe fn kernel(self, symbol: &str, address: *const u8) -> Jit {
        self.assembly.symbols.define(symbol, address);
        self
    }

    /// Lets libraries launch kernels of the images that they bring along.
    ///
    /// # Safety
    /// The kernels keep the contract of kernels: they touch no memory but what the declarations give them.
    pub unsafe fn launches(mut self) -> Jit {
        self.launches = true;
        self
    }

    /// Says that a function only reads a tensor, so that callers may pass memory that is shared: `&x`.
    /// Without this a call takes `&mut x` only, since a declaration does not say what kernels write to.
    ///
    /// # Safety
    /// No kernel of the function writes to what it gets for that parameter.
    pub unsafe fn reads(mut self, function: &str, param: &str) -> Jit {
        self.reads.push((function.to_owned(), param.to_owned()));
        self
    }

    /// The native module, for defining kernels with `cranelift_frontend`, before or after emitting. What
    /// its functions import may come from the process.
    ///
    /// # Safety
    /// What is defined here keeps the contract of kernels.
    pub unsafe fn module(&mut self) -> &mut dyn Module {
        &mut self.assembly.native
    }

    /// The native type of a kernel, as the declarations call it, before anything is compiled. What is
    /// lowered for this is kept for [`Jit::compile`].
    ///
    /// # Errors
    /// [`Error::Declaration`] if they are not valid; [`Error::Unknown`] if they call no such kernel.
    pub fn signature(&self, library: &Library, kernel: &str) -> Result<Signature, Error> {
        let isa = isa(self.options.opt_level)?;
        let mut lowered = self.lowered.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let source = match lowered.take().filter(|(known, _)| known == library) {
            Some((_, source)) => source,
            None => tvm_ffi_codegen::lower(&library.resolve()?, &Jit::OPTIONS),
        };
        let found = source.find(kernel).and_then(|symbol| source.signature(symbol));
        let found = found.map(|found| signature(&*isa, found));
        *lowered = Some((library.clone(), source));
        found.ok_or_else(|| Error::Unknown { what: "kernel", name: kernel.to_owned() })
    }

    /// Keeps a value until the code is freed: a library that kernels are in, a module that another code
    /// generator compiled. It is dropped on some thread.
    pub fn keep(mut self, value: impl Send + 'static) -> Jit {
        self.kept.push(Box::new(value));
        self
    }

    /// How [`Jit::compile`] lowers declarations: with the routines that the runtime shares, and without
    /// metadata.
    pub const OPTIONS: Options = Options {
        routines: Routines::Shared,
        metadata: false,
        unchecked: Unchecked::NONE,
        loader: Loader::HOST,
    };

    /// Compiles declarations: [`tvm_ffi_codegen::lower`] with [`Jit::OPTIONS`], then [`Jit::compile_ir`].
    ///
    /// # Errors
    /// [`Error::Declaration`] if they are not valid; [`Error::Undefined`] naming the kernels that are
    /// missing; [`Error::Backend`] if a kernel in the module has another type; [`Error::Unknown`] if
    /// [`Jit::reads`] names what is not declared; [`Error::Memory`].
    pub fn compile(mut self, library: &Library) -> Result<Compiled, Error> {
        let lowered = self.lowered.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        match lowered.take().filter(|(known, _)| known == library) {
            Some((_, source)) => self.compile_lowered(library, &source),
            None => self.compile_with(library, &Jit::OPTIONS),
        }
    }

    /// The same with other options: with metadata, for instance, which [`Compiled::into_module`] makes
    /// known. With [`Routines::Embedded`] kernels of the names `malloc` and `free` are what its routines call too,
    /// as if both had been linked.
    ///
    /// # Errors
    /// Those of [`Jit::compile`]; a [system library](Library::system_lib) is one.
    pub fn compile_with(self, library: &Library, options: &Options) -> Result<Compiled, Error> {
        let source = tvm_ffi_codegen::lower(&library.resolve()?, options);
        self.compile_lowered(library, &source)
    }

    fn compile_lowered(
        mut self,
        library: &Library,
        source: &ir::Module,
    ) -> Result<Compiled, Error> {
        let mut launches = library.functions.iter().flat_map(|function| function.body.launches());
        if let Some(launch) = launches.next().filter(|_| !self.launches) {
            return Err(Error::Launch { kernel: launch.gpu_kernel.clone() });
        }
        let signatures = library.functions.iter().map(|function| &function.signature);
        let closures = signatures.filter(|signature| signature.has_self());
        let mut closures: Vec<String> = closures.map(|signature| signature.name.clone()).collect();
        if library.entry.as_ref().is_some_and(|entry| closures.contains(entry)) {
            closures.push(MAIN.to_owned());
        }
        self.closures.extend(closures);
        let mut reads = self.declared_reads(library)?;
        let entry = |(name, _): &&(String, usize)| Some(name) == library.entry.as_ref();
        let main = reads.iter().filter(entry).map(|&(_, index)| (MAIN.to_owned(), index));
        reads.extend(main.collect::<Vec<_>>());
        // Lowering made it, and who gave kernels promised that they keep their contract.
        self.assembly.emit(source)?;
        self.link(&reads)
    }

    /// What [`Jit::reads`] has named: functions, and the numbers of arguments.
    fn declared_reads(&self, library: &Library) -> Result<Vec<(String, usize)>, Error> {
        let mut found: Vec<(String, usize)> = Vec::new();
        for (name, param) in &self.reads {
            let unknown = |what, name: &str| Error::Unknown { what, name: name.to_owned() };
            let function = library.functions.iter().find(|f| f.signature.name == *name);
            let function = function.ok_or_else(|| unknown("function", name))?;
            let params = function.signature.params.iter();
            // The context of a closure is no argument.
            let mut params = params.skip(usize::from(function.signature.has_self()));
            let index = params.position(|declared| declared.name == *param);
            let index = index.ok_or_else(|| unknown("parameter", param))?;
            found.push((name.clone(), index));
        }
        Ok(found)
    }

    /// Says that the exported function of this name reads its handle. Declarations say so themselves;
    /// this is for host IR that was lowered elsewhere.
    pub fn closure(mut self, name: &str) -> Jit {
        self.closures.push(name.to_owned());
        self
    }

    /// Compiles host IR and makes its exports callable: [`Jit::emit`], then [`Jit::finish`].
    ///
    /// # Safety
    /// As for [`Jit::emit`].
    ///
    /// # Errors
    /// As those two.
    pub unsafe fn compile_ir(mut self, source: &ir::Module) -> Result<Compiled, Error> {
        // SAFETY: as required above.
        unsafe { self.emit(source) }?;
        self.finish()
    }

    /// Emits host IR and compiles it to machine code. May be called several times.
    ///
    /// # Safety
    /// Lowering made the host IR, from declarations whose kernels keep their contract; or else its
    /// exports named `__tvm_ffi_…` are functions of the FFI that are as sound as those. Those that do not
    /// ignore their handle are given to [`Jit::closure`].
    ///
    /// # Errors
    /// [`Error::Undefined`] before anything is changed if a symbol is nowhere; [`Error::Backend`].
    pub unsafe fn emit(&mut self, source: &ir::Module) -> Result<(), Error> {
        self.assembly.emit(source)
    }

    /// Links what was emitted, and makes it executable and callable.
    ///
    /// # Errors
    /// [`Error::Undefined`] if the module refers to something that is nowhere; [`Error::Memory`];
    /// [`Error::Profile`].
    pub fn finish(self) -> Result<Compiled, Error> {
        self.link(&[])
    }

    fn link(self, reads: &[(String, usize)]) -> Result<Compiled, Error> {
        let Linked { functions, data, uncalled, text, .. } =
            self.assembly.link(self.options.observers)?;
        let mut entries = Vec::with_capacity(functions.len());
        let (mut getters, mut externals) = (Vec::new(), Vec::new());
        for (symbol, address) in functions {
            let Some(name) = symbol.strip_prefix(symbol::PREFIX) else {
                externals.push((symbol, address));
                continue;
            };
            if name.starts_with('_') {
                getters.push((symbol, address));
                continue;
            }
            let closure = self.closures.iter().any(|closure| closure == name);
            let reads = reads.iter().filter(|(function, _)| function == name);
            let reads = reads.fold(Reads::default(), |all, (_, index)| all.and(*index));
            // SAFETY: this is the address of a function of this type, as `emit` demands.
            let address = unsafe { std::mem::transmute::<*const u8, SafeCall>(address.0) };
            entries.push(Entry { name: name.to_owned(), address, closure, reads });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        externals.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let (runtime, _kept) = (self.options.runtime, Mutex::new(self.kept));
        let code = Code { runtime, entries, externals, getters, data, uncalled, text, _kept };
        Ok(Compiled(Arc::new(code)))
    }
}

impl fmt::Debug for Jit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jit")?;
        f.debug_list().entries(self.assembly.names()).finish()
    }
}
