//! Routines that are compiled once; a linker adds them to the modules that call them.
//!
//! Hot routines, which may be inlined, are defined in each module that calls them; all others are left to the linker.
//! The symbols of linked routines end in a stamp of their sources, so that objects of different versions never share
//! one.

use super::{Heat, Routine, define_used};
use crate::ir::{Linkage, Module, Symbol};
use crate::lower::driver::Loader;

/// Digest of the sources of the routines, at the end of their symbols.
const STAMP: &str = env!("ROUTINES_STAMP");

/// Defines the hot routines that a module declares and makes the others imports.
pub(crate) fn import_linked(module: &mut Module, loader: Loader) {
    define_used(module, Linkage::Local, loader, stays);
    publish(module, |_| Linkage::Import);
}

/// Returns modules of routines for a linker, each with the name of its object file. Those of launches open the driver
/// with the loader.
///
/// There is one module for each routine, so that a linker adds only the routines that are called. The routines of
/// launches share variables and are therefore in one module. A linked file has one copy of each routine and exports
/// none.
///
/// ```
/// use tvm_ffi_codegen::{Library, Loader, Options, Routines, ir};
/// use tvm_ffi_codegen::{is_linked_routine, linked_routines, lower};
///
/// let library: Library = "half(x: float64) -> float64 = half(x);".parse()?;
/// let options = Options { routines: Routines::Linked, ..Options::default() };
/// let module = lower(&library.resolve()?, &options);
/// let imported = module.symbols.iter().find(|symbol| is_linked_routine(&symbol.name)).unwrap();
/// assert_eq!(imported.linkage, ir::Linkage::Import);
/// let modules = linked_routines(Loader::Dl);
/// assert!(modules.iter().any(|(_, module)| module.find(&imported.name).is_some()));
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
pub fn linked_routines(loader: Loader) -> Vec<(String, Module)> {
    let all = || Routine::ALL.iter().copied().filter(|&routine| !stays(routine));
    let alone = all().filter(|routine| !routine.is_of_launches()).map(|routine| vec![routine]);
    let together: Vec<Routine> = all().filter(|routine| routine.is_of_launches()).collect();
    alone.chain([together]).map(|group| linked(&group, loader)).collect()
}

/// Returns a module that defines a group of routines, with its name.
fn linked(group: &[Routine], loader: Loader) -> (String, Module) {
    let mut module = Module::default();
    for routine in group {
        routine.declare(&mut module, Linkage::Local);
    }
    let is_here = |routine| group.contains(&routine) || stays(routine);
    define_used(&mut module, Linkage::Local, loader, is_here);
    publish(
        &mut module,
        |routine| {
            if group.contains(&routine) { Linkage::Once } else { Linkage::Import }
        },
    );
    let name = group.first().map_or("", |routine| routine.name());
    (name.trim_start_matches(super::PREFIX).to_owned(), module)
}

/// Returns true if a symbol names a linked routine of this version, whose stamp it has.
///
/// ```
/// use tvm_ffi_codegen::is_linked_routine;
///
/// assert!(!is_linked_routine("tvm_ffi_codegen.fail_count.0123456789abcdef"));
/// assert!(!is_linked_routine("malloc"));
/// ```
pub fn is_linked_routine(symbol: &str) -> bool {
    let Some(name) = symbol.strip_suffix(STAMP).and_then(|name| name.strip_suffix('.')) else {
        return false;
    };
    Routine::ALL.iter().any(|&routine| routine.name() == name && !stays(routine))
}

/// Returns true if a routine is defined in each module that calls it, where it may be inlined. Such routines share no
/// variables.
fn stays(routine: Routine) -> bool {
    match routine.heat() {
        Heat::hot => true,
        Heat::outline | Heat::cold => false,
    }
}

/// Gives the linked routines that a module declares their linkage, and names that end in the stamp.
fn publish(module: &mut Module, linkage: impl Fn(Routine) -> Linkage) {
    let mut names: Vec<(Symbol, String)> = Vec::new();
    for &routine in Routine::ALL.iter().filter(|&&routine| !stays(routine)) {
        if let Some(symbol) = module.find(routine.name()) {
            module.symbols[symbol.index()].linkage = linkage(routine);
            names.push((symbol, format!("{}.{STAMP}", routine.name())));
        }
    }
    module.rename(&names).expect("no declaration can say the name of a routine");
}
