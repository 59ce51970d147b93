//! What machine code for a GPU says of its kernels: a cubin is an ELF file, a fatbin holds several.
//!
//! A kernel is a symbol. The section `.nv.info.<kernel>` holds records: a format, an attribute and two bytes more, which
//! for the format of values are the size of what follows. A parameter's value has its ordinal in the second word and its
//! size in the third, above 18 bits of other things where there is room for both.

use std::collections::{BTreeMap, BTreeSet};

use super::{Image, ImageKind};

/// What an image says of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelFacts {
    /// Nothing that can be read here: PTX, and code that is compressed. The driver knows.
    Unknown,
    /// There is none of that name, but these.
    Missing(Vec<String>),
    /// The bytes of each parameter.
    Sizes(Vec<u32>),
}

impl Image {
    /// What its bytes say of a kernel.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Image, KernelFacts};
    ///
    /// let image = Image::new("code").with_bytes(".version 8.0\n");
    /// assert_eq!(image.kernel("axpy"), KernelFacts::Unknown);
    /// ```
    pub fn kernel(&self, name: &str) -> KernelFacts {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        match ImageKind::of(bytes) {
            Some(ImageKind::Cubin) => in_cubin(bytes, name),
            Some(ImageKind::Fatbin) => in_fatbin(bytes, name),
            Some(ImageKind::Ptx) | None => KernelFacts::Unknown,
        }
    }
}

/// Any member of a fatbin may be the one that is loaded: there is no kernel if none has it.
fn in_fatbin(fatbin: &[u8], kernel: &str) -> KernelFacts {
    let (mut others, mut unknown) = (Vec::new(), false);
    for code in members(fatbin) {
        match in_cubin(code, kernel) {
            found @ KernelFacts::Sizes(_) => return found,
            KernelFacts::Unknown => unknown = true,
            KernelFacts::Missing(known) => others.extend(known),
        }
    }
    let mut seen = BTreeSet::new();
    others.retain(|name| seen.insert(name.clone()));
    if unknown { KernelFacts::Unknown } else { KernelFacts::Missing(others) }
}

/// What is in a fatbin: after its header, whose size stands at 6, members with headers of their own.
fn members(fatbin: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = number(fatbin, 6, 2).and_then(|size| fatbin.get(size..)).unwrap_or_default();
    while !rest.is_empty() {
        let code = || {
            let (header, size) = (number(rest, 4, 4)?, number(rest, 8, 8)?);
            let end = header.checked_add(size).filter(|end| *end > 0)?;
            Some((rest.get(header..end)?, rest.get(end..)?))
        };
        let (code, next) = code().unwrap_or_default();
        found.push(code);
        rest = next;
    }
    found
}

fn in_cubin(cubin: &[u8], kernel: &str) -> KernelFacts {
    let Some(file) = File::read(cubin) else { return KernelFacts::Unknown };
    let Some(symbols) = file.symbols() else { return KernelFacts::Unknown };
    if symbols.iter().all(|symbol| symbol.name != kernel) {
        let kernels = symbols.into_iter().filter(|symbol| symbol.is_kernel);
        return KernelFacts::Missing(kernels.map(|kernel| kernel.name.to_owned()).collect());
    }
    let records = file.section(&format!(".nv.info.{kernel}"));
    records.and_then(sizes).map_or(KernelFacts::Unknown, KernelFacts::Sizes)
}

/// The sizes of the parameters, in order, if the records are of every one.
fn sizes(mut records: &[u8]) -> Option<Vec<u32>> {
    const FORMAT_VALUE: u8 = 0x04;
    let mut found = BTreeMap::new();
    while let [format, attribute, low, high, rest @ ..] = records {
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let length = if *format == FORMAT_VALUE { size.min(rest.len()) } else { 0 };
        let (value, next) = rest.split_at(length);
        found.extend(parameter(*attribute, value));
        records = next;
    }
    let in_order = found.keys().copied().eq(0..found.len());
    in_order.then(|| found.into_values().collect())
}

/// The ordinal and the size of a parameter, if the record is of one.
fn parameter(attribute: u8, value: &[u8]) -> Option<(usize, u32)> {
    const PARAMETER: u8 = 0x17;
    const LARGE_PARAMETER: u8 = 0x45;
    let shift = match attribute {
        PARAMETER => 18,
        LARGE_PARAMETER => 0,
        _ => return None,
    };
    Some((number(value, 4, 2)?, number(value, 8, 4)? as u32 >> shift))
}

/// The number of `size` bytes at an offset.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    usize::try_from(u64::from_le_bytes(word)).ok()
}

/// An ELF file of 64 bits.
struct File<'a> {
    bytes: &'a [u8],
    sections: Vec<Section>,
    /// The number of the section that holds the names of sections.
    names: usize,
}

struct Section {
    name: usize,
    kind: usize,
    start: usize,
    size: usize,
    /// Of a table of symbols the section that holds their names.
    link: usize,
}

struct Symbol<'a> {
    name: &'a str,
    is_kernel: bool,
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8]) -> Option<File<'a>> {
        let [size, count, names] = [58, 60, 62].map(|at| number(bytes, at, 2));
        let (size, table) = (size?, number(bytes, 40, 8)?);
        let section = |index: usize| {
            let header = bytes.get(table.checked_add(index * size)?..)?;
            let [name, kind, link] = [0, 4, 40].map(|at| number(header, at, 4));
            let [start, size] = [24, 32].map(|at| number(header, at, 8));
            Some(Section { name: name?, kind: kind?, start: start?, size: size?, link: link? })
        };
        let sections = (0..count?).map(section).collect::<Option<_>>()?;
        Some(File { bytes, sections, names: names? })
    }

    fn contents(&self, section: &Section) -> Option<&'a [u8]> {
        self.bytes.get(section.start..section.start.checked_add(section.size)?)
    }

    /// The text at an offset of the section that holds names.
    fn text(&self, names: usize, at: usize) -> Option<&'a str> {
        let text = self.contents(self.sections.get(names)?)?.get(at..)?;
        std::str::from_utf8(&text[..text.iter().position(|byte| *byte == 0)?]).ok()
    }

    fn section(&self, name: &str) -> Option<&'a [u8]> {
        let named = |section: &&Section| self.text(self.names, section.name) == Some(name);
        self.contents(self.sections.iter().find(named)?)
    }

    /// What the file defines or refers to by name.
    fn symbols(&self) -> Option<Vec<Symbol<'a>>> {
        /// `SHT_SYMTAB`
        const TABLE: usize = 2;
        /// Bytes of a symbol.
        const SIZE: usize = 24;
        let table = self.sections.iter().find(|section| section.kind == TABLE)?;
        let symbol = |bytes: &[u8]| {
            /// `STT_FUNC`, and NVIDIA's flag of what can be launched.
            const FUNCTION: usize = 2;
            const ENTRY: usize = 0x10;
            let name = self.text(table.link, number(bytes, 0, 4)?)?;
            let is_function = number(bytes, 4, 1)? & 0xf == FUNCTION;
            Some(Symbol { name, is_kernel: is_function && number(bytes, 5, 1)? & ENTRY != 0 })
        };
        self.contents(table)?.chunks_exact(SIZE).map(symbol).collect()
    }
}
