//! A file to link: checked once, when it is made, so that nothing unknown ever reaches a linker.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use object::read::archive::ArchiveFile;
use object::{
    FileFlags, FileKind, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags,
    SymbolFlags, elf,
};

use crate::object_file::{self, Machine, Names};
use crate::{Error, ObjectFault};

/// A relocatable object, an archive of them, or a shared library, with the names that it defines.
#[derive(Clone, Debug)]
pub struct Input {
    name: String,
    bytes: Arc<Vec<u8>>,
    kind: Kind,
    objects: Arc<[Facts]>,
    shown: Vec<String>,
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Object,
    /// Of its members those are linked that define something still missing.
    Archive,
    /// It is needed when what is linked is loaded.
    Library,
}

/// What linking needs to know about one object or shared library.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// As messages name it: the file, and the member of an archive.
    pub(super) file: String,
    pub(super) machine: Machine,
    /// What the machine's supplement of ELF says of calling conventions; 0 in other formats.
    pub(super) flags: u32,
    /// Every global symbol defined here.
    defined: BTreeSet<Vec<u8>>,
    /// Those of which there may be only one: not weak, common, or in a group that linkers merge.
    strong: BTreeSet<Vec<u8>>,
    /// What an object wants of others, and whether it must have it.
    undefined: BTreeMap<Vec<u8>, bool>,
}

impl Facts {
    pub(super) fn defined(&self) -> impl Iterator<Item = &[u8]> {
        self.defined.iter().map(Vec::as_slice)
    }

    /// What it cannot do without.
    pub(super) fn undefined(&self) -> impl Iterator<Item = &[u8]> {
        self.undefined.iter().filter(|(_, must)| **must).map(|(name, _)| name.as_slice())
    }
}

impl Input {
    /// Takes the contents of a file. `name` is for messages, and for shared libraries that do not say by which name
    /// the loader knows them: its last part is it.
    ///
    /// # Errors
    /// [`Error::Object`] unless it is a relocatable object, an archive of nothing else, or a shared library. Whether
    /// it fits the target is checked when it is linked.
    ///
    /// ```
    /// use tvm_ffi_codegen_driver::link::Input;
    ///
    /// let error = Input::new("kernel.o", vec![0; 64]).unwrap_err();
    /// assert_eq!(error.to_string(), "kernel.o: not an object file");
    /// ```
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Input, Error> {
        let name = name.into();
        let (kind, objects) = if matches!(FileKind::parse(&*bytes), Ok(FileKind::Archive)) {
            (Kind::Archive, members(&name, &bytes)?)
        } else {
            let (kind, facts) = read(&name, &bytes).map_err(|fault| {
                let is_text = fault == ObjectFault::Unrecognized && is_text(&bytes);
                at(&name, if is_text { ObjectFault::Text } else { fault })
            })?;
            (kind, vec![facts])
        };
        let objects = objects.into();
        Ok(Input { name, bytes: Arc::new(bytes), kind, objects, shown: Vec::new() })
    }

    /// The same, of which these symbols too are visible outside of a library that it is linked into. They are
    /// identifiers, which a linker takes as they are.
    #[must_use]
    pub fn showing(mut self, symbols: Vec<String>) -> Input {
        self.shown = symbols;
        self
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Input, Error> {
        Input::new(path.display().to_string(), super::read(path)?)
    }

    /// The name given to [`Input::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if an object here defines the symbol for others to use.
    pub fn defines(&self, symbol: &str) -> bool {
        self.defines_bytes(symbol.as_bytes())
    }

    /// The symbols that are defined here for others to use.
    pub fn defined(&self) -> impl Iterator<Item = String> {
        let names = self.objects.iter().flat_map(Facts::defined);
        names.map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// True if an object here leaves it to others to define the symbol.
    pub fn uses(&self, symbol: &str) -> bool {
        self.objects.iter().any(|facts| facts.undefined.contains_key(symbol.as_bytes()))
    }

    /// True for a shared library, which does not become part of what is linked.
    pub fn is_library(&self) -> bool {
        self.kind == Kind::Library
    }

    pub(super) fn defines_bytes(&self, symbol: &[u8]) -> bool {
        self.objects.iter().any(|facts| facts.defined.contains(symbol))
    }

    #[cfg(feature = "libwild")]
    pub(super) fn shared_bytes(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.bytes)
    }

    pub(super) fn objects(&self) -> &[Facts] {
        &self.objects
    }

    /// Symbols that clash with those of another input. Archives and shared libraries have none.
    pub(super) fn strong(&self) -> impl Iterator<Item = &[u8]> {
        let objects = match self.kind {
            Kind::Object => &*self.objects,
            Kind::Archive | Kind::Library => &[],
        };
        objects.iter().flat_map(|facts| &facts.strong).map(Vec::as_slice)
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let text = str::from_utf8(bytes).unwrap_or_default();
    !text.is_empty() && !text.contains('\0')
}

fn at(file: &str, fault: ObjectFault) -> Error {
    Error::Object { file: file.to_owned(), fault }
}

fn members(name: &str, bytes: &[u8]) -> Result<Vec<Facts>, Error> {
    let damaged = |error| at(name, object_file::malformed(error));
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    if archive.is_thin() {
        return Err(at(name, ObjectFault::ThinArchive));
    }
    let mut objects = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let file = format!("{name}({})", String::from_utf8_lossy(member.name()));
        let data = member.data(bytes).map_err(damaged)?;
        let (kind, facts) = read(&file, data).map_err(|fault| at(&file, fault))?;
        if kind != Kind::Object {
            return Err(at(&file, ObjectFault::NotRelocatable { found: "shared library" }));
        }
        objects.push(facts);
    }
    Ok(objects)
}

fn read(file: &str, bytes: &[u8]) -> Result<(Kind, Facts), ObjectFault> {
    let object = object_file::parse(bytes)?;
    let is_library = object.kind() == ObjectKind::Dynamic;
    if !is_library && object.kind() != ObjectKind::Relocatable {
        return Err(ObjectFault::NotRelocatable { found: object_file::kind_name(object.kind()) });
    }
    let flags = object.flags();
    let flags = if let FileFlags::Elf { e_flags, .. } = flags { e_flags.0 } else { 0 };
    let (file, machine) = (file.to_owned(), Machine::of(&object));
    let (defined, strong, undefined) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    let mut facts = Facts { file, machine, flags, defined, strong, undefined };
    let symbols = if is_library { object.dynamic_symbols() } else { object.symbols() };
    let mut names = Names::of(bytes);
    for symbol in symbols.filter(|symbol| symbol.is_global()) {
        // What a shared library wants of others is between it and the loader.
        if is_library && symbol.is_undefined() {
            continue;
        }
        let name = names.take(symbol.name_bytes())?;
        if symbol.is_undefined() {
            facts.undefined.insert(name, !symbol.is_weak());
            continue;
        }
        if !is_library && is_strong(&object, &symbol) {
            facts.strong.insert(name.clone());
        }
        facts.defined.insert(name);
    }
    Ok((if is_library { Kind::Library } else { Kind::Object }, facts))
}

fn is_strong(object: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> bool {
    if let SymbolFlags::Elf { st_info, .. } = symbol.flags()
        && st_info.st_bind() != elf::STB_GLOBAL
    {
        return false;
    }
    let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
    let flags = section.map(|section| section.flags());
    let grouped = matches!(
        flags,
        Some(SectionFlags::Elf { sh_flags, .. }) if sh_flags.contains(elf::SHF_GROUP)
    );
    !grouped && !symbol.is_common()
}
