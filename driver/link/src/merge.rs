//! Objects of several objects by Wild, which makes hidden symbols local where two inputs have them, and leaves out
//! common symbols, references to what linkers define, and the groups of which linkers keep one. Its inputs say nothing
//! of the first two, its output gets them back; references are refused; and what was in a group, or unique, is weak,
//! since other objects may define it again.
//!
//! All of this can go once Wild keeps them in the output of `-r`.

use std::collections::{BTreeMap, BTreeSet};

use object::read::elf::{ElfFile64, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, elf};

use super::Input;
use crate::{Error, ObjectFault};

/// Bytes of a symbol in 64-bit ELF, and the offsets of its fields.
const SYMBOL: usize = 24;
const INFO: usize = 4;
const OTHER: usize = 5;
const SECTION: usize = 6;
const VALUE: usize = 8;
const SIZE: usize = 16;

/// Bits of [`INFO`] that are the type; the binding is above them.
const TYPE: u8 = 15;

/// Bits of [`OTHER`] that are the visibility.
const VISIBILITY: u8 = 3;

/// Visibilities and common data of global symbols, which Wild is not told.
#[derive(Debug, Default)]
pub(super) struct Merge(BTreeMap<Vec<u8>, Told>);

/// Facts that inputs tell of a symbol.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// The most constraining visibility; smaller numbers are, but for 0.
    visibility: u8,
    common: Option<Common>,
}

/// Data of zeros, of which a linker keeps one.
#[derive(Clone, Copy, Debug)]
struct Common {
    align: u64,
    size: u64,
    /// Binding and type.
    info: u8,
}

impl Merge {
    /// Takes visibilities and common data out of the symbols of objects.
    pub(super) fn of(inputs: &mut [Input]) -> Merge {
        let mut merge = Merge::default();
        for input in inputs {
            let mut bytes = input.bytes().to_vec();
            for (name, at) in symbols(&bytes) {
                merge.take(name, &mut bytes[at..at + SYMBOL]);
            }
            input.replace_bytes(bytes);
        }
        merge
    }

    fn take(&mut self, name: Vec<u8>, symbol: &mut [u8]) {
        let told = self.0.entry(name).or_default();
        let visibility = symbol[OTHER] & VISIBILITY;
        symbol[OTHER] &= !VISIBILITY;
        let is_first = told.visibility == 0;
        if visibility != 0 && (is_first || visibility < told.visibility) {
            told.visibility = visibility;
        }
        if symbol[SECTION..VALUE] != elf::SHN_COMMON.0.to_le_bytes() {
            return;
        }
        let (align, size, info) = (word(&symbol[VALUE..]), word(&symbol[SIZE..]), symbol[INFO]);
        let known = told.common.unwrap_or(Common { align, size, info });
        let (align, size) = (known.align.max(align), known.size.max(size));
        told.common = Some(Common { align, size, info });
        // The symbol is now undefined.
        symbol[SECTION..].fill(0);
    }

    /// Gives the symbols of an object what was taken from its inputs.
    ///
    /// # Errors
    /// [`Error::Object`] if it lacks a symbol that an input defines or that a relocation of an input names.
    pub(super) fn give_back(&self, bytes: &mut [u8], inputs: &[Input]) -> Result<(), Error> {
        let strong: BTreeSet<&[u8]> = inputs.iter().flat_map(Input::strong).collect();
        let mut kept = BTreeSet::new();
        for (name, at) in symbols(bytes) {
            let symbol = &mut bytes[at..at + SYMBOL];
            let told = self.0.get(&name).copied().unwrap_or_default();
            symbol[OTHER] |= told.visibility;
            let is_undefined = symbol[SECTION..VALUE] == [0; 2];
            if let Some(Common { align, size, info }) = told.common.filter(|_| is_undefined) {
                symbol[INFO] = info;
                symbol[SECTION..VALUE].copy_from_slice(&elf::SHN_COMMON.0.to_le_bytes());
                symbol[VALUE..SIZE].copy_from_slice(&align.to_le_bytes());
                symbol[SIZE..].copy_from_slice(&size.to_le_bytes());
            }
            // Zeros take the place of a weak definition, which Wild has kept.
            let is_weak = symbol[INFO] >> 4 == elf::STB_WEAK.0;
            if told.common.is_some() && !is_undefined && is_weak {
                continue;
            }
            if told.common.is_none() && !is_undefined && !strong.contains(&*name) {
                symbol[INFO] = elf::STB_WEAK.0 << 4 | symbol[INFO] & TYPE;
            }
            kept.insert(name);
        }
        for input in inputs {
            let Some(facts) = input.objects().first() else { continue };
            let named = relocated(input.bytes());
            let mut names = facts.defined().chain(named.iter().map(Vec::as_slice));
            let Some(name) = names.find(|name| !kept.contains(*name)) else { continue };
            let name = String::from_utf8_lossy(name);
            let found = format!("the symbol `{name}`, which linker wild leaves out of objects");
            let fault = ObjectFault::Unlinkable { found, advice: "take linker cc or lld" };
            return Err(Error::Object { file: facts.file.clone(), fault });
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the global symbols of an object, and where they are in its bytes; none of an object that cannot be read.
fn symbols(bytes: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let all = || {
        let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
        let table = file.elf_section_table().section(file.elf_symbol_table().section()).ok()?;
        let start = usize::try_from(table.file_range(file.endian())?.0).ok()?;
        let global = file.symbols().filter(ObjectSymbol::is_global);
        let placed = global.filter_map(|symbol| {
            Some((symbol.name_bytes().ok()?.to_vec(), start + symbol.index().0 * SYMBOL))
        });
        Some(placed.collect())
    };
    all().unwrap_or_default()
}

/// Returns the global symbols that relocations of an object name.
fn relocated(bytes: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    let Ok(file) = object::File::parse(bytes) else { return names };
    for (_, relocation) in file.sections().flat_map(|section| section.relocations()) {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let symbol = file.symbol_by_index(index).ok().filter(ObjectSymbol::is_global);
        names.extend(symbol.and_then(|symbol| Some(symbol.name_bytes().ok()?.to_vec())));
    }
    names
}
