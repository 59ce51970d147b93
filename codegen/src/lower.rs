//! Declaration → host IR. All ABI policy lives here.
//!
//! A wrapper counts its arguments, checks them, calls the kernel and writes the result. Its checks are
//! merged into few branches; when one fails the wrapper leaves for the shared, cold routine
//! [`explain`](routines), which redoes them one by one from a constant descriptor and raises the first
//! fault. Code and descriptor are made from the same steps, so they cannot disagree on the order.

pub(crate) mod body;
pub(crate) mod explain;
pub(crate) mod library;
pub(crate) mod prologue;
mod unchecked;

use abi_spec::runtime::{self, CType};

use crate::declaration::Library;
use crate::error::{Error, Part};
use crate::ir::{self, Linkage, Signature, Symbol, SymbolKind, Type};
use crate::resolve::validate::{MAIN, resolve_all};
use explain::codes::Used;
pub use unchecked::Unchecked;

/// How to lower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where the cold routines come from.
    pub routines: Routines,
    /// Accept `self: ptr`, whose value is the handle of the call.
    pub closures: bool,
    /// Have getters of the functions' [metadata](crate::lower::library::metadata) and documentation.
    pub metadata: bool,
    /// Be part of a program instead of a file to load: a *system library* of this prefix, which may be
    /// empty. Its functions are registered when the program starts and found by
    /// `ffi.SystemLib(prefix)`; what it exports has the prefix in its name, so that libraries of different
    /// prefixes can be linked into one program. Loaders of its imports run while the runtime holds the lock
    /// of its system libraries: they must not ask for another one.
    pub system_lib: Option<String>,
    /// Checks that are left out.
    pub unchecked: Unchecked,
}

/// As a library needs it that is compiled ahead of time: complete.
impl Default for Options {
    fn default() -> Self {
        Options {
            routines: Routines::Embedded,
            closures: false,
            metadata: true,
            system_lib: None,
            unchecked: Unchecked::NONE,
        }
    }
}

/// Where the routines that every wrapper shares come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routines {
    /// The module has its own copy of those it needs.
    #[default]
    Embedded,
    /// The module imports them by name; [`routines`](routines()) defines them.
    Shared,
}

impl Routines {
    fn linkage(self) -> Linkage {
        match self {
            Routines::Embedded => Linkage::Local,
            Routines::Shared => Linkage::Import,
        }
    }
}

/// Lowers a library. Fails only if the library is not valid.
pub fn lower(library: &Library, options: &Options) -> Result<ir::Module, Error> {
    let mut all = resolve_all(library)?;
    all.iter_mut().for_each(|resolved| options.unchecked.apply(resolved));
    let mut module = ir::Module::default();
    let mut used = Used::default();
    for (index, resolved) in all.iter().enumerate() {
        let function = resolved.scope.function;
        if function.signature.has_self() && !options.closures {
            let reason = "`self` is the context of a closure, which exists in process only";
            return Err(Error::invalid(index, function, Part::Param(0), reason));
        }
        prologue::wrapper::wrapper(&mut module, resolved, options.routines.linkage(), &mut used);
    }
    if let Some(entry) = library.entry.as_deref().filter(|&entry| entry != MAIN) {
        library::about::entry(&mut module, entry);
    }
    if options.metadata {
        let linkage = options.routines.linkage();
        library.functions.iter().for_each(|f| library::about::metadata(&mut module, f, linkage));
    }
    if options.routines == Routines::Embedded {
        explain::routines::define_used(&mut module, Linkage::Local, used);
    }
    if let Some(tree) = &library.imports {
        library::embed::imports(&mut module, tree)?;
    }
    if let Some(prefix) = &options.system_lib {
        library::system::register(&mut module, prefix)?;
    }
    Ok(module)
}

/// A module that exports every shared routine, for wrappers lowered with [`Routines::Shared`].
pub fn routines() -> ir::Module {
    let mut module = ir::Module::default();
    explain::routines::declare_all(&mut module, Linkage::Export);
    explain::routines::define_used(&mut module, Linkage::Export, Used::ALL);
    module
}

/// Declares a function of the runtime.
pub(crate) fn runtime(module: &mut ir::Module, function: &runtime::Function) -> Symbol {
    let params: Vec<Type> = function.params.iter().filter_map(|&ty| c_type(ty)).collect();
    let signature = Signature::new(&params, c_type(function.result));
    module.declare(function.name, Linkage::Import, SymbolKind::Function(signature))
}

fn c_type(ty: CType) -> Option<Type> {
    match ty {
        CType::Void => None,
        CType::I32 => Some(Type::I32),
        CType::Ptr(_) => Some(Type::Ptr),
        CType::ByteArray => unreachable!("generated code calls no function that passes structs"),
    }
}
