//! Routines that are compiled once, and that a linker adds to the modules that use them.
//!
//! What is not to be inlined is left to the linker; the hot routines stay with each module. So that few versions
//! do for all modules, there is one for each [`Extent`]. The name of a symbol says which, and by which sources it was
//! made: what objects of other versions want is another symbol.

use super::{Heat, Routine, define_used};
use crate::ir::{Linkage, Module, Symbol};
use crate::lower::cuda::Loader;
use crate::lower::explain::codes::{Feature, LeafKind, Op, Rpn, RuleCode, Used};
use crate::lower::explain::extent::{Extent, Topic};

impl Extent {
    /// The codes that these routines know.
    fn used(self) -> Used {
        let mut used = Used::all(Loader::Dl);
        if !self.has(Topic::Launches) {
            used.unmark(Feature::Launch);
        }
        Op::ALL.iter().filter(|one| !self.has(one.topic())).for_each(|&one| used.unmark(one));
        Rpn::ALL.iter().filter(|one| !self.has(one.topic())).for_each(|&one| used.unmark(one));
        RuleCode::ALL.iter().filter(|one| !self.has(one.topic())).for_each(|&one| used.unmark(one));
        LeafKind::ALL.iter().filter(|one| !self.has(one.topic())).for_each(|&one| used.unmark(one));
        used
    }

    /// Whether such a version has a routine, apart from what its own need.
    fn offers(self, routine: Routine) -> bool {
        self.has(routine.topic())
    }
}

/// Defines the hot routines that a module declares, and leaves the others to a linker.
pub(crate) fn leave(module: &mut Module, used: Used) {
    define_used(module, Linkage::Local, used, stays);
    let left = declared(module);
    let fits = |extent: &Extent| {
        extent.used().covers(&used) && left.iter().all(|&(_, routine)| extent.offers(routine))
    };
    let extent = Extent::KNOWN.into_iter().map(|(_, extent)| extent).find(fits);
    let extent = extent.unwrap_or(Extent::ALL);
    publish(module, &left, extent, Linkage::Import);
}

/// A module of routines for a linker, which keeps one copy of each and shows it to no loader.
///
/// ```
/// use tvm_ffi_codegen::{Extent, Library, Options, Routines, ir, linked_routines, lower};
///
/// let library: Library = "half(x: float64) -> float64 = half(x);".parse()?;
/// let options = Options { routines: Routines::Linked, ..Options::default() };
/// let module = lower(&library.resolve()?, &options);
/// let imported = module.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Import);
/// let extents: Vec<_> = imported.filter_map(|symbol| Extent::of_symbol(&symbol.name)).collect();
/// assert_eq!(extents[0], Extent::TENSORS);
/// ir::verify(&linked_routines(extents[0])).unwrap();
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
pub fn linked_routines(extent: Extent) -> Module {
    let mut module = Module::default();
    let offered = |routine: &Routine| extent.offers(*routine) && !stays(*routine);
    for routine in Routine::ALL.iter().filter(|routine| offered(routine)) {
        routine.declare(&mut module, Linkage::Local);
    }
    define_used(&mut module, Linkage::Local, extent.used(), |_| true);
    let roots: Vec<_> = declared(&module).into_iter().filter(|(_, one)| offered(one)).collect();
    publish(&mut module, &roots, extent, Linkage::Once);
    module
}

/// Whether a routine is defined in each module that uses it, where it may be inlined. It has no state that all share.
fn stays(routine: Routine) -> bool {
    match routine.heat() {
        Heat::hot => true,
        Heat::outline | Heat::cold => false,
    }
}

/// The routines that a module declares, apart from those that stay with it.
fn declared(module: &Module) -> Vec<(Symbol, Routine)> {
    let left = Routine::ALL.iter().filter(|routine| !stays(**routine));
    left.filter_map(|&routine| Some((module.find(routine.name())?, routine))).collect()
}

/// Gives routines the linkage and the names that objects know them by.
fn publish(module: &mut Module, routines: &[(Symbol, Routine)], extent: Extent, linkage: Linkage) {
    for &(symbol, _) in routines {
        module.symbols[symbol.index()].linkage = linkage;
    }
    let name = |&(symbol, routine): &(Symbol, Routine)| (symbol, extent.symbol(routine.name()));
    let names: Vec<(Symbol, String)> = routines.iter().map(name).collect();
    module.rename(&names).expect("no declaration can say the name of a routine");
}
