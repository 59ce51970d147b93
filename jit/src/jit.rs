//! From declarations and kernels to callable functions.

use std::any;
use std::fmt;
use std::sync::Arc;

use abi_spec::symbol;
use codegen::{Library, Options, ir};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{DataId, FuncId, FuncOrDataId, Module, default_libcall_names};

use crate::abi::SafeCall;
use crate::compiled::{Code, Compiled, Entry, Place};
use crate::error::Error;
use crate::memory::Memory;
use crate::runtime::{Runtime, runtime};
use crate::symbols::{Address, Symbols};

/// The name of the function that an entry is exported under too.
const MAIN: &str = "main";

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
///   that of other tensors; a `ptr` is what its caller vouched for; a closure's `self` is what its
///   [`Context`](crate::Context) holds;
/// * not unwind;
/// * stay where it is until the code is freed. [`Jit::keep`] helps.
pub struct Jit {
    runtime: &'static Runtime,
    module: JITModule,
    memory: Memory,
    symbols: Symbols,
    exports: Vec<(String, FuncId)>,
    data: Vec<(String, DataId)>,
    closures: Vec<String>,
    kept: Vec<Box<dyn any::Any + Send + Sync>>,
}

impl Jit {
    /// A JIT whose code calls the default [`runtime`].
    ///
    /// # Errors
    /// [`Error::Runtime`] if `TVM_FFI_LIBRARY` names something that is none; [`Error::Backend`] if there
    /// is no code generator for this machine.
    pub fn new() -> Result<Jit, Error> {
        let runtime = runtime();
        runtime.rejected().map_or(Ok(()), |error| Err(error.clone()))?;
        Jit::with_runtime(runtime)
    }

    /// A JIT whose code calls this runtime.
    ///
    /// # Errors
    /// [`Error::Backend`] if there is no code generator for this machine.
    pub fn with_runtime(runtime: &'static Runtime) -> Result<Jit, Error> {
        let routines = runtime.routines()?;
        Jit::with_symbols(runtime, Symbols::new(runtime, Some(routines)))
    }

    /// A JIT for the routines themselves.
    pub(crate) fn bare(runtime: &'static Runtime) -> Result<Jit, Error> {
        Jit::with_symbols(runtime, Symbols::new(runtime, None))
    }

    fn with_symbols(runtime: &'static Runtime, symbols: Symbols) -> Result<Jit, Error> {
        let memory = Memory::new();
        let mut builder = JITBuilder::with_isa(runtime.isa()?.clone(), default_libcall_names());
        builder.memory_provider(Box::new(memory.clone()));
        let answering = symbols.clone();
        builder.symbol_lookup_fn(Box::new(move |name| Some(answering.answer(name))));
        let module = JITModule::new(builder);
        let (exports, data) = (Vec::new(), Vec::new());
        let (closures, kept) = (Vec::new(), Vec::new());
        Ok(Jit { runtime, module, memory, symbols, exports, data, closures, kept })
    }

    /// Gives a kernel by its address. A later one of the same name replaces it; what is defined in the
    /// module, and the runtime's own functions, go first.
    ///
    /// # Safety
    /// See the contract of kernels.
    pub unsafe fn kernel(&mut self, symbol: &str, address: *const u8) -> &mut Jit {
        self.symbols.define(symbol, address);
        self
    }

    /// The native module, for defining kernels with `cranelift_frontend`, before or after emitting. What
    /// its functions import may come from the process.
    ///
    /// # Safety
    /// What is defined here keeps the contract of kernels, and the module is not replaced by another.
    pub unsafe fn module(&mut self) -> &mut JITModule {
        &mut self.module
    }

    /// Keeps a value until the code is freed: a library that kernels are in, other compiled code.
    pub fn keep(&mut self, value: impl Send + Sync + 'static) -> &mut Jit {
        self.kept.push(Box::new(value));
        self
    }

    /// How [`Jit::compile`] lowers declarations: with the routines that the runtime shares, and without
    /// metadata.
    pub const OPTIONS: Options = Options {
        routines: codegen::Routines::Shared,
        metadata: false,
        unchecked: codegen::Unchecked::NONE,
    };

    /// Compiles declarations: [`codegen::lower`] with [`Jit::OPTIONS`], then [`Jit::compile_ir`].
    ///
    /// # Errors
    /// [`Error::Declaration`] if they are not valid; [`Error::Undefined`] naming the kernels that are
    /// missing; [`Error::Backend`] if a kernel in the module has another type; [`Error::Memory`].
    pub fn compile(self, library: &Library) -> Result<Compiled, Error> {
        self.compile_with(library, &Jit::OPTIONS)
    }

    /// The same with other options: with metadata, for instance, which [`Compiled::into_module`] makes
    /// known.
    ///
    /// # Errors
    /// Those of [`Jit::compile`]; a [system library](Library::system_lib) is one.
    pub fn compile_with(mut self, library: &Library, options: &Options) -> Result<Compiled, Error> {
        let source = codegen::lower(&library.resolve()?, options);
        let signatures = library.functions.iter().map(|function| &function.signature);
        let closures = signatures.filter(|signature| signature.has_self());
        let mut closures: Vec<String> = closures.map(|signature| signature.name.clone()).collect();
        if library.entry.as_ref().is_some_and(|entry| closures.contains(entry)) {
            closures.push(MAIN.to_owned());
        }
        self.closures.extend(closures);
        // SAFETY: lowering made it, and who gave kernels promised that they keep their contract.
        unsafe { self.compile_ir(&source) }
    }

    /// Says that the exported function of this name reads its handle. Declarations say so themselves;
    /// this is for host IR that was lowered elsewhere.
    pub fn closure(&mut self, name: &str) -> &mut Jit {
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
        let missing = |symbol: &&ir::SymbolData| {
            symbol.linkage == ir::Linkage::Import
                && self.module.get_name(&symbol.name).is_none()
                && self.symbols.find(&symbol.name).is_none()
        };
        let symbols: Vec<String> =
            source.symbols.iter().filter(missing).map(|symbol| symbol.name.clone()).collect();
        if !symbols.is_empty() {
            return Err(Error::Undefined { symbols });
        }
        let ids = backend_cranelift::emit(&mut self.module, source)?;
        let exported =
            source.functions.iter().map(|function| &source.symbols[function.symbol.index()]);
        let exported = exported.filter(|symbol| symbol.linkage == ir::Linkage::Export);
        self.exports.extend(exported.map(|symbol| symbol.name.clone()).zip(ids));
        for name in source.data.iter().map(|data| source.name(data.symbol)) {
            if name.starts_with(symbol::PREFIX)
                && let Some(FuncOrDataId::Data(id)) = self.module.get_name(name)
            {
                self.data.push((name.to_owned(), id));
            }
        }
        Ok(())
    }

    /// Links what was emitted, and makes it executable and callable.
    ///
    /// # Errors
    /// [`Error::Undefined`] if the module refers to something that is nowhere; [`Error::Memory`].
    pub fn finish(mut self) -> Result<Compiled, Error> {
        let (runtime, closures) = (self.runtime, std::mem::take(&mut self.closures));
        let kept = std::mem::take(&mut self.kept);
        let Linked { functions, data, memory } = self.link()?;
        let mut entries = Vec::with_capacity(functions.len());
        let mut getters = Vec::new();
        for (symbol, address) in functions {
            let name = symbol.strip_prefix(symbol::PREFIX);
            if name.is_some_and(|name| name.starts_with('_')) {
                getters.push((symbol, address));
            } else if let Some(name) = name {
                let closure = closures.iter().any(|closure| closure == name);
                // SAFETY: this is the address of a function of this type, as `emit` demands.
                let address = unsafe { std::mem::transmute::<*const u8, SafeCall>(address.0) };
                entries.push(Entry { name: name.to_owned(), address, closure });
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Compiled(Arc::new(Code { runtime, entries, getters, data, memory, _kept: kept })))
    }

    /// The addresses of all exports, and the memory they are in.
    pub(crate) fn link(mut self) -> Result<Linked, Error> {
        self.symbols.check(&self.module)?;
        let memory =
            |error: cranelift_module::ModuleError| Error::Memory { reason: error.to_string() };
        self.module.finalize_definitions().map_err(memory)?;
        self.symbols.finish()?;
        let module = &self.module;
        let address = |(name, id)| (name, Address(module.get_finalized_function(id)));
        let place = |(name, id)| {
            let (start, size) = module.get_finalized_data(id);
            (name, Place { start: Address(start), size })
        };
        let functions = self.exports.into_iter().map(address).collect();
        let data = self.data.into_iter().map(place).collect();
        Ok(Linked { functions, data, memory: self.memory })
    }
}

/// Exports by name, and the memory they are in.
pub(crate) struct Linked {
    pub(crate) functions: Vec<(String, Address)>,
    pub(crate) data: Vec<(String, Place)>,
    pub(crate) memory: Memory,
}

impl fmt::Debug for Jit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exports = self.exports.iter().map(|(name, _)| name);
        f.write_str("Jit")?;
        f.debug_list().entries(exports).finish()
    }
}
