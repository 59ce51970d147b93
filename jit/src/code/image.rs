//! ELF files for debuggers: names and addresses of functions, their unwind tables and debug information, but no code.

use object::write::StringId;
use object::write::elf::{FileHeader, SectionHeader, SectionIndex, Sym, Writer};
use object::{Endianness, elf};
use target_lexicon::Triple;
use tvm_ffi_codegen::backend::Machine;

use super::address::FunctionRange;

/// The header of a section with neither name nor bytes.
const SECTION: SectionHeader = SectionHeader {
    name: None,
    sh_type: elf::SHT_NULL,
    sh_flags: 0,
    sh_addr: 0,
    sh_offset: 0,
    sh_size: 0,
    sh_link: 0,
    sh_info: 0,
    sh_addralign: 8,
    sh_entsize: 0,
};

/// The name of the section with unwind tables.
const FRAMES: &str = ".eh_frame";

/// Writes the file, with the section `.eh_frame` and sections of debug information. Every function has a section of its
/// own, without bytes, at the address of the function: code between two functions may belong to another library.
pub(super) fn image(
    functions: &[FunctionRange],
    frames: &[u8],
    lines: &[(&str, Vec<u8>)],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = Writer::new(Endianness::Little, true, &mut bytes);
    file.reserve_file_header();
    file.reserve_null_section_index();
    let text_name = file.add_section_name(b".text");
    let contents: Vec<(&str, &[u8])> = [(FRAMES, frames)]
        .into_iter()
        .chain(lines.iter().map(|(name, bytes)| (*name, &bytes[..])))
        .collect();
    let names: Vec<StringId> =
        contents.iter().map(|(name, _)| file.add_section_name(name.as_bytes())).collect();
    let places: Vec<SectionIndex> =
        functions.iter().map(|_| file.reserve_section_index()).collect();
    for _ in &contents {
        file.reserve_section_index();
    }
    file.reserve_symtab_section_index();
    file.reserve_strtab_section_index();
    file.reserve_shstrtab_section_index();
    file.reserve_null_symbol_index();
    let mut symbols = Vec::with_capacity(functions.len());
    for (function, place) in functions.iter().zip(places) {
        file.reserve_symbol_index(Some(place));
        symbols.push(symbol(file.add_string(function.name.as_bytes()), function.size, place));
    }
    let starts: Vec<usize> =
        contents.iter().map(|(_, bytes)| file.reserve(bytes.len(), 8)).collect();
    file.reserve_symtab();
    file.reserve_strtab();
    file.reserve_shstrtab();
    file.reserve_section_headers();
    if file.write_file_header(&header()).is_err() {
        return Vec::new();
    }
    let mut headers = Vec::with_capacity(contents.len());
    for (((section, bytes), start), name) in contents.iter().zip(starts).zip(names) {
        file.write_align(8);
        file.write(bytes);
        headers.push(SectionHeader {
            name: Some(name),
            sh_type: elf::SHT_PROGBITS,
            sh_flags: if *section == FRAMES { elf::SHF_ALLOC.into() } else { 0 },
            sh_offset: start as u64,
            sh_size: bytes.len() as u64,
            ..SECTION
        });
    }
    write_rest(&mut file, &symbols, functions, text_name, &headers);
    bytes
}

/// Returns the file header.
fn header() -> FileHeader {
    let machine = Machine::of_architecture(Triple::host().architecture);
    FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: machine.map_or(elf::EM_NONE, |machine| machine.facts().elf),
        e_entry: 0,
        e_flags: 0,
    }
}

/// Writes symbols, names, and the headers of all sections.
fn write_rest(
    file: &mut Writer<'_>,
    symbols: &[Sym],
    functions: &[FunctionRange],
    text: StringId,
    contents: &[SectionHeader],
) {
    file.write_null_symbol();
    symbols.iter().for_each(|symbol| file.write_symbol(symbol));
    file.write_strtab();
    file.write_shstrtab();
    file.write_null_section_header();
    for function in functions {
        file.write_section_header(&SectionHeader {
            name: Some(text),
            sh_type: elf::SHT_NOBITS,
            sh_flags: (elf::SHF_ALLOC | elf::SHF_EXECINSTR).into(),
            sh_addr: function.start as u64,
            sh_size: function.size as u64,
            ..SECTION
        });
    }
    contents.iter().for_each(|header| file.write_section_header(header));
    file.write_symtab_section_header(1);
    file.write_strtab_section_header();
    file.write_shstrtab_section_header();
}

/// Returns the symbol of a function, which starts at its section's start.
fn symbol(name: StringId, size: usize, section: SectionIndex) -> Sym {
    Sym {
        name: Some(name),
        section: Some(section),
        st_info: elf::STB_GLOBAL << 4 | elf::STT_FUNC,
        st_other: elf::STV_DEFAULT,
        st_shndx: 0,
        st_value: 0,
        st_size: size as u64,
    }
}
