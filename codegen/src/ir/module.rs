//! Modules, functions, blocks and data objects of host IR.

use std::borrow::Cow;

use abi_spec::layout::Struct;
use rustc_hash::FxHashMap;

use super::entity::{Block, Symbol, TopicId, Value};
use super::inst::{Inst, Terminator};
use super::signature::{Signature, Type};
use super::symbols::{DeclareError, Linkage, SymbolData, SymbolKind};

/// The host IR of one library: functions, constant data, and the symbols of both.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// All symbols, in the order of their declaration.
    pub symbols: Vec<SymbolData>,
    /// Function definitions, in the order in which backends emit them.
    pub functions: Vec<Function>,
    /// Data definitions, in the order in which backends emit them.
    pub data: Vec<Data>,
    /// Functions without parameters and result that run when the code is loaded, before any other of its code. Object
    /// files have a section for them; native modules without one refuse the module.
    pub constructors: Vec<Symbol>,
    /// Names of the source files of [locations](SourceLocation), each once.
    pub files: Vec<String>,
    /// Printers of data objects, which replace their bytes in text; each prints the part at an offset.
    pub printers: Vec<(Symbol, Vec<(u32, DataPrinter)>)>,
    pub(super) by_name: FxHashMap<String, Symbol>,
    /// The symbols of [constants](Module::constant), by their bytes.
    pub(super) constants: FxHashMap<Vec<u8>, Symbol>,
}

impl SourceLocation {
    /// Returns the column, or 0 if the format of debug information has only columns below `limit`.
    pub fn column_below(self, limit: u32) -> u32 {
        if self.column < limit { self.column } else { 0 }
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
        if let (SymbolKind::Function(known), SymbolKind::Function(signature)) =
            (&mut known.kind, &kind)
        {
            known.merge(signature);
        }
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

    /// Returns the index of a source file, and adds the file if it is new.
    pub fn file(&mut self, name: &str) -> u32 {
        let known = self.files.iter().position(|file| file == name);
        let index = known.unwrap_or_else(|| {
            self.files.push(name.to_owned());
            self.files.len() - 1
        });
        index as u32
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

/// A function that prints the part of a data object at an offset.
pub type DataPrinter = fn(&[u8], u32) -> String;

/// The definition of a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The symbol of the function; not of linkage [`Linkage::Import`].
    pub symbol: Symbol,
    /// The signature, equal to that of the symbol.
    pub signature: Signature,
    /// True if the function is never on the hot path: it is kept out of line and optimised for size.
    pub cold: bool,
    /// True if the function is not inlined although it is not cold.
    pub no_inline: bool,
    /// The blocks in layout order; the first is the entry, whose parameters are the function's.
    pub blocks: Vec<BlockData>,
    /// The types and name hints of values.
    pub values: Vec<ValueData>,
    /// The words that name hints refer to, such as names of parameters.
    pub names: Vec<String>,
    /// Description of the function for readers of text; empty if there is none.
    pub about: String,
    /// The parts of the declaration that instructions are for. The first is the function as a whole. Nothing but text
    /// for readers and debug information depends on them.
    pub topics: Vec<Topic>,
}

/// A part of the declaration that instructions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Topic {
    /// The name: of a value (`x`), of its property (`x.shape0`), of a statement (`statement2`).
    pub hint: Hint,
    /// The place in the source file, for debug information; `None` if it is unknown.
    pub location: Option<SourceLocation>,
}

/// A place in a source file of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The index of the file in [`Module::files`].
    pub file: u32,
    /// The line, counted from 1; 0 if it is unknown.
    pub line: u32,
    /// The column in characters, counted from 1; 0 if it is unknown.
    pub column: u32,
}

/// A block: parameters, instructions, and a terminator.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// The purpose of the block in a word, for text and for LLVM.
    pub label: Cow<'static, str>,
    /// The parameters, to which every edge into the block passes arguments.
    pub params: Vec<Value>,
    /// The instructions in order.
    pub insts: Vec<Placed>,
    /// The terminator; `None` only while the function is being built.
    pub end: Option<Terminator>,
    /// The part of the declaration that the terminator is for.
    pub end_topic: TopicId,
    /// True if the block is unlikely to run.
    pub cold: bool,
}

/// An instruction in its place.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The result, if the instruction has one.
    pub result: Option<Value>,
    /// The instruction.
    pub inst: Inst,
    /// The part of the declaration that it is for.
    pub topic: TopicId,
}

impl From<Inst> for Placed {
    /// Places an instruction without a result, for the function as a whole.
    fn from(inst: Inst) -> Placed {
        Placed { result: None, inst, topic: TopicId(0) }
    }
}

impl BlockData {
    /// Returns true if a value is a parameter of the block or the result of one of its instructions.
    pub fn defines(&self, value: Value) -> bool {
        let mut results = self.insts.iter().map(|placed| placed.result);
        self.params.contains(&value) || results.any(|result| result == Some(value))
    }
}

/// The type and name hint of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// The type.
    pub ty: Type,
    /// The name hint, which need not be unique.
    pub hint: Hint,
    /// Pointee of an address, where it is known. It serves readers of text: nothing else depends on it.
    pub points_to: Option<Pointee>,
}

/// Pointee of an address: the first of one or more objects in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointee {
    /// Structs of C.
    Struct(&'static Struct),
    /// Values of a type.
    Values(Type),
}

/// A name hint, formatted on demand: `x.shape0` has name `x`, part `shape` and index 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hint {
    /// The index of the name in [`Function::names`].
    pub name: Option<u32>,
    /// A fixed word, which may be empty.
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
    /// The symbol of the object; not of linkage [`Linkage::Import`].
    pub symbol: Symbol,
    /// The contents.
    pub bytes: Vec<u8>,
    /// The alignment in bytes, a power of two.
    pub align: u32,
    /// True if the object is writable.
    pub writable: bool,
    /// True for a constant so large that it could push others out of the reach of code, 2 GiB on most targets. It goes
    /// to a section for such constants where the target has one: `.lrodata` in ELF on x86-64. Code must not refer to it
    /// by distance.
    pub large: bool,
    /// True for a constant that tools find in files: it goes to a section of a known name, where such constants follow
    /// each other. Never together with [`large`](Data::large).
    pub listed: bool,
    /// The addresses in the contents, in ascending order of offsets. The linker or loader writes them, so that the
    /// bytes of a constant are final only after loading. Large objects have none.
    pub relocations: Vec<Relocation>,
}

/// An address in a data object: eight bytes, which are zero in [`Data::bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The byte offset in the object, a multiple of 8.
    pub offset: u32,
    /// The symbol whose address it is.
    pub symbol: Symbol,
    /// The bytes added to the address.
    pub addend: i64,
}

/// A part of a data object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPart<'a> {
    /// Bytes, at least one.
    Bytes(&'a [u8]),
    /// An address.
    Address(Relocation),
}

impl Data {
    /// Returns the contents in order: bytes, and the addresses between them.
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

    /// Returns a constant without relocations, in no section of its own.
    pub fn constant(symbol: Symbol, bytes: Vec<u8>, align: u32) -> Self {
        let (writable, large, listed) = (false, false, false);
        Data { symbol, bytes, align, writable, large, listed, relocations: Vec::new() }
    }

    /// Returns a variable with initial contents.
    pub fn variable(symbol: Symbol, bytes: Vec<u8>, align: u32) -> Self {
        Data { writable: true, ..Data::constant(symbol, bytes, align) }
    }
}

impl Function {
    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Returns the number of instructions, without terminators.
    pub fn size(&self) -> usize {
        self.blocks.iter().map(|block| block.insts.len()).sum()
    }

    /// Returns the blocks with their entities, in layout order.
    pub fn blocks(&self) -> impl Iterator<Item = (Block, &BlockData)> {
        self.blocks.iter().enumerate().map(|(i, data)| (Block(i as u32), data))
    }

    /// Returns true if a block may run twice in a call. Blocks must be in reverse postorder.
    pub fn has_loop(&self) -> bool {
        let back = |(block, data): (Block, &BlockData)| {
            data.end.iter().flat_map(Terminator::targets).any(|target| target.block <= block)
        };
        self.blocks().any(back)
    }

    /// Returns the name of a block in every text form: its label and its number.
    pub fn label(&self, block: Block) -> String {
        match block.index() {
            0 => "entry".to_owned(),
            i => format!("{}{i}", self.blocks[i].label),
        }
    }

    /// Returns a unique printable name for each value: its hint, or its number if it has none.
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

    /// Returns the name of a topic; `None` for the function as a whole.
    pub fn topic_text(&self, topic: TopicId) -> Option<String> {
        self.hint_text(self.topics[topic.index()].hint)
    }

    /// Returns the place of the function in the source: its own, else that of the first of its parts that has one;
    /// `None` if the function has no debug information.
    pub fn location(&self) -> Option<SourceLocation> {
        self.topics.iter().find_map(|topic| topic.location)
    }

    /// Returns the files of parts that are in another file than the function, each once.
    pub fn other_files(&self) -> Vec<u32> {
        let own = self.location().map(|location| location.file);
        let places = self.topics.iter().filter_map(|topic| topic.location);
        let mut files: Vec<u32> =
            places.map(|at| at.file).filter(|&file| Some(file) != own).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns the place of a part in the source: its own, else that of the function.
    pub fn location_of(&self, topic: TopicId) -> Option<SourceLocation> {
        self.topics[topic.index()].location.or_else(|| self.location())
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

#[cfg(test)]
mod tests;
