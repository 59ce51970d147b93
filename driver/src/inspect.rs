//! Inspection of a library or object: its exports and imports, read from its symbols. No code of it runs.

mod contents;
mod json;
mod print;
mod symbols;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use abi_spec::library_bin::{self, DecodeError, ImportTree, LOADER_PREFIX};
use abi_spec::runtime::{self, Version};
use abi_spec::symbol::{self, Reserved};
use codegen::metadata::TextKind;
use link::object_file::{self, Header, NameBudget, RUNTIME_PREFIX};
use object::ReadRef;

use crate::ObjectFault;
use symbols::Symbol;

pub use contents::{Contents, open};

/// Result of [`inspect`]. `Display` prints a report for people, [`to_json`](Inspection::to_json) one for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Format and machine, such as `ELF x86_64`.
    pub machine: String,
    /// Kind of file, such as `shared library`.
    pub kind: &'static str,
    /// Exported functions, by name.
    pub functions: Vec<Function>,
    /// Embedded import tree.
    pub library_bin: Option<LibraryBin>,
    /// Variable into which the loader writes the library's own module.
    pub library_ctx: Option<Data>,
    /// Other exported symbols that the runtime reserves, by name.
    pub reserved: Vec<String>,
    /// Functions of the runtime that the file uses, by name.
    pub runtime: Vec<RuntimeUse>,
    /// Other undefined symbols, which the linker or loader has to resolve, by name.
    pub undefined: Vec<Undefined>,
    /// Libraries that the loader loads first, in order.
    pub needed: Vec<String>,
}

/// An exported function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name for callers: the symbol without its prefix.
    pub name: String,
    /// Bytes of code, without shared routines; `None` in formats that have no sizes of symbols (Mach-O, COFF).
    pub size: Option<u64>,
    /// Metadata, as JSON.
    pub metadata: Text,
    /// Documentation.
    pub doc: Text,
}

impl Function {
    /// Returns the canonical text of the signature, if the metadata are a constant that holds it.
    pub fn signature(&self) -> Option<String> {
        Some(self.told()?.pointer("/declaration/signature")?.as_str()?.to_owned())
    }

    /// Returns file and line, if the metadata are a constant that holds them.
    fn location(&self) -> Option<String> {
        let metadata = self.told()?;
        let place = metadata.pointer("/declaration/location")?;
        Some(format!("{}:{}", place.get("file")?.as_str()?, place.get("line")?.as_u64()?))
    }

    /// Parses the metadata, if they are a constant.
    fn told(&self) -> Option<serde_json::Value> {
        match &self.metadata {
            Text::Constant(metadata) => serde_json::from_str(metadata).ok(),
            Text::Absent | Text::Computed => None,
        }
    }
}

/// A text about a function in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// The file has no such text.
    #[default]
    Absent,
    /// The file has a getter; only a call would return the text.
    Computed,
    /// The text is a constant of the file, in the form of [`codegen::metadata`], or any form if another tool made the
    /// file.
    Constant(String),
}

/// Embedded import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryBin {
    /// Prefix of the system library that the tree belongs to; empty for the tree of a library.
    pub prefix: String,
    /// Size in bytes.
    pub size: usize,
    /// Modules. Loading the library returns the first.
    pub modules: Result<Vec<Module>, DecodeError>,
}

/// A module of an import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Kind, which selects the loader; `_lib` is the library itself.
    pub kind: String,
    /// Size of the contents for the loader, in bytes; `None` for the library.
    pub size: Option<usize>,
    /// Indices of the imported modules.
    pub imports: Vec<usize>,
}

/// An exported data object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Size in bytes; `None` in formats that have no sizes of symbols.
    pub size: Option<u64>,
}

/// A function of the runtime that the file uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeUse {
    /// Symbol.
    pub name: String,
    /// First release that has the function; `None` for an unknown function.
    pub since: Option<Version>,
}

/// An undefined symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// Name.
    pub name: String,
    /// True if the symbol may stay undefined.
    pub weak: bool,
}

/// Inspects an ELF, Mach-O, COFF or PE file: an object or a shared library.
///
/// # Errors
/// An [`ObjectFault`] for any other file, and for a damaged one.
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
    let mut names = NameBudget::of(data);
    for symbol in symbols::symbols(&file, &mut names)? {
        found.add(symbol);
    }
    for (subject, function, text) in symbols::texts(&file, &mut names)? {
        found.texts.push((subject, function, Text::Constant(text)));
    }
    Ok(Inspection {
        machine: Header::of(&file).to_string(),
        kind: object_file::kind_name(object_file::kind(&file)),
        functions: found.functions(),
        library_bin: found.tree.map(|(prefix, data)| decode(prefix, data)),
        library_ctx: found.library_ctx,
        reserved: found.reserved,
        runtime: found.runtime,
        undefined: found.undefined,
        needed: symbols::needed(&file, &mut names)?,
    })
}

/// Finds the bytes of the import tree that an object or shared library embeds; of several system libraries those of the
/// first by name. [`ImportTree::decode`] checks them.
///
/// # Errors
/// The errors of [`inspect`].
pub fn library_bin(bytes: &[u8]) -> Result<Option<&[u8]>, ObjectFault> {
    find_tree(bytes)
}

fn find_tree<'data>(data: impl ReadRef<'data>) -> Result<Option<&'data [u8]>, ObjectFault> {
    let file = object_file::parse(data)?;
    let mut names = NameBudget::of(data);
    let symbols = symbols::symbols(&file, &mut names)?;
    let mut found = Found::default();
    symbols.for_each(|symbol| found.add(symbol));
    Ok(found.tree.map(|(_, data)| data))
}

impl Inspection {
    /// Returns the names of the global functions that load the modules of the import tree. Loading the library fails
    /// unless all are registered.
    pub fn loaders(&self) -> Vec<String> {
        let modules = self.library_bin.iter().flat_map(|tree| tree.modules.iter().flatten());
        let kinds = modules.filter(|module| module.size.is_some()).map(|module| &module.kind);
        let kinds: BTreeSet<&String> = kinds.collect();
        kinds.into_iter().map(|kind| format!("{LOADER_PREFIX}{kind}")).collect()
    }

    /// Returns the first release of the runtime that has every used function; `None` if one is unknown.
    pub fn release(&self) -> Option<Version> {
        let newest = |newest: Version, used: &RuntimeUse| Some(newest.max(used.since?));
        self.runtime.iter().try_fold(Version::FIRST, newest)
    }
}

/// Symbol of the table of addresses, which the linker itself defines.
const TABLE: &str = "_GLOBAL_OFFSET_TABLE_";

/// Returns the prefix of the system library whose symbol this is, empty for another library; `None` if it is another
/// symbol. What functions are called follows another prefix.
fn system_prefix<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    name.strip_suffix(suffix).filter(|prefix| !prefix.starts_with(symbol::PREFIX))
}

/// Symbols sorted by their meaning for TVM FFI.
#[derive(Debug, Default)]
struct Found<'data> {
    functions: BTreeMap<String, Function>,
    texts: Vec<(TextKind, String, Text)>,
    /// Prefix and bytes of the import tree.
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
        } else if let Some(prefix) = system_prefix(&name, symbol::LIBRARY_BIN) {
            // The tree of a library has priority over those of system libraries.
            if self.tree.is_none() || prefix.is_empty() {
                self.tree = Some((prefix.to_owned(), data));
            }
        } else if let Some(prefix) = system_prefix(&name, symbol::LIBRARY_CTX) {
            if self.library_ctx.is_none() || prefix.is_empty() {
                self.library_ctx = Some(Data { size });
            }
        } else if let Some(function) = name.strip_prefix(symbol::METADATA_PREFIX) {
            self.texts.push((TextKind::Metadata, function.to_owned(), Text::Computed));
        } else if let Some(function) = name.strip_prefix(symbol::DOC_PREFIX) {
            self.texts.push((TextKind::Doc, function.to_owned(), Text::Computed));
        } else if let Some(function) = name.strip_prefix(symbol::PREFIX) {
            if Reserved::of(&name).is_some() {
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

    /// Returns the functions with their texts. Texts about other functions are dropped; a constant has priority over a
    /// getter.
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
