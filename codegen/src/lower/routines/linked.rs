//! Routines that are compiled once, and that a linker adds to the modules that use them.
//!
//! What is not to be inlined is left to the linker; the hot routines stay with each module. The name of a symbol says by
//! which sources it was made: what objects of other versions want is another symbol.

use super::{Heat, Routine, define_used};
use crate::ir::{Linkage, Module, Symbol};
use crate::lower::cuda::Loader;

/// Which sources made the routines.
const STAMP: &str = env!("ROUTINES_STAMP");

/// Defines the hot routines that a module declares, and leaves the others to a linker.
pub(crate) fn import_linked(module: &mut Module, loader: Loader) {
    define_used(module, Linkage::Local, loader, stays);
    publish(module, |_| Linkage::Import);
}

/// Modules of routines for a linker, each with the name of its object. A linker takes those that are wanted, keeps one
/// copy of each routine, and shows it to no loader. Routines of launches, which share what they remember, stand together.
///
/// ```
/// use tvm_ffi_codegen::{Library, Options, Routines, ir, is_linked_routine, linked_routines, lower};
///
/// let library: Library = "half(x: float64) -> float64 = half(x);".parse()?;
/// let options = Options { routines: Routines::Linked, ..Options::default() };
/// let module = lower(&library.resolve()?, &options);
/// let imported = module.symbols.iter().find(|symbol| is_linked_routine(&symbol.name)).unwrap();
/// assert_eq!(imported.linkage, ir::Linkage::Import);
/// let modules = linked_routines();
/// assert!(modules.iter().any(|(_, module)| module.find(&imported.name).is_some()));
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
pub fn linked_routines() -> Vec<(String, Module)> {
    let all = || Routine::ALL.iter().copied().filter(|&routine| !stays(routine));
    let alone = all().filter(|routine| !routine.is_of_launches()).map(|routine| vec![routine]);
    let together: Vec<Routine> = all().filter(|routine| routine.is_of_launches()).collect();
    alone.chain([together]).map(|group| linked(&group)).collect()
}

fn linked(group: &[Routine]) -> (String, Module) {
    let mut module = Module::default();
    for routine in group {
        routine.declare(&mut module, Linkage::Local);
    }
    let is_here = |routine| group.contains(&routine) || stays(routine);
    define_used(&mut module, Linkage::Local, Loader::Dl, is_here);
    publish(
        &mut module,
        |routine| {
            if group.contains(&routine) { Linkage::Once } else { Linkage::Import }
        },
    );
    let name = group.first().map_or("", |routine| routine.name());
    (name.trim_start_matches(super::PREFIX).to_owned(), module)
}

/// Whether a symbol is that of a routine which a linker adds, made by the same sources as these.
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

/// Whether a routine is defined in each module that uses it, where it may be inlined. It has no state that all share.
fn stays(routine: Routine) -> bool {
    match routine.heat() {
        Heat::hot => true,
        Heat::outline | Heat::cold => false,
    }
}

/// Gives the routines that a module declares, apart from those that stay with it, linkage and the names that objects know
/// them by.
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
