//! Declaring, finding and renaming the symbols of a module.

use super::module::{Data, Module};
use super::symbols::{DeclareError, Linkage, SymbolData, SymbolKind};
use super::types::{Signature, Symbol};

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
