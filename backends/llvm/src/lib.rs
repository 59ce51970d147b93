//! Emits host IR as LLVM IR.
//!
//! The crates `inkwell` and `target_lexicon`, whose types stand in this interface, are part of it: a compiler that
//! takes them from here has the version and the features that this crate is built with.
//!
//! [`emit`] writes into any [`Module`], such as the one in which a compiler has just defined its kernels, which the
//! host functions then call. At [`Optimize::O2`] a kernel of internal linkage disappears into its caller, where it is
//! vectorised, and is not exported; [`link()`] brings in kernels as text or bitcode. [`Llvm`] returns text, bitcode or
//! an object file, of a module of its own or of one that it [adds to](Llvm::extended). All of them only translate;
//! every decision was made when the host IR was lowered.
//!
//! ```
//! # use codegen as tvm_ffi_codegen;
//! use tvm_ffi_codegen::ir::{self, Builder, Linkage, Signature, SymbolKind, Type};
//! use tvm_ffi_codegen_llvm::inkwell::context::Context;
//! use tvm_ffi_codegen_llvm::inkwell::module::Linkage as NativeLinkage;
//! use tvm_ffi_codegen_llvm::{Llvm, emit, optimize, signature};
//!
//! // The compiler's own module, with a kernel: `next(n) = n + 1`.
//! let context = Context::create();
//! let module = context.create_module("mine");
//! let kernel = Signature::new(&[Type::I64], Some(Type::I64));
//! let function = module.add_function("next", signature(&context, &kernel), None);
//! function.set_linkage(NativeLinkage::Internal);
//! let builder = context.create_builder();
//! builder.position_at_end(context.append_basic_block(function, "entry"));
//! let n = function.get_nth_param(0).unwrap().into_int_value();
//! let sum = builder.build_int_add(n, context.i64_type().const_int(1, false), "sum").unwrap();
//! builder.build_return(Some(&sum)).unwrap();
//!
//! // A host function that calls it twice.
//! let mut source = ir::Module::default();
//! let next = source.declare("next", Linkage::Import, SymbolKind::Function(kernel.clone()));
//! let mut b = Builder::function(&mut source, "after_next", Linkage::Export, kernel);
//! let once = b.call_value(next, &[b.param(0)]);
//! let twice = b.call_value(next, &[once]);
//! b.ret(Some(twice));
//! let host = b.finish();
//! source.functions.push(host);
//!
//! emit(&module, &source).unwrap();
//! let linux = Llvm { triple: "x86_64-unknown-linux-gnu".parse().unwrap(), ..Llvm::default() };
//! optimize(&module, &linux).unwrap();
//! let text = module.print_to_string().to_string();
//! assert!(text.contains("%sum.i1 = add i64 %p0, 2\n  ret i64 %sum.i1\n"), "{text}");
//! assert!(!text.contains("@next"));
//! ```
//!
//! # Limits
//! * Targets: those of [`Machine`](backend::Machine). Code for aarch64 Linux calls no outlined atomics, so kernels that
//!   clang compiled without `-mno-outline-atomics` are called, not inlined.
//! * Emitted functions have unwind tables, exact at every instruction, and are not `nounwind`: an exception of a kernel
//!   in C++ passes through them, and what they hold is not released.
//! * [Long](backend::is_long) functions are not optimised: they have `optnone`.
//! * On Windows LLVM itself refers to `__chkstk`, which touches the pages of frames above a page, and, where floats are
//!   used, to `_fltused`, a number by which the C library of Visual C++ notices floats. Neither can be turned off; both
//!   are in the libraries that every program there is linked with. LLVM calls nothing else by itself: loops and cold
//!   functions must not become calls of a C library's functions (`no-builtins`), so that LLVM inlines them only into
//!   functions with the same attribute.
//! * LLVM ends the process on a fatal error, which no host IR and no checked kernel causes.
//!
//! # Linkage
//! * Exported symbols have default visibility, and are exported from a DLL. Emitted code reaches them by an internal
//!   alias, `name.local`, so that a library that was loaded earlier cannot take their place.
//! * A weak variable has protected visibility in ELF, to the same end: an alias would stay at a definition that a
//!   linker drops. It is in a COMDAT in COFF, and common in Mach-O, where weak ones are merged across libraries.
//! * Local data is private, local functions are internal; LLVM renames them if their name is taken.

mod constructors;
mod data;
mod debug;
mod diagnostic;
mod features;
mod function;
mod instruction;
mod link;
mod machine;
// Items that the MLIR backend shares; those that compilers call are in the root.
#[doc(hidden)]
pub mod object;
mod raw;
mod symbols;
mod types;

use codegen::backend::{self, Feature, Form, Plan};
use codegen::{Backend, ir};
use inkwell::context::{AsContextRef, Context};
use inkwell::module::Module;
use inkwell::support::LLVMString;
use inkwell::types::FunctionType;
use inkwell::values::FunctionValue;
use target_lexicon::Triple;

use object::Processor;

pub use codegen::backend::{Error, Input, Optimize};
pub use inkwell;
pub use link::link;
#[doc(inline)]
pub use object::{Contents, compile, compile_of, optimize, verify};
pub use target_lexicon;

/// The name of the backend.
const NAME: &str = "llvm";

/// Emits `source` into `module`, the caller's own; returns the functions that it exports, in order.
///
/// Imports of the host IR may be declared or defined in `module` already, a kernel for instance. Exports may be
/// declared there, but not defined. Locals are renamed where their name is taken, so that several host IR modules fit
/// into one native module.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Kernel`] and [`Error::Defined`], and [`Error::Target`] for a module that states a target
/// for which there is no host IR, before anything is changed; [`Error::Native`] if LLVM refuses.
pub fn emit<'ctx>(
    module: &Module<'ctx>,
    source: &ir::Module,
) -> Result<Vec<FunctionValue<'ctx>>, Error> {
    emit_for(module, source, None)
}

/// Emits as [`emit`] does, for a processor.
fn emit_for<'ctx>(
    module: &Module<'ctx>,
    source: &ir::Module,
    processor: Option<&Processor>,
) -> Result<Vec<FunctionValue<'ctx>>, Error> {
    ir::verify(source)?;
    backend::check_machine(&module.get_triple().as_str().to_string_lossy())?;
    let types = types::Types::new(module, processor);
    types.facts.check_exports(source)?;
    let source = &*backend::with_preserving_thunks(source, &types.facts);
    let names = symbols::ExistingSymbols { module, types: &types, source };
    let plan = backend::plan(source, &names, symbols::CAPABILITIES)?;
    let symbols = define(module, &types, source, &plan)?;
    let exported =
        |f: &&ir::Function| source.symbols[f.symbol.index()].linkage == ir::Linkage::Export;
    let functions = source.functions.iter().filter(exported);
    Ok(functions.filter_map(|f| symbols.natives[f.symbol.index()].function).collect())
}

/// Declares and defines the planned symbols; returns their native symbols.
fn define<'ctx>(
    module: &Module<'ctx>,
    types: &types::Types<'ctx>,
    source: &ir::Module,
    plan: &[Plan<'_, raw::Found<'ctx>>],
) -> Result<symbols::Symbols<'ctx>, Error> {
    let symbols = symbols::declare(module, types, source, plan);
    for data in &source.data {
        if let Some(linkage) = plan[data.symbol.index()].defined() {
            let global = symbols.natives[data.symbol.index()].global;
            data::define(types, global, &symbols.references, data, linkage);
        }
    }
    let defined = |symbol: ir::Symbol| plan[symbol.index()].defined().is_some();
    let debug = debug::Debug::new(module, types, source)?;
    let mut functions = function::Functions::new(types, source, &symbols, module, debug);
    for function in source.functions.iter().filter(|function| defined(function.symbol)) {
        if let Some(native) = symbols.natives[function.symbol.index()].function {
            function::define(&mut functions, native, function)?;
        }
    }
    constructors::define(module, types, source, &symbols.natives);
    Ok(symbols)
}

/// Returns the native type of a function, for users who define their kernel in the same module.
///
/// Where the [facts](backend::Facts) of the target say so, parameters and results narrower than 32 bits have
/// the attribute `signext` or `zeroext` as well.
pub fn signature<'ctx>(
    context: impl AsContextRef<'ctx>,
    source: &ir::Signature,
) -> FunctionType<'ctx> {
    types::signature_in(raw::context(context), source)
}

/// Returns the error of a failure in LLVM.
fn refused(reason: impl ToString) -> Error {
    Error::Native { backend: NAME, reason: reason.to_string() }
}

/// Returns the error of LLVM's message.
fn native(reason: LLVMString) -> Error {
    refused(reason.to_string_lossy().trim_end())
}

/// LLVM's code generator for one target, as a [`Backend`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Llvm {
    /// The target.
    pub triple: Triple,
    /// LLVM's name of a processor; `generic` for the baseline of the target.
    pub cpu: String,
    /// The features to use beside those of the processor, or not to use, by LLVM's names.
    pub features: Vec<Feature>,
    /// The optimisation level of objects.
    pub optimize: Optimize,
}

impl Default for Llvm {
    /// Returns the backend for the host, its generic processor, and [`Optimize::O2`].
    fn default() -> Self {
        Llvm {
            triple: Triple::host(),
            cpu: "generic".into(),
            features: Vec::new(),
            optimize: Optimize::default(),
        }
    }
}

impl Llvm {
    /// Returns a new module for the target: `kernels` linked into it, then `source` emitted.
    ///
    /// # Errors
    /// [`Error::Target`] for an unknown machine, processor or feature; those of [`link()`] and of [`emit`].
    pub fn module<'ctx>(
        &self,
        context: &'ctx Context,
        source: &ir::Module,
        kernels: &[Input<'_>],
    ) -> Result<Module<'ctx>, Error> {
        let module = context.create_module("");
        object::with_machine(self, |machine| object::adopt(&module, self, machine))?;
        link(&module, kernels)?;
        self.emit(&module, source)?;
        Ok(module)
    }

    /// Emits as [`emit`] does, for the processor of this target: if one is named, or a feature, every
    /// function has the attributes `target-cpu` and `target-features`, without which LLVM inlines no kernel that was
    /// compiled for that processor.
    ///
    /// # Errors
    /// Those of [`emit`], and [`Error::Target`] for an unknown processor or feature.
    pub fn emit<'ctx>(
        &self,
        module: &Module<'ctx>,
        source: &ir::Module,
    ) -> Result<Vec<FunctionValue<'ctx>>, Error> {
        emit_for(module, source, object::processor(self)?.as_ref())
    }
}

impl Llvm {
    /// Parses a module, text or bitcode, links `kernels` into it, and emits `source`. What the module has stays as it
    /// is.
    ///
    /// # Errors
    /// [`Error::Native`] where LLVM cannot read the module, with LLVM's line, or where it does not verify;
    /// [`Error::Target`] if it is for another target; those of [`link()`] and of [`emit`].
    pub fn extended<'ctx>(
        &self,
        context: &'ctx Context,
        into: Input<'_>,
        source: &ir::Module,
        kernels: &[Input<'_>],
    ) -> Result<Module<'ctx>, Error> {
        let module = link::parse(context, &into)?;
        object::with_machine(self, |machine| object::adopt(&module, self, machine))?;
        link(&module, kernels)?;
        self.emit(&module, source)?;
        Ok(module)
    }
}

impl Backend for Llvm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self, kernel: &[u8]) -> bool {
        link::reads(kernel)
    }

    fn text(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<String, Error> {
        let context = Context::create();
        let module = self.module(&context, source, kernels)?;
        Ok(object::text(&module))
    }

    fn bitcode(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        let context = Context::create();
        let module = self.module(&context, source, kernels)?;
        Ok(object::bitcode(&module))
    }

    fn object(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        let context = Context::create();
        // Kernels in text refer to values by name.
        if kernels.is_empty() {
            raw::discard_names(raw::context(&context), true);
        }
        let module = self.module(&context, source, kernels)?;
        match kernels {
            [] => {
                let llvm = Llvm { optimize: self.optimize.for_module(source), ..self.clone() };
                object::compile_of(&module, &llvm, Contents::Hosts)
            }
            _ => {
                object::keep_apart(&module, source, self.optimize);
                compile(&module, self)
            }
        }
    }

    fn extend(
        &self,
        into: Input<'_>,
        source: &ir::Module,
        kernels: &[Input<'_>],
        form: Form,
    ) -> Result<Vec<u8>, Error> {
        let context = Context::create();
        let module = self.extended(&context, into, source, kernels)?;
        // Others may compile the module, without the passes of this library.
        if self.optimize == Optimize::O1 {
            object::spare_cold(&module);
        }
        match form {
            Form::Text => Ok(object::text(&module).into_bytes()),
            Form::Bitcode => Ok(object::bitcode(&module)),
            Form::Object => {
                object::keep_apart(&module, source, self.optimize);
                compile(&module, self)
            }
        }
    }
}
