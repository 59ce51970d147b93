//! Routines that are compiled once; a linker adds them to the modules that call them.
//!
//! Hot routines, which may be inlined, are defined in each module that calls them; all others are left to the linker.
//! It gets them in groups: every module of declarations needs all routines of a group or none. The symbols of linked
//! routines end in a stamp of their sources, so that objects of different versions never share one.

use std::collections::BTreeSet;

use super::{Heat, Routine, define_used};
use crate::ir::{Linkage, Module, Symbol, SymbolData, SymbolKind};
use crate::lower::dynamic::Loader;

/// Digest of the sources of the routines, at the end of their symbols.
const STAMP: &str = env!("ROUTINES_STAMP");

/// Defines the hot routines that a module declares and makes the others imports.
pub(crate) fn import_linked(module: &mut Module, loader: Loader) {
    debug_assert!(!named(module).any(Routine::is_inner), "the table says who calls a routine");
    define_used(module, Linkage::Local, loader, stays);
    publish(module, stays, |_| Linkage::Import);
}

/// Defines the routines that a module declares, hot ones too, and the data that they use, as symbols of which a native
/// module and a linker keep one copy. Their names end in the stamp: equal names mean equal routines.
pub(crate) fn define_once(module: &mut Module, loader: Loader) {
    define_used(module, Linkage::Local, loader, |_| true);
    let routines = publish(module, |_| false, |_| Linkage::Once);
    let functions = module.functions.iter().filter(|function| routines.contains(&function.symbol));
    let insts = functions.flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
    let used: BTreeSet<Symbol> = insts.filter_map(|placed| placed.inst.symbol()).collect();
    let is_shared = |symbol: &Symbol| {
        let SymbolData { linkage, kind, .. } = &module.symbols[symbol.index()];
        (*linkage, kind) == (Linkage::Local, &SymbolKind::Data)
    };
    let shared: Vec<Symbol> = used.into_iter().filter(is_shared).collect();
    let stamped = |&symbol: &Symbol| (symbol, format!("{}.{STAMP}", module.name(symbol)));
    let names: Vec<(Symbol, String)> = shared.iter().map(stamped).collect();
    shared.iter().for_each(|symbol| module.symbols[symbol.index()].linkage = Linkage::Once);
    module.rename(&names).expect("no declaration can say the name of a routine's data");
}

/// Returns modules of routines for a linker, each with the name of its object file. Those of launches open the driver
/// with the loader.
///
/// A linker adds the modules that are called, and those that these call. There are as few modules as possible without
/// a routine in a linked file that none of its functions may call. The routines of launches share variables and are
/// therefore in one module, and so are those of PyTorch's operators. A linked file has one copy of each routine and
/// exports none.
///
/// ```
/// use tvm_ffi_codegen::linker::{is_linked_routine, linked_routines};
/// use tvm_ffi_codegen::{Library, Loader, Options, Routines, ir, lower};
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
    groups(loader).iter().map(|group| linked(group, loader)).collect()
}

/// Rooms whose routines share variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Launches of GPU kernels.
    Launches,
    /// Operators of PyTorch.
    Torch,
}

impl Sharing {
    const ALL: [Sharing; 2] = [Sharing::Launches, Sharing::Torch];

    /// Returns the rooms of the path of a routine.
    pub(super) fn of(path: &str) -> Option<Sharing> {
        if path.starts_with("torch::") {
            return Some(Sharing::Torch);
        }
        let is_of_launches =
            ["cuda::", "driver::", "hip::"].iter().any(|room| path.starts_with(room));
        is_of_launches.then_some(Sharing::Launches)
    }
}

/// Routines that are linked together.
struct Part {
    routines: Vec<Routine>,
    /// The linked routines that they call.
    calls: Vec<Routine>,
}

impl Part {
    fn new(routines: Vec<Routine>, loader: Loader) -> Part {
        let calls = named(&defined(&routines, loader)).collect();
        Part { routines, calls }
    }
}

/// Returns the linked routines in groups. Two routines are in one group if the same roots reach them.
fn groups(loader: Loader) -> Vec<Vec<Routine>> {
    let parts = parts(loader);
    let reached: Vec<_> = roots(loader).into_iter().map(|root| reached(root, &parts)).collect();
    let mut groups: Vec<(Vec<bool>, Vec<Routine>)> = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let users: Vec<bool> = reached.iter().map(|reached| reached[at]).collect();
        match groups.iter_mut().find(|(known, _)| *known == users) {
            Some((_, group)) => group.extend(part.routines),
            None => groups.push((users, part.routines)),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Returns the smallest parts that may be in modules of their own: each linked routine, and together those that share
/// variables.
fn parts(loader: Loader) -> Vec<Part> {
    let of = |sharing| all_linked().filter(move |routine| routine.sharing() == sharing);
    let alone = of(None).map(|routine| vec![routine]);
    let together = Sharing::ALL.map(|sharing| of(Some(sharing)).collect());
    alone.chain(together).map(|routines| Part::new(routines, loader)).collect()
}

/// Returns the linked routines that modules of declarations may call: they themselves, or the hot routines in them.
fn roots(loader: Loader) -> Vec<Routine> {
    let hot = Routine::ALL.iter().copied().filter(|&routine| stays(routine)).collect();
    let hot = Part::new(hot, loader);
    all_linked().filter(|routine| !routine.is_inner() || hot.calls.contains(routine)).collect()
}

/// Returns which parts a linker adds to a file that calls a routine.
fn reached(root: Routine, parts: &[Part]) -> Vec<bool> {
    let (mut reached, mut left) = (vec![false; parts.len()], vec![root]);
    while let Some(routine) = left.pop() {
        let part = parts.iter().position(|part| part.routines.contains(&routine));
        if let Some(part) = part.filter(|&part| !std::mem::replace(&mut reached[part], true)) {
            left.extend(&parts[part].calls);
        }
    }
    reached
}

/// Returns the routines that a linker adds.
fn all_linked() -> impl Iterator<Item = Routine> {
    Routine::ALL.iter().copied().filter(|&routine| !stays(routine))
}

/// Returns the linked routines that a module declares.
fn named(module: &Module) -> impl Iterator<Item = Routine> {
    all_linked().filter(|routine| module.find(routine.name()).is_some())
}

/// Returns a module that defines a group of routines, and the hot ones that they call.
fn defined(group: &[Routine], loader: Loader) -> Module {
    let mut module = Module::default();
    for routine in group {
        routine.declare(&mut module, Linkage::Local);
    }
    let is_here = |routine| group.contains(&routine) || stays(routine);
    define_used(&mut module, Linkage::Local, loader, is_here);
    module
}

/// Returns the module of a group for a linker, with its name.
fn linked(group: &[Routine], loader: Loader) -> (String, Module) {
    let mut module = defined(group, loader);
    publish(&mut module, stays, |routine| {
        if group.contains(&routine) { Linkage::Once } else { Linkage::Import }
    });
    let name = group.first().map_or("", |routine| routine.name());
    (name.trim_start_matches(super::PREFIX).to_owned(), module)
}

/// Returns true if a symbol names a linked routine of this version, whose stamp it has.
///
/// ```
/// use tvm_ffi_codegen::linker::is_linked_routine;
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

/// Gives the routines that a module declares, but those that `stay` with it, their linkage, and names that end in the
/// stamp. Returns their symbols.
fn publish(
    module: &mut Module,
    stay: impl Fn(Routine) -> bool,
    linkage: impl Fn(Routine) -> Linkage,
) -> BTreeSet<Symbol> {
    let mut names: Vec<(Symbol, String)> = Vec::new();
    for &routine in Routine::ALL.iter().filter(|&&routine| !stay(routine)) {
        if let Some(symbol) = module.find(routine.name()) {
            module.symbols[symbol.index()].linkage = linkage(routine);
            names.push((symbol, format!("{}.{STAMP}", routine.name())));
        }
    }
    module.rename(&names).expect("no declaration can say the name of a routine");
    names.into_iter().map(|(symbol, _)| symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the routines in a file that calls a routine, by name, if the linker adds these parts.
    fn held(root: Routine, parts: &[Part]) -> BTreeSet<&'static str> {
        let added = parts.iter().zip(reached(root, parts)).filter(|(_, reached)| *reached);
        added.flat_map(|(part, _)| &part.routines).map(|routine| routine.name()).collect()
    }

    #[test]
    fn files_hold_what_they_held_with_routines_apart() {
        let (loader, apart) = (Loader::Dl, parts(Loader::Dl));
        let groups = groups(loader).into_iter().map(|group| Part::new(group, loader));
        let groups: Vec<Part> = groups.collect();
        assert!(groups.len() < apart.len());
        for root in roots(loader) {
            assert_eq!(held(root, &groups), held(root, &apart), "{root:?}");
        }
    }

    #[test]
    fn every_routine_serves_a_root() {
        let parts = parts(Loader::Dl);
        let held: BTreeSet<_> =
            roots(Loader::Dl).into_iter().flat_map(|root| held(root, &parts)).collect();
        assert_eq!(held, all_linked().map(|routine| routine.name()).collect());
    }
}
