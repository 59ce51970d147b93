//! What a library or object offers and needs, read from its symbols. Nothing in it is run.

mod contents;
mod json;
mod print;
mod symbols;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use abi_spec::library_bin::{self, DecodeError, ImportTree, LOADER_PREFIX};
use abi_spec::runtime::{self, Version};
use abi_spec::symbol;
use codegen::metadata::TextKind;
use object::{Object, ReadRef};

use crate::ObjectFault;
use crate::object_file::{self, Machine, Names, RUNTIME_PREFIX};
use symbols::Symbol;

pub use contents::{Contents, open};

/// What [`inspect`] finds. `Display` prints a report for people, [`to_json`](Inspection::to_json) one for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Format and machine, such as `ELF x86_64`.
    pub machine: String,
    /// What kind of file it is, such as `shared library`.
    pub kind: &'static str,
    /// Exported functions, by name.
    pub functions: Vec<Function>,
    /// The embedded import tree.
    pub library_bin: Option<LibraryBin>,
    /// The variable into which the loader writes the library's own module.
    pub library_ctx: Option<Data>,
    /// Other exported symbols that the runtime reserves, by name.
    pub reserved: Vec<String>,
    /// Runtime functions that are used, by name.
    pub runtime: Vec<RuntimeUse>,
    /// Other symbols that are left to the linker or loader, by name.
    pub undefined: Vec<Undefined>,
    /// Libraries that the loader is told to load first, in order.
    pub needed: Vec<String>,
}

/// An exported function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// As callers know it, without the prefix of the symbol.
    pub name: String,
    /// Bytes of code; `None` where the format does not say (Mach-O, COFF). Routines that several
    /// functions share do not count.
    pub size: Option<u64>,
    /// Its metadata, JSON.
    pub metadata: Text,
    /// Its documentation.
    pub doc: Text,
}

impl Function {
    /// The canonical text of its signature, if its metadata are a constant that holds it.
    pub fn signature(&self) -> Option<String> {
        Some(self.told()?.pointer("/declaration/signature")?.as_str()?.to_owned())
    }

    /// File and line, if its metadata are a constant that holds them.
    fn location(&self) -> Option<String> {
        let metadata = self.told()?;
        let place = metadata.pointer("/declaration/location")?;
        Some(format!("{}:{}", place.get("file")?.as_str()?, place.get("line")?.as_u64()?))
    }

    /// Its metadata, if they are a constant.
    fn told(&self) -> Option<serde_json::Value> {
        match &self.metadata {
            Text::Constant(metadata) => serde_json::from_str(metadata).ok(),
            Text::Absent | Text::Computed => None,
        }
    }
}

/// What a file says of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// Nothing.
    #[default]
    Absent,
    /// There is a getter, and only running it would tell.
    Computed,
    /// A constant of the file, as [`codegen::metadata`] describes it; any text, if the file is not ours.
    Constant(String),
}

/// The embedded import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryBin {
    /// That of the system library whose tree it is; empty for the tree of a library.
    pub prefix: String,
    /// Bytes of it.
    pub size: usize,
    /// Its modules, of which the first is what loading the library returns.
    pub modules: Result<Vec<Module>, DecodeError>,
}

/// A module of an import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Selects the loader; `_lib` is the library itself.
    pub kind: String,
    /// Bytes that the loader gets; `None` for the library.
    pub size: Option<usize>,
    /// Indices of the modules that it imports.
    pub imports: Vec<usize>,
}

/// An exported data object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// In bytes; `None` where the format does not say.
    pub size: Option<u64>,
}

/// A runtime function that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeUse {
    /// Its symbol.
    pub name: String,
    /// The release that has it; `None` if we know of none.
    pub since: Option<Version>,
}

/// A symbol that is used and not defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// Its name.
    pub name: String,
    /// It may stay undefined.
    pub weak: bool,
}

/// Reads an ELF, Mach-O, COFF or PE file: an object or a shared library.
///
/// # Errors
/// If it is none of these, or damaged.
///
/// ```
/// use tvm_ffi_codegen_driver::{ObjectFault, inspect};
///
/// assert_eq!(inspect(b"#!/bin/sh"), Err(ObjectFault::Unrecognized));
/// ```
pub fn inspect(bytes: &[u8]) -> Result<Inspection, ObjectFault> {
    look(bytes)
}

fn look<'data>(data: impl ReadRef<'data>) -> Result<Inspection, ObjectFault> {
    let file = object_file::parse(data)?;
    let mut found = Found::default();
    let mut names = Names::of(data);
    for symbol in symbols::symbols(&file, &mut names)? {
        found.add(symbol);
    }
    for (subject, function, text) in symbols::texts(&file, &mut names)? {
        found.texts.push((subject, function, Text::Constant(text)));
    }
    Ok(Inspection {
        machine: Machine::of(&file).to_string(),
        kind: object_file::kind_name(file.kind()),
        functions: found.functions(),
        library_bin: found.tree.map(|(prefix, data)| decode(prefix, data)),
        library_ctx: found.library_ctx,
        reserved: found.reserved,
        runtime: found.runtime,
        undefined: found.undefined,
        needed: symbols::needed(&file, &mut names)?,
    })
}

/// The bytes of the import tree that an object or shared library embeds, wherever they are in the file; of
/// several system libraries the first by name.
///
/// # Errors
/// As [`inspect`]. Whether they are those of a tree, [`ImportTree::decode`] says.
pub fn library_bin(bytes: &[u8]) -> Result<Option<&[u8]>, ObjectFault> {
    find_tree(bytes)
}

fn find_tree<'data>(data: impl ReadRef<'data>) -> Result<Option<&'data [u8]>, ObjectFault> {
    let file = object_file::parse(data)?;
    let mut names = Names::of(data);
    let symbols = symbols::symbols(&file, &mut names)?;
    let mut found = Found::default();
    symbols.for_each(|symbol| found.add(symbol));
    Ok(found.tree.map(|(_, data)| data))
}

impl Inspection {
    /// The global functions that make the modules of the import tree, by name. Loading fails where one is
    /// not registered.
    pub fn loaders(&self) -> Vec<String> {
        let modules = self.library_bin.iter().flat_map(|tree| tree.modules.iter().flatten());
        let kinds = modules.filter(|module| module.size.is_some()).map(|module| &module.kind);
        let kinds: BTreeSet<&String> = kinds.collect();
        kinds.into_iter().map(|kind| format!("{LOADER_PREFIX}{kind}")).collect()
    }

    /// The first release of the runtime that has every function used here; `None` if a function is
    /// used that we do not know.
    pub fn release(&self) -> Option<Version> {
        let newest = |newest: Version, used: &RuntimeUse| Some(newest.max(used.since?));
        self.runtime.iter().try_fold(Version::FIRST, newest)
    }
}

/// Objects name it where they want a table of addresses, and the linker makes one.
const TABLE: &str = "_GLOBAL_OFFSET_TABLE_";

/// Symbols sorted by what they mean to TVM FFI.
#[derive(Debug, Default)]
struct Found<'data> {
    functions: BTreeMap<String, Function>,
    texts: Vec<(TextKind, String, Text)>,
    /// The prefix of the import tree, and its bytes.
    tree: Option<(String, &'data [u8])>,
    library_ctx: Option<Data>,
    reserved: Vec<String>,
    runtime: Vec<RuntimeUse>,
    undefined: Vec<Undefined>,
}

impl<'data> Found<'data> {
    fn add(&mut self, symbol: Symbol<'data>) {
        let Symbol { name, defined, weak, size, data } = symbol;
        if !defined {
            self.add_use(name, weak);
        } else if let Some(prefix) = name.strip_suffix(symbol::LIBRARY_BIN) {
            // That of a library goes before those of system libraries.
            if self.tree.is_none() || prefix.is_empty() {
                self.tree = Some((prefix.to_owned(), data));
            }
        } else if let Some(prefix) = name.strip_suffix(symbol::LIBRARY_CTX) {
            if self.library_ctx.is_none() || prefix.is_empty() {
                self.library_ctx = Some(Data { size });
            }
        } else if let Some(function) = name.strip_prefix(symbol::METADATA_PREFIX) {
            self.texts.push((TextKind::Metadata, function.to_owned(), Text::Computed));
        } else if let Some(function) = name.strip_prefix(symbol::DOC_PREFIX) {
            self.texts.push((TextKind::Doc, function.to_owned(), Text::Computed));
        } else if let Some(function) = name.strip_prefix(symbol::PREFIX) {
            if function.starts_with('_') {
                self.reserved.push(name);
            } else {
                let function = function.to_owned();
                let (name, metadata, doc) = (function.clone(), Text::Absent, Text::Absent);
                self.functions.insert(function, Function { name, size, metadata, doc });
            }
        }
    }

    fn add_use(&mut self, name: String, weak: bool) {
        if name.starts_with(RUNTIME_PREFIX) {
            let known = runtime::ALL.iter().find(|function| function.name == name);
            self.runtime.push(RuntimeUse { name, since: known.map(|function| function.since) });
        } else if name != TABLE {
            self.undefined.push(Undefined { name, weak });
        }
    }

    /// The functions, which now know what is said of them. What is said of no function here is of no use
    /// to anyone and left out; a text goes before its getter.
    fn functions(&mut self) -> Vec<Function> {
        for (subject, name, text) in mem::take(&mut self.texts) {
            if let Some(function) = self.functions.get_mut(&name) {
                let known = match subject {
                    TextKind::Metadata => &mut function.metadata,
                    TextKind::Doc => &mut function.doc,
                };
                if !matches!(known, Text::Constant(_)) {
                    *known = text;
                }
            }
        }
        mem::take(&mut self.functions).into_values().collect()
    }
}

fn decode(prefix: String, data: &[u8]) -> LibraryBin {
    let modules = ImportTree::decode(data);
    let modules = modules.map(|tree| tree.nodes.into_iter().map(module).collect());
    LibraryBin { prefix, size: data.len(), modules }
}

fn module(node: library_bin::Node<'_>) -> Module {
    let (kind, size) = match node.module {
        library_bin::Module::Library => (library_bin::LIBRARY_KIND.to_owned(), None),
        library_bin::Module::Custom { kind, bytes } => {
            (symbols::text(kind.as_bytes()), Some(bytes.len()))
        }
    };
    Module { kind, size, imports: node.children }
}
