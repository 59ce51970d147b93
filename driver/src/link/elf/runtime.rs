//! A stub of `libtvm_ffi.so` for linkers: a shared library of that name without symbols, so that the file itself need
//! not be there.

use object::elf;
use object::write::elf::{FileHeader, ProgramHeader, Writer};
use object::{Architecture, Endianness};

use crate::Error;
use crate::link::{Input, base_name};
use crate::object_file::Machine;

/// Name by which the loader knows the library.
const NAME: &str = "libtvm_ffi.so";

/// Returns whether an input is the library itself.
pub(super) fn is(input: &Input) -> bool {
    input.is_library() && base_name(input.name()) == NAME
}

/// Makes the stub for the machine of the inputs.
pub(in crate::link) fn library(inputs: &[Input], machine: Machine) -> Result<Input, Error> {
    let failed = |error: object::write::Error| Error::Linker {
        name: NAME.to_owned(),
        reason: error.to_string(),
    };
    // Linkers compare the flags, which name the calling convention.
    let flags = inputs.iter().flat_map(Input::objects).map(|facts| facts.flags).next();
    Input::new(NAME, bytes(machine, flags.unwrap_or_default()).map_err(failed)?)
}

fn bytes(machine: Machine, flags: u32) -> object::write::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
    writer.reserve_null_section_index();
    let name = writer.add_dynamic_string(NAME.as_bytes());
    writer.reserve_file_header();
    writer.reserve_program_headers(2);
    writer.reserve_null_dynamic_symbol_index();
    writer.reserve_dynsym_section_index();
    writer.reserve_dynstr_section_index();
    writer.reserve_dynamic_section_index();
    writer.reserve_shstrtab_section_index();
    // Addresses are offsets in the file.
    let symbols = writer.reserve_dynsym();
    let strings = writer.reserve_dynstr()?;
    let dynamic = writer.reserve_dynamic(4);
    let end = writer.reserved_len();
    writer.reserve_shstrtab()?;
    writer.reserve_section_headers();

    writer.write_file_header(&header(machine, flags))?;
    writer.write_align_program_headers();
    writer.write_program_header(&segment(elf::PT_LOAD, 0, end));
    writer.write_program_header(&segment(elf::PT_DYNAMIC, dynamic, end - dynamic));
    writer.write_null_dynamic_symbol();
    writer.write_dynstr();
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
    writer.write_shstrtab_section_header();
    Ok(bytes)
}

fn header(machine: Machine, e_flags: u32) -> FileHeader {
    let e_machine = if machine.architecture == Architecture::Aarch64 {
        elf::EM_AARCH64
    } else if machine.architecture == Architecture::Riscv64 {
        elf::EM_RISCV
    } else {
        elf::EM_X86_64
    };
    FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine,
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
