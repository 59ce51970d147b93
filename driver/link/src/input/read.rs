//! Facts about the bytes of a file. They are untrusted.

use object::read::archive::ArchiveFile;
use object::read::coff::ImportFile;
use object::read::elf::ElfFile64;
use object::{
    BinaryFormat, Endianness, FileFlags, FileKind, NameOrOrdinal, Object, ObjectKind,
    ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolFlags, SymbolScope,
    SymbolSection, elf, pe,
};

use super::{Definition, InputKind, ObjectFacts};
use crate::object_file::{self, Header, NameBudget};
use crate::{Error, ObjectFault, obstacle};

pub(super) fn is_text(bytes: &[u8]) -> bool {
    let text = str::from_utf8(bytes).unwrap_or_default();
    !text.is_empty() && !text.contains('\0')
}

pub(super) fn at(file: &str, fault: ObjectFault) -> Error {
    Error::Object { file: file.to_owned(), fault }
}

pub(super) fn members(name: &str, bytes: &[u8]) -> Result<Vec<ObjectFacts>, Error> {
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

pub(super) fn read(file: &str, bytes: &[u8]) -> Result<(InputKind, ObjectFacts), ObjectFault> {
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
    facts.is_library = is_library;
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
        for section in object.sections() {
            let name = section.name_bytes().unwrap_or_default();
            if is_word(name) {
                facts.sections.insert(names.take(Ok(name))?);
            }
        }
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
            if let Some(visibility) = visibility(&symbol) {
                facts.bound.insert(name.clone(), visibility);
            }
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

/// Returns whether a name of a section is one of C.
fn is_word(name: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(is_part)
}

/// Returns the name of the visibility of a symbol in ELF that other libraries cannot define.
fn visibility(symbol: &object::Symbol<'_, '_>) -> Option<&'static str> {
    let SymbolFlags::Elf { st_other, .. } = symbol.flags() else { return None };
    let names = [
        (elf::STV_INTERNAL, "internal"),
        (elf::STV_HIDDEN, "hidden"),
        (elf::STV_PROTECTED, "protected"),
    ];
    let known = names.into_iter().find(|(visibility, _)| st_other.visibility() == *visibility);
    known.map(|(_, name)| name)
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
pub(super) fn has_soname(bytes: &[u8]) -> Option<bool> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    let (dynamic, _) = file.elf_section_table().dynamic(file.endian(), bytes).ok()??;
    let tag = |entry: &elf::Dyn64<Endianness>| entry.d_tag.get(file.endian());
    Some(dynamic.iter().any(|entry| tag(entry) == elf::DT_SONAME))
}
