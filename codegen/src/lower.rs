//! Declaration → host IR. All ABI policy lives here.
//!
//! A wrapper counts its arguments, checks them, calls the kernel and writes the result. A check that fails leaves for
//! the exit of its group, which hands a constant record and the values that only the call knows to a shared, cold
//! routine: that composes the message and raises it.

mod body;
mod check;
mod cuda;
mod emitter;
mod failure;
mod function;
mod images;
pub(crate) mod library;
mod operators;
mod prologue;
mod quote;
mod routines;
mod runtime;
mod scoped;
mod unchecked;
mod value;
mod wrapper;

use crate::ir::{self, Linkage};
use crate::resolve::{MAIN, Resolved};
pub use cuda::Loader;
use failure::records::Records;
pub use library::exports::UNLOAD;
pub use routines::linked::{is_linked_routine, linked_routines};
pub(crate) use runtime::runtime;
pub use unchecked::Unchecked;

/// How to lower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where the cold routines come from.
    pub routines: Routines,
    /// Have getters of the functions' [metadata](crate::lower::library::metadata) and documentation.
    pub metadata: bool,
    /// Checks that are left out.
    pub unchecked: Unchecked,
    /// How the platform opens libraries: launches find the driver of their device so.
    pub loader: Loader,
}

/// As a library needs it that is compiled ahead of time: complete.
impl Default for Options {
    fn default() -> Self {
        let (routines, unchecked, loader) = (Routines::Embedded, Unchecked::NONE, Loader::Dl);
        Options { routines, metadata: true, unchecked, loader }
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
    /// The module has those that may be inlined; a linker adds the others, which [`linked_routines`] defines, once for
    /// all modules.
    Linked,
}

impl Routines {
    fn linkage(self) -> Linkage {
        match self {
            Routines::Embedded | Routines::Linked => Linkage::Local,
            Routines::Shared => Linkage::Import,
        }
    }
}

/// Lowers a library. This cannot fail, and what it yields verifies.
///
/// ```
/// use tvm_ffi_codegen::{Library, Options, ir, lower};
///
/// let library: Library = "half(x: float64) -> float64 = half(x);".parse()?;
/// let module = lower(&library.resolve()?, &Options::default());
/// ir::verify(&module).unwrap();
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
pub fn lower(resolved: &Resolved<'_>, options: &Options) -> ir::Module {
    let mut module = ir::Module::default();
    let mut records = Records::new();
    let (library, linkage) = (resolved.library, options.routines.linkage());
    let mut externals = resolved.externals.iter().peekable();
    for (index, function) in resolved.functions.iter().enumerate() {
        let function = options.unchecked.apply(function);
        let host = function::wrapper(&mut module, &function, linkage, &mut records);
        if let Some(external) = externals.next_if(|external| external.function == index) {
            library::stub::stub(&mut module, external, (host, &mut records), linkage);
        }
    }
    records.define(&mut module);
    images::define(&mut module, &library.images);
    if options.routines == Routines::Shared {
        library::exports::unload(&mut module, linkage);
    }
    if let Some(entry) = library.entry.as_deref().filter(|&entry| entry != MAIN) {
        library::exports::entry(&mut module, entry);
    }
    if options.metadata {
        library::exports::getters(&mut module, library, linkage);
    }
    match options.routines {
        Routines::Embedded => {
            routines::define_used(&mut module, Linkage::Local, options.loader, |_| true);
        }
        Routines::Linked => routines::linked::import_linked(&mut module, options.loader),
        Routines::Shared => {}
    }
    if let Some(tree) = &library.imports {
        library::exports::import_tree(&mut module, tree);
    }
    if let Some(prefix) = &library.system_lib {
        library::system::register(&mut module, prefix);
    }
    module
}

/// A module that exports every shared routine, for wrappers lowered with [`Routines::Shared`] and this loader.
pub fn routines(loader: Loader) -> ir::Module {
    let mut module = ir::Module::default();
    routines::declare_all(&mut module, Linkage::Export);
    routines::define_used(&mut module, Linkage::Export, loader, |_| true);
    module
}
