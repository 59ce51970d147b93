//! Files to link. A file is checked once, when the input is made, so no linker gets an unknown one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use object::read::archive::ArchiveFile;
use object::read::coff::ImportFile;
use object::read::elf::ElfFile64;
use object::{
    BinaryFormat, Endianness, FileFlags, FileKind, NameOrOrdinal, Object, ObjectKind,
    ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolFlags, SymbolScope,
    SymbolSection, archive, elf, pe,
};

use super::obstacle::{self, Obstacle};
use crate::object_file::{self, Header, NameBudget};
use crate::{EXPORTED, Error, ObjectFault};

/// A relocatable object, an archive of objects, or a shared library, with its symbols.
#[derive(Clone, Debug)]
pub struct Input {
    name: String,
    bytes: Arc<Vec<u8>>,
    kind: InputKind,
    objects: Arc<[ObjectFacts]>,
    shown: Vec<String>,
}

/// Kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputKind {
    Object,
    /// An archive, of which a linker takes the members that define a symbol still missing.
    Archive,
    /// A shared library, which becomes a dependency of the output.
    Library,
}

/// Facts about one object or shared library.
#[derive(Clone, Debug)]
pub(super) struct ObjectFacts {
    /// Name for messages: the file, and the member of an archive.
    pub(super) file: String,
    pub(super) header: Header,
    /// Flags of the ELF header, which name the calling convention; 0 in other formats.
    pub(super) flags: u32,
    /// True if start-up code of Windows runs a function of this object.
    pub(super) has_constructors: bool,
    /// Contents that some outputs or linkers cannot take.
    pub(super) obstacles: BTreeSet<Obstacle>,
    /// Weak hidden symbols whose addresses code loads by an instruction that a linker may replace.
    pub(super) loaded: BTreeSet<Vec<u8>>,
    /// Range of the bytes of a member in its archive; the whole file otherwise.
    pub(super) range: Range<usize>,
    /// Global symbols defined here, and what they are.
    defined: BTreeMap<Vec<u8>, Definition>,
    /// Defined symbols that may have one definition only: not weak, not common, not in a group that linkers merge.
    strong: BTreeSet<Vec<u8>>,
    /// Defined symbols that their object hides from other libraries.
    hidden: BTreeSet<Vec<u8>>,
    /// Undefined symbols of an object, and whether they are strong.
    undefined: BTreeMap<Vec<u8>, bool>,
}

/// Kind of a defined symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    Function,
    Data,
    /// Data of zeros, of which a linker keeps one, and none if there is another definition.
    Common,
    /// A function of a library for Windows.
    Import,
    /// A number that stands for an address, which may be that of code.
    Absolute,
}

impl ObjectFacts {
    fn new(file: &str, header: Header, flags: u32) -> ObjectFacts {
        ObjectFacts {
            file: file.to_owned(),
            header,
            flags,
            has_constructors: false,
            obstacles: BTreeSet::new(),
            loaded: BTreeSet::new(),
            range: 0..0,
            defined: BTreeMap::new(),
            strong: BTreeSet::new(),
            hidden: BTreeSet::new(),
            undefined: BTreeMap::new(),
        }
    }

    pub(super) fn defined(&self) -> impl Iterator<Item = &[u8]> {
        self.definitions().map(|(name, _)| name)
    }

    /// Returns the defined symbols, and what they are.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&[u8], Definition)> {
        self.defined.iter().map(|(name, definition)| (name.as_slice(), *definition))
    }

    /// Returns whether the object defines a symbol, and hides it from other libraries.
    pub(super) fn hides(&self, symbol: &[u8]) -> bool {
        self.hidden.contains(symbol)
    }

    /// Returns the undefined symbols, and whether they are strong.
    pub(super) fn references(&self) -> impl Iterator<Item = (&[u8], bool)> {
        self.undefined.iter().map(|(name, must)| (name.as_slice(), *must))
    }

    /// Returns the strong undefined symbols.
    pub(super) fn undefined(&self) -> impl Iterator<Item = &[u8]> {
        self.references().filter(|(_, must)| *must).map(|(name, _)| name)
    }
}

impl Input {
    /// Checks the contents of a file. `name` is for messages; its last part is the name for the loader of a shared
    /// library without a soname.
    ///
    /// # Errors
    /// [`Error::Object`] unless it is a relocatable object, an archive of such objects, or a shared library. Linking
    /// checks whether it fits the target.
    ///
    /// ```
    /// use tvm_ffi_codegen_link::Input;
    ///
    /// let error = Input::new("kernel.o", vec![0; 64]).unwrap_err();
    /// assert_eq!(error.to_string(), "kernel.o: not an object file");
    /// ```
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Input, Error> {
        let name = name.into();
        // Debian's `libpthread.a` is an archive without members, of which there is no more than the signature.
        let is_empty = bytes == archive::MAGIC;
        let is_archive = is_empty || matches!(FileKind::parse(&*bytes), Ok(FileKind::Archive));
        let (kind, objects) = if is_archive {
            (InputKind::Archive, members(&name, &bytes)?)
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

    /// Checks contents that came without a path, as [`Input::new`] does. The loader of a shared library without a soname
    /// would look for a file of the `name` for messages.
    ///
    /// # Errors
    /// Those of [`Input::new`], and [`ObjectFault::Nameless`].
    pub fn without_path(name: impl Into<String>, bytes: Vec<u8>) -> Result<Input, Error> {
        let input = Input::new(name, bytes)?;
        if input.is_library() && has_soname(&input.bytes) == Some(false) {
            return Err(at(&input.name, ObjectFault::Nameless));
        }
        Ok(input)
    }

    /// Makes the input of a text that stands for a shared library.
    pub(super) fn stub(name: &str, text: String) -> Input {
        let (name, bytes) = (name.to_owned(), Arc::new(text.into_bytes()));
        Input {
            name,
            bytes,
            kind: InputKind::Library,
            objects: Vec::new().into(),
            shown: Vec::new(),
        }
    }

    /// Exports these symbols, too, from a library that the input is linked into. They must be identifiers, which need
    /// no quotes in a version script.
    #[must_use]
    pub fn showing(mut self, symbols: Vec<String>) -> Input {
        self.shown = symbols;
        self
    }

    pub(super) fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// The errors of [`Input::new`], and [`Error::Read`].
    pub fn read(path: &Path) -> Result<Input, Error> {
        Input::new(path.display().to_string(), super::read(path)?)
    }

    /// Returns the name given to [`Input::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether an object here defines a symbol.
    pub fn defines(&self, symbol: &str) -> bool {
        self.defines_bytes(symbol.as_bytes())
    }

    /// Returns whether an object that becomes part of the output defines a symbol as data.
    pub fn has_data(&self, symbol: &str) -> bool {
        let is_data = |facts: &ObjectFacts| {
            let definition = facts.defined.get(symbol.as_bytes());
            matches!(definition, Some(Definition::Data | Definition::Common))
        };
        !self.is_library() && self.objects.iter().any(is_data)
    }

    /// Returns the symbols defined here.
    pub fn defined(&self) -> impl Iterator<Item = String> {
        let names = self.objects.iter().flat_map(ObjectFacts::defined);
        names.map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// Returns the symbols defined here that other libraries may see, but those that every shared library exports. In
    /// objects for Windows that is said by each export, and there are none.
    pub fn visible(&self) -> impl Iterator<Item = String> {
        let objects = self.objects.iter().filter(|facts| facts.header.format != BinaryFormat::Coff);
        let names = objects.flat_map(|facts| facts.defined().filter(|name| !facts.hides(name)));
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        names.filter(|name| !EXPORTED.iter().any(|prefix| name.starts_with(prefix)))
    }

    /// Returns whether a symbol is undefined in an object here.
    pub fn uses(&self, symbol: &str) -> bool {
        self.uses_bytes(symbol.as_bytes())
    }

    /// Returns whether this is a shared library, which does not become part of the output.
    pub fn is_library(&self) -> bool {
        self.kind == InputKind::Library
    }

    pub(super) fn is_archive(&self) -> bool {
        self.kind == InputKind::Archive
    }

    pub(super) fn defines_bytes(&self, symbol: &[u8]) -> bool {
        self.objects.iter().any(|facts| facts.defined.contains_key(symbol))
    }

    pub(super) fn uses_bytes(&self, symbol: &[u8]) -> bool {
        self.objects.iter().any(|facts| facts.undefined.contains_key(symbol))
    }

    /// Returns a member of this archive as an object.
    #[cfg(feature = "libwild")]
    pub(super) fn member(&self, facts: &ObjectFacts) -> Input {
        let bytes = self.bytes.get(facts.range.clone()).unwrap_or_default().to_vec();
        let (name, kind) = (facts.file.clone(), InputKind::Object);
        let facts = ObjectFacts { range: 0..bytes.len(), ..facts.clone() };
        Input {
            name,
            bytes: Arc::new(bytes),
            kind,
            objects: [facts].into(),
            shown: self.shown.clone(),
        }
    }

    /// Puts other bytes, in which everything is where it was, into the place of an object's.
    #[cfg(feature = "libwild")]
    pub(super) fn replace_bytes(&mut self, bytes: Vec<u8>) {
        self.bytes = Arc::new(bytes);
    }

    #[cfg(feature = "libwild")]
    pub(super) fn shared_bytes(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.bytes)
    }

    pub(super) fn objects(&self) -> &[ObjectFacts] {
        &self.objects
    }

    /// Returns the symbols that clash with those of another input. Archives and shared libraries have none.
    pub(super) fn strong(&self) -> impl Iterator<Item = &[u8]> {
        let objects = if self.kind == InputKind::Object { &*self.objects } else { &[] };
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

fn members(name: &str, bytes: &[u8]) -> Result<Vec<ObjectFacts>, Error> {
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
        if kind != InputKind::Object {
            return Err(at(&file, ObjectFault::NotRelocatable { found: "shared library" }));
        }
        let (start, size) = member.file_range();
        let range = usize::try_from(start).ok().zip(usize::try_from(start + size).ok());
        objects.push(ObjectFacts { range: range.map_or(0..0, |(start, end)| start..end), ..facts });
    }
    Ok(objects)
}

fn read(file: &str, bytes: &[u8]) -> Result<(InputKind, ObjectFacts), ObjectFault> {
    if matches!(FileKind::parse(bytes), Ok(FileKind::CoffImport)) {
        return Ok((InputKind::Object, import(file, bytes)?));
    }
    let object = object_file::parse(bytes)?;
    let kind = object_file::kind(&object);
    let is_library = kind == ObjectKind::Dynamic;
    if !is_library && kind != ObjectKind::Relocatable {
        return Err(ObjectFault::NotRelocatable { found: object_file::kind_name(kind) });
    }
    let flags = object.flags();
    let flags = if let FileFlags::Elf { e_flags, .. } = flags { e_flags.0 } else { 0 };
    let mut facts = ObjectFacts::new(file, Header::of(&object), flags);
    facts.range = 0..bytes.len();
    let mut names = NameBudget::of(bytes);
    if facts.header.format == BinaryFormat::Pe {
        facts.header.format = BinaryFormat::Coff;
        for export in object.exports().map_err(object_file::malformed)? {
            let export = export.map_err(object_file::malformed)?;
            if let NameOrOrdinal::Name(name) = export.name() {
                facts.defined.insert(names.take(Ok(name))?, Definition::Function);
            }
        }
        return Ok((InputKind::Library, facts));
    }
    facts.has_constructors = facts.header.format == BinaryFormat::Coff
        && object.sections().any(|section| section.name_bytes().is_ok_and(is_constructors));
    if !is_library {
        facts.obstacles = obstacle::all(&object, &mut facts.loaded);
    }
    let symbols = if is_library { object.dynamic_symbols() } else { object.symbols() };
    for symbol in symbols.filter(|symbol| symbol.is_global()) {
        // The loader resolves the undefined symbols of a shared library.
        if is_library && symbol.is_undefined() {
            continue;
        }
        let name = names.take(symbol.name_bytes())?;
        let name = object_file::c_name(facts.header.format, &name).to_vec();
        if symbol.is_undefined() {
            facts.undefined.insert(name, !symbol.is_weak());
            continue;
        }
        // GCC marks objects with intermediate code alone by this symbol.
        if name == b"__gnu_lto_slim" {
            return Err(ObjectFault::Unlinkable {
                found: "only GCC's code for -flto".to_owned(),
                advice: "compile it without -flto, or with -ffat-lto-objects",
            });
        }
        if !is_library && is_strong(&object, &symbol) {
            facts.strong.insert(name.clone());
        }
        // COFF has no visibility.
        let is_hidden = symbol.scope() == SymbolScope::Linkage;
        if is_hidden && facts.header.format != BinaryFormat::Coff {
            facts.hidden.insert(name.clone());
        }
        facts.defined.insert(name, definition(&object, &symbol));
    }
    Ok((if is_library { InputKind::Library } else { InputKind::Object }, facts))
}

/// Reads a member of an import library for Windows.
fn import(file: &str, bytes: &[u8]) -> Result<ObjectFacts, ObjectFault> {
    let import = ImportFile::parse(bytes).map_err(object_file::malformed)?;
    let (format, architecture) = (BinaryFormat::Coff, import.architecture());
    let mut facts = ObjectFacts::new(file, Header { format, architecture, little_endian: true }, 0);
    let name = NameBudget::of(bytes).take(Ok(import.symbol()))?;
    let names = [[b"__imp_", &*name].concat(), name];
    facts.defined.extend(names.map(|name| (name, Definition::Import)));
    Ok(facts)
}

/// Returns whether a section for Windows lists functions that start-up code runs.
fn is_constructors(name: &[u8]) -> bool {
    name.starts_with(b".CRT$") || name.starts_with(b".ctors")
}

fn definition(object: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> Definition {
    if symbol.is_common() {
        return Definition::Common;
    }
    if symbol.section() == SymbolSection::Absolute {
        return Definition::Absolute;
    }
    let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
    let is_code = section.is_some_and(|section| section.kind() == SectionKind::Text);
    if is_code { Definition::Function } else { Definition::Data }
}

fn is_strong(object: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> bool {
    if let SymbolFlags::Elf { st_info, .. } = symbol.flags() {
        if st_info.st_bind() != elf::STB_GLOBAL {
            return false;
        }
    } else if symbol.is_weak() {
        return false;
    }
    let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
    let flags = section.map_or(SectionFlags::None, |section| section.flags());
    let is_grouped = if let SectionFlags::Elf { sh_flags, .. } = flags {
        sh_flags.contains(elf::SHF_GROUP)
    } else if let SectionFlags::Coff { characteristics } = flags {
        characteristics.contains(pe::IMAGE_SCN_LNK_COMDAT)
    } else {
        false
    };
    !is_grouped && !symbol.is_common()
}

/// Returns whether a shared library in ELF has a soname; `None` for other formats.
fn has_soname(bytes: &[u8]) -> Option<bool> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    let (dynamic, _) = file.elf_section_table().dynamic(file.endian(), bytes).ok()??;
    let tag = |entry: &elf::Dyn64<Endianness>| entry.d_tag.get(file.endian());
    Some(dynamic.iter().any(|entry| tag(entry) == elf::DT_SONAME))
}
