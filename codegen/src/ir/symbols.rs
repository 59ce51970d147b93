//! The symbols of a module: names, linkage, and their declaration.

use std::error;
use std::fmt;

use super::entity::Symbol;
use super::module::{Data, Module};
use super::signature::Signature;

/// A symbol.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolData {
    /// The name in the object file, without the extra underscore of Mach-O.
    pub name: String,
    /// The linkage.
    pub linkage: Linkage,
    /// A function or data.
    pub kind: SymbolKind,
}

/// The linkage of a symbol: who defines it and who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Defined in another module, such as the runtime or the user's kernel.
    Import,
    /// Defined here and visible in this module only. A backend may rename it to avoid a collision.
    Local,
    /// Defined here, visible to the loader.
    Export,
    /// Defined alike in every module that uses it: a linker keeps one copy, which is not exported. In a JIT, or in a
    /// caller's module without such symbols, it is local.
    Once,
}

/// The kind of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function of this signature.
    Function(Signature),
    /// A data object.
    Data,
}

/// The error of a declaration whose name has another declaration already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclareError {
    /// The name is declared as data, or as a function of another signature.
    Kind {
        /// The name.
        name: String,
    },
    /// The name is declared with a linkage that cannot be merged.
    Linkage {
        /// The name.
        name: String,
        /// The linkage of the first declaration.
        known: Linkage,
        /// The linkage of the second declaration.
        wanted: Linkage,
    },
}

impl fmt::Display for DeclareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeclareError::Kind { name } => write!(f, "`{name}` is declared as two things"),
            DeclareError::Linkage { name, known, wanted } => {
                write!(f, "`{name}` is declared as {known} and as {wanted}")
            }
        }
    }
}

impl error::Error for DeclareError {}

impl fmt::Display for Linkage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Linkage::Import => "import",
            Linkage::Local => "local",
            Linkage::Export => "export",
            Linkage::Once => "once",
        })
    }
}

impl Linkage {
    /// Returns the linkage of a symbol that is declared twice; an import yields to the other linkage.
    pub(super) fn merge(self, other: Linkage) -> Option<Linkage> {
        match (self, other) {
            (known, Linkage::Import) => Some(known),
            (Linkage::Import, wanted) => Some(wanted),
            (known, wanted) => (known == wanted).then_some(known),
        }
    }
}

impl Module {
    /// Returns the symbol of constant bytes. Equal bytes share one object, whose name starts with `start`.
    pub(crate) fn constant(&mut self, start: &str, bytes: Vec<u8>) -> Symbol {
        if let Some(&symbol) = self.constants.get(&bytes) {
            return symbol;
        }
        let name = format!("{start}{}", self.constants.len());
        let symbol = self.declare(&name, Linkage::Local, SymbolKind::Data);
        self.data.push(Data::constant(symbol, bytes.clone(), 1));
        self.constants.insert(bytes, symbol);
        symbol
    }

    /// Returns the symbol of a name, and declares it if it is new. An import takes on the linkage of the new
    /// declaration.
    ///
    /// # Errors
    /// If the name is declared otherwise already. The module is then unchanged.
    pub fn try_declare(
        &mut self,
        name: &str,
        linkage: Linkage,
        kind: SymbolKind,
    ) -> Result<Symbol, DeclareError> {
        let Some(&symbol) = self.by_name.get(name) else {
            let symbol = Symbol(self.symbols.len() as u32);
            self.symbols.push(SymbolData { name: name.to_owned(), linkage, kind });
            self.by_name.insert(name.to_owned(), symbol);
            return Ok(symbol);
        };
        let known = &mut self.symbols[symbol.index()];
        if known.kind != kind {
            return Err(DeclareError::Kind { name: name.to_owned() });
        }
        let merged = known.linkage.merge(linkage).ok_or_else(|| DeclareError::Linkage {
            name: name.to_owned(),
            known: known.linkage,
            wanted: linkage,
        })?;
        known.linkage = merged;
        Ok(symbol)
    }

    /// Declares a symbol as [`try_declare`](Module::try_declare) does, under a name that cannot be taken.
    ///
    /// # Panics
    /// If the name is declared otherwise already, which is a bug of the caller.
    pub fn declare(&mut self, name: &str, linkage: Linkage, kind: SymbolKind) -> Symbol {
        self.try_declare(name, linkage, kind).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Renames symbols, all at once.
    ///
    /// # Errors
    /// The first new name that another symbol has. The module is then unchanged.
    pub fn rename<'a>(&mut self, renames: &'a [(Symbol, String)]) -> Result<(), &'a str> {
        let kept = |symbol: Symbol| renames.iter().all(|&(renamed, _)| renamed != symbol);
        let taken = |name: &str| self.by_name.get(name).is_some_and(|&symbol| kept(symbol));
        if let Some((_, name)) = renames.iter().find(|(_, name)| taken(name)) {
            return Err(name);
        }
        for &(symbol, _) in renames {
            self.by_name.remove(&self.symbols[symbol.index()].name);
        }
        for (symbol, name) in renames {
            self.symbols[symbol.index()].name = name.clone();
            self.by_name.insert(name.clone(), *symbol);
        }
        Ok(())
    }

    /// Returns the symbol of a name, if it is declared.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.by_name.get(name).copied()
    }

    /// Returns the name of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.symbols[symbol.index()].name
    }

    /// Returns the signature of a function symbol; `None` for data.
    pub fn signature(&self, symbol: Symbol) -> Option<&Signature> {
        match &self.symbols[symbol.index()].kind {
            SymbolKind::Function(signature) => Some(signature),
            SymbolKind::Data => None,
        }
    }
}

#[cfg(test)]
mod tests;
