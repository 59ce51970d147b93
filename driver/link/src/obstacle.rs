//! Contents of objects that an output or a linker cannot take. All others are left to the linkers.

use std::collections::{BTreeSet, HashMap};

use codegen::backend::Machine;
use object::{
    CompressionFormat, Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex, SymbolFlags, elf,
};

use super::machine::{LinkFacts, facts};
use super::{Linker, Output};
use crate::ObjectFault;

/// Contents that an output or a linker cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Obstacle {
    /// A relocation for thread-local variables of a program, whose places are known before it starts.
    LocalExec(&'static str),
    /// A relocation that Wild does not write as it should.
    Relocation(&'static str),
    /// A part of a function that start-up files begin and end.
    Part(&'static str),
    /// Debug information in the compression that GNU's tools had before there was a standard.
    OldCompression,
    /// Debug information in a compression that Wild has not in this build.
    Zstd,
    /// A section that is aligned more than Wild can.
    Alignment,
    /// An address outside of the strings of its section, which linkers merge.
    Outside,
    /// Code in a section whose name is empty.
    Nameless,
    /// Code in a section of thread-local variables.
    ThreadLocalCode,
    /// A section that no library could have in memory.
    Huge,
    /// Code that writes code to its stack, which no output lets it run.
    Stack,
}

impl Obstacle {
    /// Returns the fault of an object that has the obstacle, if it is one for this output and linker.
    pub(super) fn fault(self, output: Output, linker: &Linker) -> Option<ObjectFault> {
        let is_shared = output == Output::Shared;
        let is_wild = *linker == Linker::Wild;
        let is_cc = matches!(linker, Linker::Cc(_));
        let is_lld = matches!(linker, Linker::Lld(_));
        let (found, advice, applies) = match self {
            Obstacle::LocalExec(name) => (
                format!("the relocation {name}, for thread-local variables of a program"),
                "compile it with -fPIC",
                is_shared,
            ),
            Obstacle::Relocation(name) => (
                format!("the relocation {name}, which linker wild cannot take"),
                "take linker cc or lld",
                is_shared && is_wild,
            ),
            Obstacle::Part(section) => (
                format!("a part of `{section}`, which needs the start-up files of a compiler"),
                "take linker cc",
                is_shared && !is_cc,
            ),
            Obstacle::OldCompression => (
                "debug information as -gz=zlib-gnu compresses it".to_owned(),
                "compile it with -gz=zlib, or take linker cc",
                !is_cc,
            ),
            Obstacle::Zstd => (
                "debug information as -gz=zstd compresses it".to_owned(),
                "compile it with -gz=zlib, or take linker cc or lld",
                is_wild,
            ),
            Obstacle::Alignment => (
                "a section with an alignment above 64 KiB, which linker wild cannot take".to_owned(),
                "take linker cc or lld",
                is_wild,
            ),
            Obstacle::Outside => (
                "an address that leads out of a section of strings, which linkers merge".to_owned(),
                "name the string by a label in that section, or take the flag `M` off it",
                is_shared && is_wild,
            ),
            Obstacle::Nameless => (
                "code in a section without a name, which linker wild cannot merge".to_owned(),
                "take linker cc or lld",
                is_wild && !is_shared,
            ),
            Obstacle::ThreadLocalCode => (
                "code in a section of thread-local variables, with which linker wild mixes all other code".to_owned(),
                "take linker cc",
                is_wild && is_shared,
            ),
            Obstacle::Huge => (
                "a section of more than 1 TiB".to_owned(),
                "allocate such memory when it is needed",
                is_shared,
            ),
            // In an object of several, lld forgets it.
            Obstacle::Stack => (
                "code that needs an executable stack, for the address of a function in a function, as of GNU C \
                 and Fortran"
                    .to_owned(),
                "move that function out of the other one",
                is_shared || is_lld,
            ),
        };
        applies.then_some(ObjectFault::Unlinkable { found, advice })
    }
}

/// Returns the obstacles of an object. Adds the names of weak hidden symbols whose addresses code loads from the table
/// of addresses by an instruction that a linker may replace to `loaded`.
pub(super) fn all(object: &object::File<'_>, loaded: &mut BTreeSet<Vec<u8>>) -> BTreeSet<Obstacle> {
    let mut rows = Machine::ALL.iter().map(|&machine| facts(machine));
    let known = rows.find(|facts| facts.architecture == object.architecture());
    let mut found = BTreeSet::new();
    let merged = merged(object);
    if !merged.is_empty() && object.symbols().any(|symbol| is_beyond(&symbol, &merged)) {
        found.insert(Obstacle::Outside);
    }
    for section in object.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        found.extend(of_section(&section, sh_flags));
        let facts = known.filter(|_| sh_flags.contains(elf::SHF_ALLOC));
        if facts.is_none() && merged.is_empty() {
            continue;
        }
        for (_, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            if leads_out(object, &relocation, &merged) {
                found.insert(Obstacle::Outside);
            }
            let Some(facts) = facts else { continue };
            if facts.load == Some(r_type) {
                loaded.extend(absent(object, relocation.target()));
            }
            found.extend(of_relocation(facts, r_type));
        }
    }
    found
}

/// Most bytes of an alignment that Wild takes.
const MAX_ALIGN: u64 = 64 << 10;

/// Most bytes of a section: those of zeros take no place in the file, so that the size of a library does not bound
/// them.
const MAX_SIZE: u64 = 1 << 40;

/// Returns the obstacle that a section is.
fn of_section(section: &object::Section<'_, '_>, flags: elf::SectionFlags) -> Option<Obstacle> {
    let name = section.name_bytes().unwrap_or_default();
    if name.starts_with(b".zdebug_") {
        return Some(Obstacle::OldCompression);
    }
    let compressed = section.compressed_file_range();
    if compressed.is_ok_and(|range| range.format == CompressionFormat::Zstandard) {
        return Some(Obstacle::Zstd);
    }
    if section.align() > MAX_ALIGN {
        return Some(Obstacle::Alignment);
    }
    if flags.contains(elf::SHF_TLS | elf::SHF_EXECINSTR) {
        return Some(Obstacle::ThreadLocalCode);
    }
    if flags.contains(elf::SHF_ALLOC) && section.size() > MAX_SIZE {
        return Some(Obstacle::Huge);
    }
    if name.is_empty() && flags.contains(elf::SHF_ALLOC | elf::SHF_EXECINSTR) {
        return Some(Obstacle::Nameless);
    }
    if name == b".note.GNU-stack" && flags.contains(elf::SHF_EXECINSTR) {
        return Some(Obstacle::Stack);
    }
    let part = [".init", ".fini"].into_iter().find(|part| part.as_bytes() == name);
    let is_there = flags.contains(elf::SHF_ALLOC) && section.size() > 0;
    part.filter(|_| is_there).map(Obstacle::Part)
}

/// Sections of which Wild merges parts, and their sizes.
type Merged = HashMap<SectionIndex, u64>;

/// Returns the sections that Wild merges: without an alignment, and not empty.
fn merged(object: &object::File<'_>) -> Merged {
    let sections = object.sections().filter_map(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
        // The alignment of a compressed section is that of the header of the compression.
        let is_aligned = section.align() > 1 && !sh_flags.contains(elf::SHF_COMPRESSED);
        let is_merged = sh_flags.contains(elf::SHF_MERGE) && !is_aligned;
        let size = section.compressed_file_range().ok().filter(|_| is_merged)?.uncompressed_size;
        Some((section.index(), size))
    });
    sections.filter(|(_, size)| *size > 0).collect()
}

/// Returns whether a symbol is behind the end of its section. Labels of ends are common where nothing uses them.
fn is_beyond(symbol: &object::Symbol<'_, '_>, merged: &Merged) -> bool {
    let size = symbol.section_index().and_then(|section| merged.get(&section));
    size.is_some_and(|size| symbol.address() > *size)
}

/// Returns whether a relocation leads to no part of a merged section. Wild looks for a part behind the last one, or
/// before the first one, for as long as the distance is, and may find one of another object.
fn leads_out(object: &object::File<'_>, relocation: &Relocation, merged: &Merged) -> bool {
    let RelocationTarget::Symbol(index) = relocation.target() else { return false };
    let Ok(symbol) = object.symbol_by_index(index) else { return false };
    let Some(size) = symbol.section_index().and_then(|section| merged.get(&section)) else {
        return false;
    };
    // A symbol with a name stands for a part; what is added to it is added to the place of that part.
    let is_named = symbol.name_bytes().is_ok_and(|name| !name.is_empty());
    let addend = if is_named { 0 } else { relocation.addend() };
    symbol.address().wrapping_add_signed(addend) >= *size
}

/// Returns the name of the symbol that a relocation names, if the address is 0 unless an object defines it.
fn absent(object: &object::File<'_>, target: RelocationTarget) -> Option<Vec<u8>> {
    let RelocationTarget::Symbol(index) = target else { return None };
    let symbol = object.symbol_by_index(index).ok()?;
    let SymbolFlags::Elf { st_other, .. } = symbol.flags() else { return None };
    let is_hidden = st_other.visibility() == elf::STV_HIDDEN;
    let is_absent = is_hidden && symbol.is_weak() && symbol.is_undefined();
    is_absent.then(|| symbol.name_bytes().unwrap_or_default().to_vec())
}

/// Returns the obstacle that a relocation is.
fn of_relocation(facts: &LinkFacts, r_type: elf::RelocationType) -> Option<Obstacle> {
    let local = &facts.local_exec;
    if local.numbers.iter().any(|numbers| numbers.contains(&r_type.0)) {
        return Some(Obstacle::LocalExec(local.name));
    }
    let refused = facts.not_of_wild.iter().find(|(known, _)| *known == r_type);
    refused.map(|(_, name)| Obstacle::Relocation(name))
}
