//! Modules, functions, blocks and data objects of host IR.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::entity::{Block, Symbol, Value};
use super::inst::{Inst, Terminator};
use super::signature::{Signature, Type};
use super::symbols::SymbolData;

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
    /// How to print data that has a form of its own, instead of its bytes: what is at which offset.
    pub printers: Vec<(Symbol, Vec<(u32, DataPrinter)>)>,
    pub(super) by_name: FxHashMap<String, Symbol>,
    /// The [constants](Module::constant) that there are.
    pub(super) constants: FxHashMap<Vec<u8>, Symbol>,
}

/// The text of what is at an offset of a data object.
pub type DataPrinter = fn(&[u8], u32) -> String;

/// The definition of a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name; not of linkage [`Linkage::Import`](super::Linkage::Import).
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
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Says what the block is for; printed, and given to LLVM.
    pub label: Cow<'static, str>,
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
    /// Its name; not of linkage [`Linkage::Import`](super::Linkage::Import).
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
    /// A constant that tools look for in files: where the target has sections, it goes into one that they find by
    /// its name, with its like behind each other. Not [`large`](Data::large).
    pub listed: bool,
    /// Addresses in the contents, in ascending order. The linker or loader writes them, so that a constant
    /// that has any is one only from then on; none is large.
    pub relocations: Vec<Relocation>,
}

/// Eight bytes of a data object that hold an address. In [`Data::bytes`] they are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where they are: a multiple of 8.
    pub offset: u32,
    /// Whose address.
    pub symbol: Symbol,
    /// Bytes to add to it.
    pub addend: i64,
}

/// A part of a data object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPart<'a> {
    /// At least one byte.
    Bytes(&'a [u8]),
    /// An address.
    Address(Relocation),
}

impl Data {
    /// The contents, in order: bytes, and the addresses between them.
    pub fn parts(&self) -> Vec<DataPart<'_>> {
        let (mut parts, mut done) = (Vec::new(), 0);
        for &relocation in &self.relocations {
            let offset = relocation.offset as usize;
            parts.extend((done < offset).then(|| DataPart::Bytes(&self.bytes[done..offset])));
            parts.push(DataPart::Address(relocation));
            done = offset + Type::Ptr.bytes() as usize;
        }
        let size = self.bytes.len();
        parts.extend((done < size).then(|| DataPart::Bytes(&self.bytes[done..size])));
        parts
    }

    /// A constant, of bytes only and in no section of its own.
    pub fn constant(symbol: Symbol, bytes: Vec<u8>, align: u32) -> Self {
        let (writable, large, listed) = (false, false, false);
        Data { symbol, bytes, align, writable, large, listed, relocations: Vec::new() }
    }

    /// A variable that starts with these bytes.
    pub fn variable(symbol: Symbol, bytes: Vec<u8>, align: u32) -> Self {
        Data { writable: true, ..Data::constant(symbol, bytes, align) }
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

    /// True if some block may run twice in a call.
    pub fn has_loop(&self) -> bool {
        let back = |(block, data): (Block, &BlockData)| {
            data.end.iter().flat_map(Terminator::targets).any(|target| target.block <= block)
        };
        self.blocks().any(back)
    }

    /// The name of a block in every text form: what it is for, and its number.
    pub fn label(&self, block: Block) -> String {
        match block.index() {
            0 => "entry".to_owned(),
            i => format!("{}{i}", self.blocks[i].label),
        }
    }

    /// A unique printable name for each value, made of its hint, or of its number where it has none.
    pub fn value_names(&self) -> Vec<String> {
        let own = |(i, data): (usize, &ValueData)| {
            self.hint_text(data.hint).unwrap_or_else(|| format!("v{i}"))
        };
        let mut names: Vec<String> = self.values.iter().enumerate().map(own).collect();
        let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
        let mut nth = |name| *seen.entry(name).and_modify(|count| *count += 1).or_insert(1);
        let counts: Vec<u32> = names.iter().map(|name| nth(name)).collect();
        let numbered = |(i, count): (usize, u32)| {
            let mut name = format!("{}.{count}", names[i]);
            while seen.contains_key(&*name) {
                name.push('_');
            }
            (i, name)
        };
        let again = counts.into_iter().enumerate().filter(|&(_, count)| count > 1);
        for (i, name) in again.map(numbered).collect::<Vec<_>>() {
            names[i] = name;
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
