//! Symbols of host IR: names, who defines them, who sees them.

use std::error;
use std::fmt;

use super::entity::Symbol;
use super::module::{Data, Module};
use super::signature::Signature;

/// A name and what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolData {
    /// As the linker sees it, without the extra underscore of Mach-O.
    pub name: String,
    /// Who defines it and who sees it.
    pub linkage: Linkage,
    /// Function or data.
    pub kind: SymbolKind,
}

/// Who defines a symbol and who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Defined elsewhere: the runtime, the user's kernel.
    Import,
    /// Defined here, seen in this module only. A backend may rename it to avoid a collision.
    Local,
    /// Defined here, visible to the loader.
    Export,
    /// Defined in every module that uses it, always in the same way: a linker keeps one copy, which no
    /// loader sees. Inside a JIT, or another caller's module that has no place for it, it is local.
    Once,
}

/// What a symbol names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function of this signature.
    Function(Signature),
    /// A data object.
    Data,
}

/// Why a name cannot be declared: it stands for something else already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclareError {
    /// For data, or for a function of another signature.
    Kind {
        /// The name.
        name: String,
    },
    /// For something that is defined otherwise.
    Linkage {
        /// The name.
        name: String,
        /// How it was declared.
        known: Linkage,
        /// How it was to be declared.
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
    /// What a symbol is that was declared in two ways. A declaration that says only that the symbol
    /// exists yields to the other.
    pub(super) fn merge(self, other: Linkage) -> Option<Linkage> {
        match (self, other) {
            (known, Linkage::Import) => Some(known),
            (Linkage::Import, wanted) => Some(wanted),
            (known, wanted) => (known == wanted).then_some(known),
        }
    }
}

impl Module {
    /// Constant bytes under a name of this start, of which the module has one copy.
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

    /// The symbol of this name, declared now if it is new. What was declared as an import becomes what
    /// it is declared as now.
    ///
    /// # Errors
    /// If the name stands for something else already. Then nothing has changed.
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

    /// The same for a name that the caller owns.
    ///
    /// # Panics
    /// If the name stands for something else already, which is then a bug of the caller's.
    pub fn declare(&mut self, name: &str, linkage: Linkage, kind: SymbolKind) -> Symbol {
        self.try_declare(name, linkage, kind).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Gives symbols other names, all at once.
    ///
    /// # Errors
    /// A name that another symbol has; then nothing has changed.
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

    /// The symbol of this name, if it has been declared.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.by_name.get(name).copied()
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.symbols[symbol.index()].name
    }

    /// The signature of a function symbol; `None` for data.
    pub fn signature(&self, symbol: Symbol) -> Option<&Signature> {
        match &self.symbols[symbol.index()].kind {
            SymbolKind::Function(signature) => Some(signature),
            SymbolKind::Data => None,
        }
    }
}

#[cfg(test)]
mod tests;
