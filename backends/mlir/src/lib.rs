//! Emits host IR as the LLVM dialect of MLIR.
//!
//! The crates `melior`, `inkwell` and `target_lexicon`, whose types stand in this interface, are part of it: a compiler
//! that takes them from here has the version and the features that this crate is built with.
//!
//! [`emit`] writes into the module in which a compiler has just defined its kernels, and which the compiler then lowers
//! or translates. [`Mlir`] returns text, also of a module that it [adds to](Backend::extend), or an object file by way
//! of LLVM IR and the LLVM backend, which generates the same code as from its own output.
//!
//! ```
//! # use codegen as tvm_ffi_codegen;
//! use tvm_ffi_codegen::ir::{self, Builder, Linkage, Signature, SymbolKind, Type};
//! use tvm_ffi_codegen_mlir::melior::{Context, dialect::DialectHandle, ir::Module};
//! use tvm_ffi_codegen_mlir::{Mlir, compile, emit, verify};
//!
//! // A host function that calls a kernel.
//! let mut source = ir::Module::default();
//! let signature = Signature::new(&[Type::I64], Some(Type::I64));
//! let kind = SymbolKind::Function(signature.clone());
//! let kernel = source.declare("kernel", Linkage::Import, kind);
//! let mut b = Builder::function(&mut source, "host", Linkage::Export, signature);
//! let n = b.param(0);
//! let result = b.call(kernel, &[n]);
//! b.ret(result);
//! let function = b.finish();
//! source.functions.push(function);
//!
//! // The compiler's own module, with the kernel.
//! let context = Context::new();
//! DialectHandle::llvm().load_dialect(&context);
//! let text = "llvm.func internal @kernel(%n: i64) -> i64 {
//!                 %square = llvm.mul %n, %n : i64
//!                 llvm.return %square : i64
//!             }";
//! let module = Module::parse(&context, text).unwrap();
//! emit(&context, &module, &source)?;
//! verify(&context, &module)?;
//! assert!(module.as_operation().to_string().contains("llvm.call @kernel(%arg0) : (i64) -> i64"));
//! let object = compile(&context, &module, &Mlir::default())?;
//! # assert!(!object.is_empty());
//! # Ok::<(), tvm_ffi_codegen_mlir::Error>(())
//! ```
//!
//! # Limits
//! * [`emit`] leaves out the names of values, which take time; [`Mlir::text`] has them, and the labels of blocks.
//! * Each [`emit`] walks over the top level of the caller's module once to find its symbols. To avoid many walks, lower
//!   many libraries to one host IR module.

mod constructors;
mod data;
mod debug;
mod diagnostic;
mod function;
mod instruction;
mod link;
#[doc(hidden)]
pub mod object;
mod op;
mod print;
mod raw;
mod symbols;
mod types;

use std::collections::BTreeSet;

use backend_llvm::object::{Contents, Processor};
use codegen::backend::{self, Feature, Form, Plan};
use codegen::{Backend, ir};
use melior::Context;
use melior::dialect::DialectHandle;
use melior::ir::operation::OperationRefMut;
use melior::ir::{Location, Module, Type};
use target_lexicon::Triple;

pub use codegen::backend::{Error, Input, Optimize};
pub use inkwell;
pub use link::link;
pub use melior;
#[doc(inline)]
pub use object::{bitcode, compile, translate, verify};
pub use print::text;
pub use target_lexicon;

use op::Ops;
use types::Types;

/// The name of the backend.
const NAME: &str = "mlir";

/// Emits `source` into `module`, the caller's own, of `context`; loads the `llvm` dialect if need be.
///
/// Imports of the host IR may be declared or defined in `module` already, a kernel for instance. Exports may be
/// declared there, but not defined. Locals are renamed where their name is taken, so that several host IR modules fit
/// into one native module.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Context`], [`Error::Kernel`] and [`Error::Defined`], [`Error::Target`] for a module that
/// states a target for which there is no host IR, and [`Error::Native`] for data of 4 GiB, before anything is changed.
pub fn emit<'c>(
    context: &'c Context,
    module: &Module<'c>,
    source: &ir::Module,
) -> Result<(), Error> {
    emit_for(context, module, source, None, false)
}

/// Emits as [`emit`] does, for a processor; `named` adds the names of values for readers of the text.
fn emit_for<'c>(
    context: &'c Context,
    module: &Module<'c>,
    source: &ir::Module,
    processor: Option<&Processor>,
    named: bool,
) -> Result<(), Error> {
    ir::verify(source)?;
    prepare(context, module)?;
    data::check_sizes(source)?;
    let triple = object::triple(module);
    backend::check_machine(&triple)?;
    let ops = Ops::new(context, &triple).with_processor(processor);
    ops.facts.check_exports(source)?;
    let source = &*backend::with_preserving_thunks(source, &ops.facts);
    let names = symbols::ExistingSymbols { ops: &ops, operations: symbols::existing(module) };
    let plan = backend::plan(source, &names, symbols::CAPABILITIES)?;
    define(module, &names, source, &plan, named);
    Ok(())
}

/// Declares and defines the planned symbols.
fn define<'c, 'a>(
    module: &'a Module<'c>,
    names: &symbols::ExistingSymbols<'_, 'c, 'a>,
    source: &ir::Module,
    plan: &[Plan<'_, OperationRefMut<'c, 'a>>],
    named: bool,
) {
    let ops = names.ops;
    let mut symbols = symbols::declare(module, names, source, plan);
    for data in &source.data {
        if let Some(linkage) = plan[data.symbol.index()].defined() {
            let global = &mut symbols.natives[data.symbol.index()];
            data::define(ops, global, &symbols.references, data, linkage);
        }
    }
    let defined = |symbol: ir::Symbol| plan[symbol.index()].defined().is_some();
    let mut functions = function::Functions::new(ops, source, &symbols.references, named);
    for function in source.functions.iter().filter(|function| defined(function.symbol)) {
        let native = &mut symbols.natives[function.symbol.index()];
        function::define(&mut functions, native, function);
    }
    constructors::define(ops, module, source, &symbols.references);
}

/// Returns the native type of a function, for users who define their kernel in the same module.
///
/// Where the [facts](backend::Facts) of the target say so, parameters and results narrower than 32 bits have
/// the attribute `llvm.signext` or `llvm.zeroext` as well.
pub fn signature<'c>(context: &'c Context, source: &ir::Signature) -> Type<'c> {
    load_dialect(context);
    Types::new(context, &backend::Facts::UNKNOWN).signature(source)
}

/// Returns the error of a failure in MLIR.
fn refused(reason: impl ToString) -> Error {
    Error::Native { backend: NAME, reason: reason.to_string() }
}

/// Checks that the module is of the context, and loads the dialect.
fn prepare(context: &Context, module: &Module<'_>) -> Result<(), Error> {
    if *context != module.context() {
        return Err(Error::Context);
    }
    load_dialect(context);
    Ok(())
}

fn load_dialect(context: &Context) {
    DialectHandle::llvm().load_dialect(context);
}

/// MLIR, and the LLVM backend behind it, for one target, as a [`Backend`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mlir {
    /// The target.
    pub triple: Triple,
    /// LLVM's name of a processor; `generic` for the baseline of the target.
    pub cpu: String,
    /// The features to use beside those of the processor, or not to use, by LLVM's names.
    pub features: Vec<Feature>,
    /// The optimisation level of objects.
    pub optimize: Optimize,
}

impl Default for Mlir {
    /// Returns the backend for the host, its generic processor, and [`Optimize::O2`].
    fn default() -> Self {
        Mlir {
            triple: Triple::host(),
            cpu: "generic".into(),
            features: Vec::new(),
            optimize: Optimize::default(),
        }
    }
}

impl Mlir {
    /// Returns a new module for the target: `kernels` linked into it, then `source` emitted, with the names of values,
    /// which [`text`] writes.
    ///
    /// # Errors
    /// [`Error::Target`] for an unknown machine, processor or feature; those of [`link()`] and of [`emit`].
    pub fn module<'c>(
        &self,
        context: &'c Context,
        source: &ir::Module,
        kernels: &[Input<'_>],
    ) -> Result<Module<'c>, Error> {
        let mut module = Module::new(Location::unknown(context));
        object::adopt(context, &mut module, self)?;
        link(context, &module, kernels)?;
        emit_for(context, &module, source, object::processor(self)?.as_ref(), true)?;
        Ok(module)
    }

    /// Emits as [`emit`] does, for the processor of this target: if one is named, or a feature, every
    /// function has the attributes `target_cpu` and `target_features`, without which LLVM inlines no kernel that was
    /// compiled for that processor.
    ///
    /// # Errors
    /// Those of [`emit`], and [`Error::Target`] for an unknown processor or feature.
    pub fn emit<'c>(
        &self,
        context: &'c Context,
        module: &Module<'c>,
        source: &ir::Module,
    ) -> Result<(), Error> {
        emit_for(context, module, source, object::processor(self)?.as_ref(), false)
    }
}

impl Mlir {
    /// Parses a module in MLIR's text form, links `kernels` into it, and emits `source`; `named` adds the names of
    /// values.
    fn extended<'c>(
        &self,
        context: &'c Context,
        into: Input<'_>,
        (source, kernels, named): (&ir::Module, &[Input<'_>], bool),
    ) -> Result<(Module<'c>, BTreeSet<String>), Error> {
        let mut module = link::parse(context, &into)?;
        let own = symbols::existing(&module).into_keys().map(str::to_owned).collect();
        object::adopt(context, &mut module, self)?;
        link(context, &module, kernels)?;
        emit_for(context, &module, source, object::processor(self)?.as_ref(), named)?;
        Ok((module, own))
    }

    /// Compiles a module with kernels, which it may inline.
    fn compile_extended<'c>(
        &self,
        context: &'c Context,
        module: &Module<'c>,
        source: &ir::Module,
    ) -> Result<Vec<u8>, Error> {
        object::compile_with(context, module, (self, Contents::Any), |llvm| {
            backend_llvm::object::keep_apart(llvm, source, self.optimize);
        })
    }
}

impl Backend for Mlir {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self, kernel: &[u8]) -> bool {
        link::reads(kernel)
    }

    fn text(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<String, Error> {
        let context = Context::new_with_threading(false);
        Ok(text(&self.module(&context, source, kernels)?, source))
    }

    fn bitcode(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        let context = Context::new_with_threading(false);
        object::bitcode(&context, &self.module(&context, source, kernels)?)
    }

    fn object(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        let context = Context::new_with_threading(false);
        let module = self.module(&context, source, kernels)?;
        match kernels {
            [] => {
                let optimize = self.optimize.for_module(source);
                let mlir = Mlir { optimize, ..self.clone() };
                object::compile_with(&context, &module, (&mlir, Contents::Hosts), |_| ())
            }
            _ => self.compile_extended(&context, &module, source),
        }
    }

    fn extend(
        &self,
        into: Input<'_>,
        source: &ir::Module,
        kernels: &[Input<'_>],
        form: Form,
    ) -> Result<Vec<u8>, Error> {
        let context = Context::new_with_threading(false);
        let located = str::from_utf8(into.bytes).is_ok_and(print::is_located);
        let named = form == Form::Text && !located;
        let (module, own) = self.extended(&context, into, (source, kernels, named))?;
        match form {
            Form::Text => Ok(print::extended_text(&module, source, &own, located).into_bytes()),
            Form::Bitcode => object::bitcode(&context, &module),
            Form::Object => self.compile_extended(&context, &module, source),
        }
    }
}
