//! Stubs of shared libraries, so that the files themselves need not be there: the name of a library for the loader, and
//! the symbols that are wanted of it, each in its version.
//!
//! Linkers take names and versions of a library from a file in ELF only; there is no text for them, as `.tbd` is on
//! macOS. `llvm-ifs` makes such files from a text, without versions (llvm/llvm-project#54516). The writer can go once
//! linkers read that text.

use std::collections::BTreeSet;

use codegen::backend::Machine;
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, SectionIndex, Sym, Verdef, Writer};
use object::{Endianness, elf};

use crate::{Error, Input};

/// A shared library for linkers.
#[derive(Debug)]
pub(super) struct Stub<'a> {
    /// The name by which the loader knows it.
    pub(super) name: &'a str,
    /// The symbols that it defines.
    pub(super) symbols: Vec<Versioned<'a>>,
}

/// A symbol in one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Versioned<'a> {
    /// The name.
    pub(super) name: &'a [u8],
    /// The version.
    pub(super) version: &'a str,
    /// True if references without a version are to this one.
    pub(super) is_default: bool,
}

impl Stub<'_> {
    /// Makes the file for the machine of the inputs.
    pub(super) fn library(&self, inputs: &[Input], machine: Machine) -> Result<Input, Error> {
        let failed = |error: object::write::Error| Error::Linker {
            name: self.name.to_owned(),
            reason: error.to_string(),
        };
        // Linkers compare the flags, which name the calling convention.
        let flags = inputs.iter().flat_map(Input::objects).map(|facts| facts.flags).next();
        let header = header(machine, flags.unwrap_or_default());
        Input::new(self.name, self.bytes(&header).map_err(failed)?)
    }

    fn bytes(&self, header: &FileHeader) -> object::write::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
        writer.reserve_null_section_index();
        let name = writer.add_dynamic_string(self.name.as_bytes());
        let versions: BTreeSet<&str> = self.symbols.iter().map(|symbol| symbol.version).collect();
        let versions: Vec<(&str, StringId)> = versions
            .into_iter()
            .map(|version| (version, writer.add_dynamic_string(version.as_bytes())))
            .collect();
        let mut names = Vec::new();
        for symbol in &self.symbols {
            names.push(writer.add_dynamic_string(symbol.name));
        }
        writer.reserve_file_header();
        writer.reserve_program_headers(2);
        writer.reserve_null_dynamic_symbol_index();
        for _ in &self.symbols {
            writer.reserve_dynamic_symbol_index();
        }
        writer.reserve_dynsym_section_index();
        writer.reserve_dynstr_section_index();
        let section = writer.reserve_dynamic_section_index();
        // The first definition is that of the library itself.
        let definitions = if versions.is_empty() { 0 } else { versions.len() + 1 };
        if definitions > 0 {
            writer.reserve_gnu_versym_section_index();
            writer.reserve_gnu_verdef_section_index();
        }
        writer.reserve_shstrtab_section_index();
        // Addresses are offsets in the file.
        let symbols = writer.reserve_dynsym();
        let strings = writer.reserve_dynstr()?;
        let indices = if definitions > 0 { writer.reserve_gnu_versym() } else { 0 };
        let defined = writer.reserve_gnu_verdef(definitions as u16, definitions);
        let dynamic = writer.reserve_dynamic(4);
        let end = writer.reserved_len();
        writer.reserve_shstrtab()?;
        writer.reserve_section_headers();

        writer.write_file_header(header)?;
        writer.write_align_program_headers();
        writer.write_program_header(&segment(elf::PT_LOAD, 0, end));
        writer.write_program_header(&segment(elf::PT_DYNAMIC, dynamic, end - dynamic));
        writer.write_null_dynamic_symbol();
        for name in names {
            let st_name = writer.dynamic_string_offset(Some(name));
            writer.write_dynamic_symbol(&symbol(st_name, section));
        }
        writer.write_dynstr();
        if definitions > 0 {
            self.write_versions(&mut writer, name, &versions);
        }
        writer.write_align_dynamic();
        writer.write_dynamic_string(elf::DT_SONAME, name)?;
        writer.write_dynamic(elf::DT_STRTAB, strings)?;
        writer.write_dynamic(elf::DT_SYMTAB, symbols)?;
        writer.write_dynamic(elf::DT_NULL, 0)?;
        writer.write_shstrtab();
        writer.write_null_section_header();
        writer.write_dynsym_section_header(symbols, 1);
        writer.write_dynstr_section_header(strings);
        writer.write_dynamic_section_header(dynamic);
        writer.write_gnu_versym_section_header(indices);
        writer.write_gnu_verdef_section_header(defined);
        writer.write_shstrtab_section_header();
        Ok(bytes)
    }

    /// Writes the version of each symbol, and the definitions of the versions.
    fn write_versions(
        &self,
        writer: &mut Writer<'_>,
        name: StringId,
        versions: &[(&str, StringId)],
    ) {
        /// The index of the library itself; those of versions follow.
        const LIBRARY: u16 = elf::VER_NDX_GLOBAL.0;
        let index = |place: usize| LIBRARY + 1 + place as u16;
        writer.write_null_gnu_versym();
        for symbol in &self.symbols {
            let place = versions.iter().position(|(known, _)| *known == symbol.version);
            let hidden = if symbol.is_default { 0 } else { elf::VERSYM_HIDDEN.0 };
            writer.write_gnu_versym(elf::VersymIndex(place.map_or(LIBRARY, index) | hidden));
        }
        writer.write_align_gnu_verdef();
        let itself = (self.name, name, LIBRARY, elf::VER_FLG_BASE);
        let others = versions.iter().enumerate().map(|(place, (version, name))| {
            (*version, *name, index(place), elf::VersionFlags::default())
        });
        for (text, name, index, flags) in [itself].into_iter().chain(others) {
            let version = Verdef {
                version: elf::VER_DEF_CURRENT,
                flags,
                index: elf::VersionIndex(index),
                aux_count: 1,
                name: writer.dynamic_string_offset(Some(name)),
                hash: elf::hash(text.as_bytes()),
            };
            writer.write_gnu_verdef(&version);
        }
    }
}

/// Returns a symbol that is defined in a section.
fn symbol(st_name: u32, section: SectionIndex) -> Sym {
    Sym {
        section: Some(section.0),
        st_name,
        st_info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_NOTYPE),
        st_other: elf::SymbolOther::default(),
        st_shndx: elf::SymbolSection::default(),
        st_value: 0,
        st_size: 0,
    }
}

fn header(machine: Machine, e_flags: u32) -> FileHeader {
    FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: elf::Machine(machine.facts().elf),
        e_entry: 0,
        e_flags: elf::FileFlags(e_flags),
    }
}

fn segment(p_type: elf::ProgramType, offset: u64, size: u64) -> ProgramHeader {
    ProgramHeader {
        p_type,
        p_flags: elf::PF_R,
        p_offset: offset,
        p_vaddr: offset,
        p_paddr: offset,
        p_filesz: size,
        p_memsz: size,
        p_align: 8,
    }
}
