//! Lowers resolved declarations to host IR. Every decision about the ABI is made in this folder.
//!
//! A wrapper counts its arguments, checks them, runs the body and writes the result. Checks are grouped, and each group
//! has an exit: a cold block to which a check that fails branches. The exit passes a constant record, and values that
//! are known only at run time, to a shared routine, which composes the message and raises it.
//!
//! Functions that take an emitter, a checker or a body emit code. Where their comments say "checks", "loads" or
//! "releases", the emitted code does so; a value that they return is a value of host IR. Code that "leaves with an
//! error" releases what the wrapper owns and returns a status that is not 0.

mod body;
mod checks;
mod cuda;
mod driver;
mod dynamic;
mod emitter;
mod entries;
mod failure;
mod function;
mod hip;
mod images;
pub(crate) mod library;
mod operators;
mod prologue;
mod quote;
mod routines;
mod runtime;
mod scoped;
mod torch;
mod unchecked;
mod value;

use crate::ir::{self, Linkage};
use crate::language::Fingerprint;
use crate::resolve::Resolved;
use crate::resolve::body::Entry;
use crate::resolve::exported_names::MAIN;
pub use dynamic::Loader;
pub(crate) use failure::messages;
use failure::records::{Records, Reporter};
pub(crate) use function::{Wrapper, wrappers};
pub use library::exports::{FORGET, UNLOAD};
pub use routines::callee::callee_variable;
pub use routines::linked::{is_linked_routine, linked_routines};
pub use routines::memory::KEEPER;
pub(crate) use runtime::runtime;
pub use unchecked::Unchecked;

/// Options of [`lower`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Source of the cold routines.
    pub routines: Routines,
    /// True if the module has getters of [metadata](crate::lower::library::metadata) and documentation.
    pub metadata: bool,
    /// Checks that are omitted.
    pub unchecked: Unchecked,
    /// Functions with which launches open the library of the GPU driver.
    pub loader: Loader,
    /// True for code in process, which its owner frees and in which no constructor runs: a module with cached calls
    /// exports [`FORGET`], and operators of PyTorch are registered by the function `_torch` alone.
    pub in_process: bool,
}

/// The default options are those for libraries that are compiled ahead of time.
impl Default for Options {
    fn default() -> Self {
        let (routines, unchecked, loader) = (Routines::Embedded, Unchecked::NONE, Loader::Dl);
        Options { routines, metadata: true, unchecked, loader, in_process: false }
    }
}

impl Fingerprint {
    /// Returns the digest of this one and of options of lowering, all of them.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Library, Options};
    ///
    /// let library: Library = "f(n: int64) -> int64 = { return n; };".parse()?;
    /// let (plain, bare) = (Options::default(), Options { metadata: false, ..Options::default() });
    /// let print = |options: &Options| library.fingerprint().with_options(options);
    /// assert_eq!(print(&plain), print(&Options::default()));
    /// assert_ne!(print(&plain), print(&bare));
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn with_options(self, options: &Options) -> Fingerprint {
        // The form for debugging has every field by its name.
        self.with(format!("{options:?}").as_bytes())
    }
}

/// Source of the routines that all wrappers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Routines {
    /// The module has a local copy of each routine that it uses.
    #[default]
    Embedded,
    /// The module imports the routines by name; the module that [`routines`](routines()) returns defines them.
    Shared,
    /// The module has a copy of each routine that may be inlined. A linker adds the others from [`linked_routines`],
    /// once for all modules.
    Linked,
    /// The module defines each routine that it uses, as [`Linkage::Once`] with the names that linked routines have:
    /// linkers keep one copy, and one that is emitted into a module with another library's copy takes that.
    Once,
}

impl Routines {
    fn linkage(self) -> Linkage {
        match self {
            Routines::Embedded | Routines::Linked | Routines::Once => Linkage::Local,
            Routines::Shared => Linkage::Import,
        }
    }
}

/// Lowers a library to host IR, which verifies.
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
    let entered = resolved.entered();
    let mut externals = resolved.externals.iter().peekable();
    let mut handlers = resolved.handlers.iter().peekable();
    let mut operators = resolved.operators.iter().peekable();
    let mut kernels = Vec::new();
    for (index, function) in resolved.functions.iter().enumerate() {
        let wrapped = options.unchecked.apply(function);
        let exported = (&*wrapped, Entry::default());
        let record = function::wrapper(&mut module, exported, linkage, &mut records);
        for &(function, entry) in entered.get(&function.shown.name[..]).into_iter().flatten() {
            let wrapped = options.unchecked.apply(function);
            function::wrapper(&mut module, (&wrapped, entry), linkage, &mut records);
        }
        let mut reporter = Reporter { record, records: &mut records, linkage };
        if let Some(external) = externals.next_if(|external| external.function == index) {
            entries::stub::stub(&mut module, external, reporter.lend());
        }
        while let Some(handler) = handlers.next_if(|handler| handler.function == index) {
            entries::xla::handler(&mut module, handler, reporter.lend());
        }
        if let Some(operator) = operators.next_if(|operator| operator.function == index) {
            if operator.outputs > 0 {
                function::allocator(&mut module, &wrapped, reporter.lend());
            }
            let kernel = entries::torch::kernel(&mut module, operator, reporter.lend());
            kernels.push((operator, kernel));
        }
    }
    if let Some(torch) = &library.torch {
        // On Windows there is no PyTorch to find, and no need for a linker that knows constructors.
        let constructs = options.loader != Loader::Windows && !options.in_process;
        let how = (linkage, constructs);
        entries::torch::register(&mut module, &torch.namespace, &kernels, how);
    }
    records.define(&mut module);
    images::define(&mut module, &library.images);
    if options.routines == Routines::Shared {
        library::exports::unload(&mut module, linkage);
    }
    if options.in_process {
        library::exports::forget(&mut module, linkage);
    }
    if let Some(entry) = library.entry.as_deref().filter(|&entry| entry != MAIN) {
        library::exports::entry(&mut module, entry);
    }
    if options.metadata {
        library::exports::getters(&mut module, resolved, linkage);
    }
    match options.routines {
        Routines::Embedded => {
            routines::define_used(&mut module, Linkage::Local, options.loader, |_| true);
        }
        Routines::Linked => routines::linked::import_linked(&mut module, options.loader),
        Routines::Once => routines::linked::define_once(&mut module, options.loader),
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

/// Returns a module that exports every routine, for wrappers that were lowered with [`Routines::Shared`] and this
/// loader.
pub fn routines(loader: Loader) -> ir::Module {
    let mut module = ir::Module::default();
    routines::declare_all(&mut module, Linkage::Export);
    routines::define_used(&mut module, Linkage::Export, loader, |_| true);
    module
}
