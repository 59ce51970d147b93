//! Headers of sections that Wild would refuse, or lay out so that code fails, and what they are changed to before it
//! runs.
//!
//! The first part can go once Wild begins the segment of thread-local variables at a multiple of its alignment, the
//! second once it ignores sections that are to be left out, whatever their names.

use std::ops::Range;
use std::slice;

use object::read::elf::{ElfFile64, SectionHeader};
use object::{Endianness, elf};

use super::Input;

/// Places of fields in the header of a section of 64-bit ELF.
const NAME: Range<usize> = 0..4;
const ALIGN: Range<usize> = 48..56;

/// Header of a section.
struct Header {
    /// Its place in the file.
    at: usize,
    name: Vec<u8>,
    flags: elf::SectionFlags,
    align: u64,
    /// True if the section has bytes in the file.
    is_initialized: bool,
}

/// Changes the headers of objects.
pub(super) fn adapt(inputs: &mut [Input]) {
    align_variables(inputs);
    for input in inputs {
        hide_intermediate_code(input);
    }
}

/// Aligns the first initialised thread-local variables as the most aligned ones of all: they are then the beginning of
/// the segment, in which every variable has its distance from an address that is aligned so.
fn align_variables(inputs: &mut [Input]) {
    let local = |input: &Input| {
        let all = headers(input).into_iter();
        all.filter(|header| header.flags.contains(elf::SHF_TLS)).collect::<Vec<_>>()
    };
    let all: Vec<Vec<Header>> = inputs.iter().map(local).collect();
    let Some(align) = all.iter().flatten().map(|header| header.align).max() else { return };
    let mut first = all.iter().zip(inputs).filter_map(|(headers, input)| {
        Some((headers.iter().find(|header| header.is_initialized)?, input))
    });
    if let Some((header, input)) = first.next().filter(|(header, _)| header.align < align) {
        change(input, slice::from_ref(header), ALIGN, &align.to_le_bytes());
    }
}

/// Takes the names off sections with GCC's code for `-flto`, which are to be left out. Code for the machine is beside
/// it.
fn hide_intermediate_code(input: &mut Input) {
    let mut hidden = headers(input);
    hidden.retain(|header| {
        header.flags.contains(elf::SHF_EXCLUDE) && header.name.starts_with(b".gnu.lto_")
    });
    change(input, &hidden, NAME, &[0; 4]);
}

/// Writes a value into a field of headers.
fn change(input: &mut Input, headers: &[Header], field: Range<usize>, value: &[u8]) {
    if headers.is_empty() {
        return;
    }
    let mut bytes = input.bytes().to_vec();
    for header in headers {
        bytes[header.at..][field.clone()].copy_from_slice(value);
    }
    input.replace_bytes(bytes);
}

/// Returns the headers of the sections of an object; none of a library, or of an object that cannot be read.
fn headers(input: &Input) -> Vec<Header> {
    let all = || {
        let file = ElfFile64::<Endianness>::parse(input.bytes()).ok()?;
        let endian = file.endian();
        let table = file.elf_section_table();
        let start = usize::try_from(file.elf_header().e_shoff.get(endian)).ok()?;
        let headers = table.iter().enumerate().map(|(index, header)| Header {
            at: start + index * size_of_val(header),
            name: table.section_name(endian, header).unwrap_or_default().to_vec(),
            flags: header.sh_flags(endian),
            align: header.sh_addralign(endian),
            is_initialized: header.sh_type(endian) != elf::SHT_NOBITS && header.sh_size(endian) > 0,
        });
        Some(headers.collect())
    };
    if input.is_library() { Vec::new() } else { all().unwrap_or_default() }
}
