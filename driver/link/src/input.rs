//! Files to link. A file is checked once, when the input is made, so no linker gets an unknown one.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use object::{BinaryFormat, FileKind, archive};

use super::obstacle::Obstacle;
use crate::object_file::Header;
use crate::{EXPORTED, Error, ObjectFault};
use read::{at, has_soname, is_text, members, read};

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
    /// True for a shared library, which does not become part of the output.
    pub(super) is_library: bool,
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
    /// Undefined symbols that only a definition in the same output is one for, and the name of their visibility.
    bound: BTreeMap<Vec<u8>, &'static str>,
    /// Names of sections that are words in C: linkers define symbols for their beginnings and ends.
    pub(super) sections: BTreeSet<Vec<u8>>,
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
            is_library: false,
            has_constructors: false,
            obstacles: BTreeSet::new(),
            loaded: BTreeSet::new(),
            range: 0..0,
            defined: BTreeMap::new(),
            strong: BTreeSet::new(),
            hidden: BTreeSet::new(),
            undefined: BTreeMap::new(),
            bound: BTreeMap::new(),
            sections: BTreeSet::new(),
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

    /// Returns the undefined symbols that only a definition in the same output is one for, and the name of their
    /// visibility.
    pub(super) fn bound(&self) -> impl Iterator<Item = (&[u8], &'static str)> {
        self.bound.iter().map(|(name, visibility)| (name.as_slice(), *visibility))
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

    /// Checks contents that came without a path, as [`Input::new`] does. The loader of a shared library without a
    /// soname would look for a file of the `name` for messages.
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
