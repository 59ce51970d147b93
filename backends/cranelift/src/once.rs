//! Once-symbols, of which a linker keeps one copy: section groups in ELF, COMDAT sections in COFF, weak definitions in
//! Mach-O.

use cranelift_object::object::pe::{
    IMAGE_SCN_LNK_NRELOC_OVFL, IMAGE_SYM_CLASS_STATIC, ImageFileHeader, ImageRelocation,
    ImageSectionHeader, ImageSymbol,
};
use cranelift_object::object::write::{Comdat, Object, SectionId, SymbolId};
use cranelift_object::object::{
    BinaryFormat, ComdatKind, LittleEndian as LE, SectionFlags, elf, pod,
};

/// Marks the definition of a once-symbol, which is hidden, and alone in its section. Linkers that drop a copy of it
/// drop its other sections, too.
pub(crate) fn mark(object: &mut Object<'_>, symbol: SymbolId, others: &[SectionId]) {
    let Some(section) = object.symbol(symbol).section.id() else { return };
    let format = object.format();
    // In COFF a weak symbol is an undefined symbol with a default.
    object.symbol_mut(symbol).weak = format != BinaryFormat::Coff;
    if format == BinaryFormat::MachO {
        return;
    }
    if let SectionFlags::Elf { sh_flags } = object.section_flags_mut(section) {
        *sh_flags |= u64::from(elf::SHF_GROUP);
    }
    object.section_symbol(section);
    let sections = [&[section], others].concat();
    object.add_comdat(Comdat { kind: ComdatKind::Any, symbol, sections });
}

/// The end of the name of a section that a module gives to one function or data object.
const SUBSECTION: &[u8] = b"$subsection\0";

/// Adapts a COFF file to linkers. Returns `None` for malformed files.
///
/// * The symbols of sections come first in the table: linkers take the first symbol in a COMDAT section for that of the
///   section, and the next for that of the group.
/// * The names of sections lose a `$` and a word that is no symbol: GNU's linker takes it for the symbol of the group.
pub(crate) fn adapt(bytes: &mut [u8]) -> Option<()> {
    let (header, _) = pod::from_bytes::<ImageFileHeader>(bytes).ok()?;
    let start = header.pointer_to_symbol_table.get(LE) as usize;
    let count = header.number_of_symbols.get(LE) as usize;
    let sections = usize::from(header.number_of_sections.get(LE));
    let (symbols, _) = pod::slice_from_bytes_mut::<ImageSymbol>(&mut bytes[start..], count).ok()?;
    let number = reorder(symbols);
    let (headers, _) = pod::slice_from_bytes::<ImageSectionHeader>(
        &bytes[size_of::<ImageFileHeader>()..],
        sections,
    )
    .ok()?;
    let headers: Vec<ImageSectionHeader> = headers.to_vec();
    let strings = start + count * size_of::<ImageSymbol>();
    for (index, header) in headers.iter().enumerate() {
        if let Some(offset) = header.name_offset().ok()? {
            let name = bytes.get(strings + offset as usize..)?;
            let length = name.iter().position(|byte| matches!(byte, b'$' | 0))?;
            if name[length..].starts_with(SUBSECTION) && length <= header.name.len() {
                let mut short = [0; 8];
                short[..length].copy_from_slice(&name[..length]);
                let at = size_of::<ImageFileHeader>() + index * size_of::<ImageSectionHeader>();
                bytes[at..at + short.len()].copy_from_slice(&short);
            }
        }
    }
    for section in &headers {
        for relocation in relocations(bytes, section)? {
            let old = relocation.symbol_table_index.get(LE) as usize;
            relocation.symbol_table_index.set(LE, *number.get(old)?);
        }
    }
    Some(())
}

/// Reorders a symbol table, whose symbols may have auxiliary records; returns the new index of each record.
fn reorder(symbols: &mut [ImageSymbol]) -> Vec<u32> {
    let records = |first: usize| 1 + usize::from(symbols[first].number_of_aux_symbols);
    let next = |first: &usize| Some(first + records(*first)).filter(|&i| i < symbols.len());
    let first = (!symbols.is_empty()).then_some(0);
    let mut order: Vec<usize> = std::iter::successors(first, next).collect();
    let is_section = |symbol: &ImageSymbol| {
        let own = symbol.storage_class == IMAGE_SYM_CLASS_STATIC;
        own && symbol.section_number.get(LE) != 0 && symbol.number_of_aux_symbols == 1
    };
    order.sort_by_key(|&first| !is_section(&symbols[first]));
    let (mut number, mut sorted) = (vec![0; symbols.len()], Vec::with_capacity(symbols.len()));
    for first in order {
        number[first] = sorted.len() as u32;
        sorted.extend_from_slice(&symbols[first..first + records(first)]);
    }
    symbols.copy_from_slice(&sorted);
    number
}

/// Returns the relocations of a section. If there are too many for its 16-bit count, the first one holds the count
/// instead.
fn relocations<'a>(
    bytes: &'a mut [u8],
    section: &ImageSectionHeader,
) -> Option<&'a mut [ImageRelocation]> {
    let start = section.pointer_to_relocations.get(LE) as usize;
    let mut count = usize::from(section.number_of_relocations.get(LE));
    let mut skipped = 0;
    if section.characteristics.get(LE) & IMAGE_SCN_LNK_NRELOC_OVFL != 0 {
        let (first, _) = pod::from_bytes::<ImageRelocation>(bytes.get(start..)?).ok()?;
        count = first.virtual_address.get(LE) as usize;
        skipped = 1;
    }
    let (all, _) = pod::slice_from_bytes_mut(bytes.get_mut(start..)?, count).ok()?;
    all.get_mut(skipped..)
}
