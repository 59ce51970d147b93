//! A file to link: checked once, when it is made, so that nothing unknown ever reaches a linker.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use object::read::archive::ArchiveFile;
use object::{
    FileKind, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SymbolFlags, elf,
};

use crate::object_file::{self, Machine, Names};
use crate::{Error, ObjectFault};

/// A relocatable object, or an archive of them, with the names that it defines.
#[derive(Clone, Debug)]
pub struct Input {
    name: String,
    bytes: Arc<Vec<u8>>,
    archive: bool,
    objects: Vec<Facts>,
    shown: Vec<String>,
}

/// What linking needs to know about one object.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// As messages name it: the file, and the member of an archive.
    pub(super) file: String,
    pub(super) machine: Machine,
    /// Every global symbol defined here.
    defined: BTreeSet<Vec<u8>>,
    /// Those of which there may be only one: not weak, common, or in a group that linkers merge.
    strong: BTreeSet<Vec<u8>>,
}

impl Input {
    /// Takes the contents of a file. `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Object`] unless it is a relocatable object or an archive of nothing else. Whether it
    /// fits the target is checked when it is linked.
    ///
    /// ```
    /// use tvm_ffi_codegen_driver::link::Input;
    ///
    /// let error = Input::new("libm.so", b"INPUT(libm.so.6)".to_vec()).unwrap_err();
    /// assert_eq!(error.to_string(), "libm.so: not an object file");
    /// ```
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Input, Error> {
        let name = name.into();
        let archive = matches!(FileKind::parse(&*bytes), Ok(FileKind::Archive));
        let objects = if archive {
            members(&name, &bytes)?
        } else {
            vec![facts(&name, &bytes).map_err(|fault| at(&name, fault))?]
        };
        Ok(Input { name, bytes: Arc::new(bytes), archive, objects, shown: Vec::new() })
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
        Input::new(path.display().to_string(), crate::file::read(path)?)
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
        self.objects.iter().any(|facts| facts.defined.contains(symbol.as_bytes()))
    }

    #[cfg(feature = "libwild")]
    pub(super) fn shared_bytes(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.bytes)
    }

    pub(super) fn objects(&self) -> &[Facts] {
        &self.objects
    }

    /// Symbols that clash with those of another input. An archive has none: of its members only those
    /// that define something still missing are linked.
    pub(super) fn strong(&self) -> impl Iterator<Item = &[u8]> {
        let objects = if self.archive { &[] } else { self.objects.as_slice() };
        objects.iter().flat_map(|facts| &facts.strong).map(Vec::as_slice)
    }
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
        objects.push(facts(&file, data).map_err(|fault| at(&file, fault))?);
    }
    Ok(objects)
}

fn facts(file: &str, bytes: &[u8]) -> Result<Facts, ObjectFault> {
    let object = object_file::parse(bytes)?;
    if object.kind() != ObjectKind::Relocatable {
        return Err(ObjectFault::NotRelocatable { found: object_file::kind_name(object.kind()) });
    }
    let mut names = Names::of(bytes);
    let (mut defined, mut strong) = (BTreeSet::new(), BTreeSet::new());
    for symbol in object.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined()) {
        let name = names.take(symbol.name_bytes())?;
        if is_strong(&object, &symbol) {
            strong.insert(name.clone());
        }
        defined.insert(name);
    }
    Ok(Facts { file: file.to_owned(), machine: Machine::of(&object), defined, strong })
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
