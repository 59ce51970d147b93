//! Modules, functions, blocks and data objects of host IR.

use std::collections::HashMap;

use super::inst::{Inst, Terminator};
use super::types::{Block, Signature, Symbol, Type, Value};

/// What one library compiles to: functions, constant data, and the symbols both use.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Every name, in the order of first use.
    pub symbols: Vec<SymbolData>,
    /// Definitions, in the order in which backends emit them.
    pub functions: Vec<Function>,
    /// Definitions of data, in the order in which backends emit them.
    pub data: Vec<Data>,
    /// Functions without parameters and result that run when the code is loaded, before anything else in
    /// it. Object files have a place for them; what has none refuses the module.
    pub constructors: Vec<Symbol>,
    /// How to print data that has a form of its own, instead of its bytes.
    pub printers: Vec<(Symbol, DataPrinter)>,
    by_name: HashMap<String, Symbol>,
}

/// The lines that a data object prints as.
pub type DataPrinter = fn(&[u8]) -> String;

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
}

/// What a symbol names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function of this signature.
    Function(Signature),
    /// A data object.
    Data,
}

/// The definition of a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name; not of linkage [`Linkage::Import`].
    pub symbol: Symbol,
    /// The same as that of the symbol.
    pub signature: Signature,
    /// Never on the hot path: kept out of line and optimised for size.
    pub cold: bool,
    /// To be called, not inlined, though it is not cold.
    pub no_inline: bool,
    /// Blocks in layout order; the first is the entry, whose parameters are the function's.
    pub blocks: Vec<BlockData>,
    /// Types and name hints.
    pub values: Vec<ValueData>,
    /// Words that name hints refer to: parameter names and the like.
    pub names: Vec<String>,
}

/// A block: parameters, instructions, and how it ends.
#[derive(Clone, Debug)]
pub struct BlockData {
    /// Says what the block is for; printed, and given to LLVM.
    pub label: &'static str,
    /// Values that every edge into the block supplies.
    pub params: Vec<Value>,
    /// In order; with the result where there is one.
    pub insts: Vec<(Option<Value>, Inst)>,
    /// `None` only while the function is being built.
    pub end: Option<Terminator>,
    /// Unlikely to run.
    pub cold: bool,
}

/// Type and name hint of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its name, which may repeat.
    pub hint: Hint,
}

/// A name hint: `x.shape0` is name `x`, part `shape`, index 0. Cheap to make, formatted on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hint {
    /// Index into [`Function::names`].
    pub name: Option<u32>,
    /// A fixed word; may be empty.
    pub part: &'static str,
    /// A number after the part.
    pub index: Option<u32>,
}

impl From<&'static str> for Hint {
    fn from(part: &'static str) -> Self {
        Hint { name: None, part, index: None }
    }
}

/// The definition of a constant or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its name; not of linkage [`Linkage::Import`].
    pub symbol: Symbol,
    /// Contents.
    pub bytes: Vec<u8>,
    /// In bytes, a power of two.
    pub align: u32,
    /// In a writable section.
    pub writable: bool,
    /// A constant so large that others could get out of the reach of code, which is 2 GiB for most. Where
    /// the target has a place for such constants, it goes there: `.lrodata` in ELF on x86-64. Code must
    /// not refer to it by its distance.
    pub large: bool,
}

impl Module {
    /// The symbol of this name, declared now if it is new.
    ///
    /// # Panics
    /// If the name stands for something else already: lowering decides on names, so this is a bug.
    pub fn declare(&mut self, name: &str, linkage: Linkage, kind: SymbolKind) -> Symbol {
        if let Some(&symbol) = self.by_name.get(name) {
            assert!(self.symbols[symbol.index()].kind == kind, "{name} declared as two things");
            return symbol;
        }
        let symbol = Symbol(self.symbols.len() as u32);
        self.symbols.push(SymbolData { name: name.to_owned(), linkage, kind });
        self.by_name.insert(name.to_owned(), symbol);
        symbol
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

impl Function {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Blocks with their entities, in layout order.
    pub fn blocks(&self) -> impl Iterator<Item = (Block, &BlockData)> {
        self.blocks.iter().enumerate().map(|(i, data)| (Block(i as u32), data))
    }

    /// A unique printable name for each value, made of its hint, or of its number where it has none.
    pub fn value_names(&self) -> Vec<String> {
        let own = |(i, data): (usize, &ValueData)| {
            self.hint_text(data.hint).unwrap_or_else(|| format!("v{i}"))
        };
        let mut names: Vec<String> = self.values.iter().enumerate().map(own).collect();
        let mut seen: HashMap<&str, u32> = HashMap::with_capacity(names.len());
        let mut nth = |name| *seen.entry(name).and_modify(|count| *count += 1).or_insert(1);
        let counts: Vec<u32> = names.iter().map(|name| nth(name)).collect();
        for (name, count) in names.iter_mut().zip(counts).filter(|&(_, count)| count > 1) {
            name.push_str(&format!(".{count}"));
        }
        names
    }

    fn hint_text(&self, hint: Hint) -> Option<String> {
        let name = hint.name.map(|n| self.names[n as usize].as_str());
        let index = hint.index.map(|i| i.to_string()).unwrap_or_default();
        match (name, hint.part) {
            (None, "") => None,
            (None, part) => Some(format!("{part}{index}")),
            (Some(name), "") => Some(format!("{name}{index}")),
            (Some(name), part) => Some(format!("{name}.{part}{index}")),
        }
    }
}
