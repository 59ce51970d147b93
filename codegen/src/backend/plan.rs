//! The plan of symbols: what becomes of every symbol of the host IR in a module that may have some of the
//! names already. It is made before anything is declared, so that a refusal leaves no trace.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Error;
use super::keep::keeping;
use crate::ir::{Linkage, Module, Symbol, SymbolData};

/// The names that a native module has.
pub trait Existing {
    /// What a name stands for.
    type Native: Copy;

    /// What this name stands for, if the module has it.
    fn find(&self, name: &str) -> Option<Self::Native>;

    /// Whether the module defines it.
    fn state(&self, native: Self::Native) -> State;

    /// Checks that the module means the same by a name: a function or data, of the same type.
    ///
    /// # Errors
    /// [`Error::Kernel`].
    fn check(&self, symbol: &SymbolData, native: Self::Native) -> Result<(), Error>;
}

/// How much a module says of what a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// That it exists.
    Declared,
    /// What it is.
    Defined,
    /// What it is, as for [`Linkage::Once`]: every definition is as good.
    Once,
}

/// What a native module can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Symbols of which a linker keeps one copy. Otherwise [`Linkage::Once`] is [`Linkage::Local`].
    pub once: bool,
    /// Second names of symbols. With them our own code reaches what it exports by a local name, so that
    /// a library that was loaded earlier and exports the same cannot take its place.
    pub aliases: bool,
}

/// What becomes of one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'a, N> {
    /// Where it comes from.
    pub source: SymbolSource<'a, N>,
    /// The local name by which our own code reaches it, if that is another.
    pub alias: Option<String>,
    /// It had better keep the registers of its callers, where there is a convention for that ([`Facts::keeps`]): only
    /// cold blocks of this module call it.
    ///
    /// [`Facts::keeps`]: super::Facts::keeps
    pub keeps: bool,
}

/// Where a symbol comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolSource<'a, N> {
    /// The module has it, and it stays as it is there.
    Reuse(N),
    /// The module declares it; it is defined there, with this linkage.
    Define(N, Linkage),
    /// It is declared under this name, and defined if the linkage says so.
    Declare(Cow<'a, str>, Linkage),
}

impl<N> Plan<'_, N> {
    /// The linkage of what is defined here; `None` for what is defined elsewhere or already.
    pub fn defined(&self) -> Option<Linkage> {
        match self.source {
            SymbolSource::Reuse(_) | SymbolSource::Declare(_, Linkage::Import) => None,
            SymbolSource::Define(_, linkage) | SymbolSource::Declare(_, linkage) => Some(linkage),
        }
    }
}

/// Plans every symbol of verified host IR, in its order.
///
/// What is imported may be declared or defined in the module already, a kernel for instance. What is
/// exported may be declared there. What is local is renamed if its name is taken. Of what is to be there
/// once, a definition like it is kept.
///
/// # Errors
/// [`Error::Kernel`] if the module means something else by a name, [`Error::Defined`] if it defines what
/// is to be defined.
pub fn plan<'a, E: Existing>(
    source: &'a Module,
    existing: &E,
    capabilities: Capabilities,
) -> Result<Vec<Plan<'a, E::Native>>, Error> {
    let mut names = Names { source, existing, given: BTreeSet::new() };
    let used = if capabilities.aliases { used(source) } else { vec![false; source.symbols.len()] };
    let plan_one = |((symbol, used), keeps): ((&'a SymbolData, bool), bool)| {
        let source_of = source_of(symbol, existing, capabilities, &mut names)?;
        let aliased = used && symbol.linkage == Linkage::Export;
        let alias = aliased.then(|| names.unused(format!("{}.local", symbol.name)));
        Ok(Plan { source: source_of, alias, keeps })
    };
    source.symbols.iter().zip(used).zip(keeping(source)).map(plan_one).collect()
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
        (Linkage::Import, _) | (Linkage::Once, State::Once) => {
            existing.check(symbol, found).map(|()| SymbolSource::Reuse(found))
        }
        (Linkage::Export | Linkage::Once, State::Declared) => {
            existing.check(symbol, found).map(|()| SymbolSource::Define(found, linkage))
        }
        (Linkage::Export, State::Defined | State::Once) | (Linkage::Once, State::Defined) => {
            Err(Error::Defined { symbol: symbol.name.clone() })
        }
    }
}

/// New names.
struct Names<'a, E> {
    source: &'a Module,
    existing: &'a E,
    /// Those that have been given.
    given: BTreeSet<String>,
}

impl<E: Existing> Names<'_, E> {
    /// A name that nothing has.
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

/// `name`, `name.1`, `name.2`, …: the first that is not taken.
pub fn unused_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1_u32..).map(|i| format!("{name}.{i}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).expect("there are more numbers than symbols")
}

/// Whether instructions or data refer to each symbol.
fn used(source: &Module) -> Vec<bool> {
    let mut used = vec![false; source.symbols.len()];
    let mut mark = |symbol: Symbol| used[symbol.index()] = true;
    let blocks = source.functions.iter().flat_map(|function| &function.blocks);
    let insts = blocks.flat_map(|block| &block.insts);
    insts.filter_map(|(_, inst)| inst.symbol()).for_each(&mut mark);
    let relocations = source.data.iter().flat_map(|data| &data.relocations);
    relocations.map(|relocation| relocation.symbol).for_each(mark);
    used
}

#[cfg(test)]
mod tests;
