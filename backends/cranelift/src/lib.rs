//! Emits host IR as Cranelift code.
//!
//! The crates `cranelift_codegen`, `cranelift_module` and `cranelift_object`, whose types stand in this interface, and
//! `target_lexicon` are part of it: a compiler that takes them from here has the version that this crate is built with.
//! It names others, such as `cranelift-frontend`, in the same version itself.
//!
//! [`emit`] writes into any [`Module`]: that of a JIT, of an object, or the one in which a compiler has just defined
//! its kernels, which the host functions then call. [`Cranelift`] returns text or an object file. Both only translate;
//! every decision was made when the host IR was lowered.
//!
//! ```
//! # use codegen as tvm_ffi_codegen;
//! use tvm_ffi_codegen::Backend;
//! use tvm_ffi_codegen::ir::{Binary, Builder, Linkage, Module, Signature, Type};
//! use tvm_ffi_codegen_cranelift::Cranelift;
//!
//! let mut module = Module::default();
//! let signature = Signature::new(&[Type::I64], Some(Type::I64));
//! let mut b = Builder::function(&mut module, "next", Linkage::Export, signature);
//! let one = b.i64(1);
//! let next = b.binary(Binary::Add, b.param(0), one);
//! b.hint(next, "next");
//! b.ret(Some(next));
//! let function = b.finish();
//! module.functions.push(function);
//!
//! let linux = Cranelift::new("x86_64-unknown-linux-gnu".parse().unwrap());
//! assert_eq!(
//!     linux.text(&module, &[]).unwrap(),
//!     "\
//! ; export @next
//! function u0:0(i64) -> i64 system_v {
//! block0(v0: i64):  ; entry: p0
//!     v1 = iconst.i64 1
//!     v2 = iadd v0, v1  ; v1 = 1, next
//!     return v2
//! }
//! "
//! );
//! ```
//!
//! # Limits
//! * Targets: those of [`Machine`](codegen::backend::Machine), with the generic CPU and the features that [`Cranelift`]
//!   names. Without the cargo feature `targets`
//!   only the machine that this crate is compiled for, which is enough for the JIT.
//! * Unwind tables are written for ELF, and for x86-64 in COFF; elsewhere exceptions, debuggers and profilers miss the
//!   frames. On aarch64 and riscv64 they are right in the body of a function, and so at calls, but not in the
//!   instructions that make or leave its frame.
//! * Frames above a page touch every page in objects of [`Cranelift`] and in code of [`isa`]; in other modules only if
//!   their code generator says so (`enable_probestack`, `probestack_strategy=inline`). On riscv64 Cranelift touches the
//!   far end first; in frames above two pages the far end may be below the guard page.
//! * In an ELF object of [`Cranelift`], host code reaches the symbols that it exports directly. In a
//!   position-independent module of the caller, [`emit`] reaches them as the loader resolves them: a library that was
//!   loaded earlier may take their place.

#![forbid(unsafe_code)]

mod area;
mod constructors;
mod data;
mod debug;
mod function;
mod generators;
mod homes;
mod instruction;
mod listing;
mod object;
mod once;
mod print;
#[cfg(feature = "recorded")]
pub mod recorded;
mod symbols;
mod types;
mod unwind;

use codegen::backend::{self, Facts, Feature, Plan};
use codegen::{Backend, ir};
use cranelift_codegen::ir::Signature;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{DataDescription, FuncId, FuncOrDataId, Module, ModuleError};
use target_lexicon::Triple;

use generators::Generators;

pub use codegen::backend::{Error, Input};
pub use cranelift_codegen;
pub use cranelift_module;
pub use cranelift_object;
pub use debug::Lines;
pub use generators::{Settings, define as define_with, is_wide, isa};
pub use listing::{Listing, listings};
pub use target_lexicon;
pub use unwind::Rows;

/// The name of the backend.
const NAME: &str = "cranelift";

/// Emits `source` into `module`, that of a JIT or of an object; returns the functions that it exports, in order.
///
/// Imports of the host IR may be declared or defined in `module` already, a kernel for instance. Exports may be
/// imported there, but not be declared with any other linkage. Locals are renamed where their name is taken, so that
/// several host IR modules fit into one native module.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Kernel`], [`Error::Defined`] and [`Error::Constructors`] before anything is changed;
/// [`Error::Native`] if Cranelift cannot compile a function.
pub fn emit(module: &mut dyn Module, source: &ir::Module) -> Result<Vec<FuncId>, Error> {
    emit_with_lines(module, source, &mut Lines::default())
}

/// Emits as [`emit`] does; also adds the lines of the user's source that the code is for, which a debugger shows.
///
/// # Errors
/// Those of [`emit`].
pub fn emit_with_lines(
    module: &mut dyn Module,
    source: &ir::Module,
    lines: &mut Lines,
) -> Result<Vec<FuncId>, Error> {
    ir::verify(source)?;
    if !source.constructors.is_empty() {
        return Err(Error::Constructors);
    }
    let facts = Facts::of(module.isa().triple());
    let source = &*backend::with_preserving_thunks(source, &facts);
    let plan = backend::plan(source, &symbols::ExistingSymbols(module), symbols::CAPABILITIES)?;
    let mut found = Found { tables: None, lines };
    let symbols = define(module, source, &plan, None, &mut found)?;
    let exported =
        |f: &&ir::Function| source.symbols[f.symbol.index()].linkage == ir::Linkage::Export;
    let functions = source.functions.iter().filter(exported).map(|f| symbols[f.symbol.index()]);
    Ok(functions.filter_map(function_id).collect())
}

/// The descriptions of compiled functions.
struct Found<'l> {
    /// The unwind tables; `None` if nobody needs them.
    tables: Option<unwind::Tables>,
    /// The lines of the user's source.
    lines: &'l mut Lines,
}

/// Declares and defines the planned symbols; returns their native ids. Functions that gain from other code generators
/// than that of the module are compiled by them.
fn define(
    module: &mut dyn Module,
    source: &ir::Module,
    plan: &[Plan<'_, FuncOrDataId>],
    mut others: Option<&mut Generators<'_>>,
    found: &mut Found<'_>,
) -> Result<Vec<FuncOrDataId>, Error> {
    let symbols = symbols::declare(module, source, plan)?;
    let defined = |symbol: ir::Symbol| plan[symbol.index()].defined().is_some();
    let mut description = DataDescription::new();
    for data in source.data.iter().filter(|data| defined(data.symbol)) {
        let symbol = &source.symbols[data.symbol.index()];
        data::define(module, &symbols, data, symbol, &mut description)?;
    }
    let linked = others.is_some() && symbols::calls_by_linker(module.isa().triple());
    let mut functions = function::Functions::new(module, &symbols);
    functions.linked = linked;
    for function in source.functions.iter().filter(|function| defined(function.symbol)) {
        if let Some(id) = function_id(symbols[function.symbol.index()]) {
            function::define(&mut functions, id, function, others.as_deref_mut())?;
            let Some(code) = functions.context.compiled_code() else { continue };
            if let Some(tables) = &mut found.tables {
                tables.add(functions.module.isa(), id, code)?;
            }
            found.lines.add(source, function, id, code);
        }
    }
    functions.recycle_context();
    Ok(symbols)
}

fn function_id(id: FuncOrDataId) -> Option<FuncId> {
    match id {
        FuncOrDataId::Func(id) => Some(id),
        FuncOrDataId::Data(_) => None,
    }
}

/// Returns the native type of a function, for users who define their kernel in the same module.
pub fn signature(isa: &dyn TargetIsa, source: &ir::Signature) -> Signature {
    types::signature(isa, source)
}

/// Returns the error of a failure in Cranelift.
fn refused(reason: impl ToString) -> Error {
    Error::Native { backend: NAME, reason: reason.to_string() }
}

/// Returns the error of a Cranelift module.
fn native(error: ModuleError) -> Error {
    // `Display` of a verifier's error says only that it failed, not where.
    if let ModuleError::Compilation(error) = &error {
        return refused(format!("{error:?}"));
    }
    refused(error)
}

/// Code generation by Cranelift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cranelift {
    /// The target.
    pub triple: Triple,
    /// The features to use beside those of the target's generic processor, or not to use: those of LLVM for which
    /// Cranelift has a setting, or the names of such settings without `has_`.
    pub features: Vec<Feature>,
}

impl Cranelift {
    /// Returns the backend for the generic processor of a target.
    pub fn new(triple: Triple) -> Cranelift {
        Cranelift { triple, features: Vec::new() }
    }
}

impl Default for Cranelift {
    /// Returns the backend for the host.
    fn default() -> Self {
        Cranelift::new(Triple::host())
    }
}

/// There is no file format for kernels in Cranelift's IR; [`emit`] calls the kernels of a caller's module.
impl Backend for Cranelift {
    fn name(&self) -> &'static str {
        NAME
    }

    fn text(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<String, Error> {
        backend::no_kernels(kernels)?;
        print::text(self, source)
    }

    fn object(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        backend::no_kernels(kernels)?;
        object::object(self, source)
    }
}
