//! The plan of symbols: the native symbol of each symbol of the host IR, in a module that may know some names already.
//! It is made before anything is declared, so that an error leaves the module unchanged.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Error;
use super::preserve::preserving;
use crate::ir::{Linkage, Module, Symbol, SymbolData};

/// The symbols of a native module.
pub trait Existing {
    /// A symbol of the native module.
    type Native: Copy;

    /// Returns the symbol of a name, if the module has it.
    fn find(&self, name: &str) -> Option<Self::Native>;

    /// Returns whether the module declares or defines a symbol.
    fn state(&self, native: Self::Native) -> State;

    /// Checks that a symbol of the module has the kind and type that the host IR says.
    ///
    /// # Errors
    /// [`Error::Kernel`].
    fn check(&self, symbol: &SymbolData, native: Self::Native) -> Result<(), Error>;
}

/// The state of a symbol in a native module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Declared.
    Declared,
    /// Defined.
    Defined,
    /// Defined as [`Linkage::Once`] is: any definition is as good as another.
    Once,
}

/// The capabilities of a native module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Symbols of which a linker keeps one copy. Without them [`Linkage::Once`] becomes [`Linkage::Local`].
    pub once: bool,
    /// Aliases of symbols. Emitted code reaches exported symbols by a local alias, so that a library that was loaded
    /// earlier and exports the same name cannot take their place.
    pub aliases: bool,
}

/// The plan of one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'a, N> {
    /// The source of the native symbol.
    pub source: SymbolSource<'a, N>,
    /// The local alias by which emitted code reaches the symbol, if it has one.
    pub alias: Option<String>,
    /// True if the function should preserve the registers of its callers, since only cold blocks of this module call
    /// it. [`Facts::preserve_most`] tells whether a convention for that exists.
    ///
    /// [`Facts::preserve_most`]: super::Facts::preserve_most
    pub preserves_registers: bool,
}

/// The source of a native symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolSource<'a, N> {
    /// A symbol of the module, used unchanged.
    Reuse(N),
    /// A declaration of the module, to be defined with this linkage.
    Define(N, Linkage),
    /// A new declaration under this name, to be defined unless it is an import.
    Declare(Cow<'a, str>, Linkage),
}

impl<N> Plan<'_, N> {
    /// Returns the linkage of a symbol that is to be defined; `None` for imports and for symbols that the module
    /// defines.
    pub fn defined(&self) -> Option<Linkage> {
        match self.source {
            SymbolSource::Reuse(_) | SymbolSource::Declare(_, Linkage::Import) => None,
            SymbolSource::Define(_, linkage) | SymbolSource::Declare(_, linkage) => Some(linkage),
        }
    }
}

/// Plans every symbol of verified host IR, in order.
///
/// Imports may be declared or defined in the module already, a kernel for instance. Exports may be declared there.
/// Locals are renamed if their name is taken. A once-symbol that the module defines as once already keeps that
/// definition, and a weak one any.
///
/// # Errors
/// [`Error::Kernel`] if a symbol of the module has another kind or type, [`Error::Defined`] if it defines a symbol that
/// the host IR defines.
pub fn plan<'a, E: Existing>(
    source: &'a Module,
    existing: &E,
    capabilities: Capabilities,
) -> Result<Vec<Plan<'a, E::Native>>, Error> {
    let mut names = Names { source, existing, given: BTreeSet::new() };
    let used = if capabilities.aliases { used(source) } else { vec![false; source.symbols.len()] };
    let plan_one = |((symbol, used), preserves_registers): ((&'a SymbolData, bool), bool)| {
        let source_of = source_of(symbol, existing, capabilities, &mut names)?;
        let aliased = used && symbol.linkage == Linkage::Export;
        let alias = aliased.then(|| names.unused(format!("{}.local", symbol.name)));
        Ok(Plan { source: source_of, alias, preserves_registers })
    };
    source.symbols.iter().zip(used).zip(preserving(source)).map(plan_one).collect()
}

fn source_of<'a, E: Existing>(
    symbol: &'a SymbolData,
    existing: &E,
    capabilities: Capabilities,
    names: &mut Names<'_, E>,
) -> Result<SymbolSource<'a, E::Native>, Error> {
    let local = symbol.linkage == Linkage::Once && !capabilities.once;
    let linkage = if local { Linkage::Local } else { symbol.linkage };
    let Some(found) = existing.find(&symbol.name) else {
        return Ok(SymbolSource::Declare(Cow::Borrowed(&symbol.name), linkage));
    };
    match (linkage, existing.state(found)) {
        (Linkage::Local, _) => {
            let name = names.unused(symbol.name.clone());
            Ok(SymbolSource::Declare(Cow::Owned(name), linkage))
        }
        (Linkage::Import, _)
        | (Linkage::Once, State::Once)
        | (Linkage::Weak, State::Defined | State::Once) => {
            existing.check(symbol, found).map(|()| SymbolSource::Reuse(found))
        }
        (Linkage::Export | Linkage::Once | Linkage::Weak, State::Declared) => {
            existing.check(symbol, found).map(|()| SymbolSource::Define(found, linkage))
        }
        (Linkage::Export, State::Defined | State::Once) | (Linkage::Once, State::Defined) => {
            Err(Error::Defined { symbol: symbol.name.clone() })
        }
    }
}

/// The source of unused names.
struct Names<'a, E> {
    source: &'a Module,
    existing: &'a E,
    /// The names that have been given out.
    given: BTreeSet<String>,
}

impl<E: Existing> Names<'_, E> {
    /// Returns an unused name.
    fn unused(&mut self, name: String) -> String {
        let taken = |name: &str| {
            let found = self.existing.find(name).is_some() || self.source.find(name).is_some();
            found || self.given.contains(name)
        };
        let name = unused_name(&name, taken);
        self.given.insert(name.clone());
        name
    }
}

/// Returns the first of `name`, `name.1`, `name.2`, … that is not taken.
pub fn unused_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1_u32..).map(|i| format!("{name}.{i}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).expect("there are more numbers than symbols")
}

/// Returns for each symbol whether instructions or data refer to it.
fn used(source: &Module) -> Vec<bool> {
    let mut used = vec![false; source.symbols.len()];
    let mut mark = |symbol: Symbol| used[symbol.index()] = true;
    let blocks = source.functions.iter().flat_map(|function| &function.blocks);
    let insts = blocks.flat_map(|block| &block.insts);
    insts.filter_map(|placed| placed.inst.symbol()).for_each(&mut mark);
    let relocations = source.data.iter().flat_map(|data| &data.relocations);
    relocations.map(|relocation| relocation.symbol).for_each(mark);
    used
}

#[cfg(test)]
mod tests;
