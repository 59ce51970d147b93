//! Images: the GPU code of a library, the parameters of its GPU kernels, and its device variables.
//!
//! In a cubin a GPU kernel is a symbol. The section `.nv.info.<kernel>` holds records of a format byte, an attribute
//! byte and two bytes that are the size of the value which follows, if the format says that one does. The value of a
//! parameter's record has the ordinal in bytes 4 to 5 and the size in bytes 8 to 11. In records for small parameters
//! the size is shifted left by 18 bits, over other flags. What code for AMD's GPUs holds is in a module of its own.

use std::collections::{BTreeMap, BTreeSet};

mod amdgpu;
mod message_pack;
mod variables;

pub use variables::GlobalFacts;

/// GPU code of a library, in one of the formats of [`ImageKind`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Image {
    /// Name; images have a namespace of their own.
    pub name: String,
    /// Bytes, which the text does not contain. [`Library::resolve`](crate::Library::resolve) requires them.
    pub bytes: Option<Vec<u8>>,
    /// Name of a function of the FFI, `(library: ptr, module: ptr, device_id: int64)`, which is called once for each
    /// device after the image is loaded on it and before the first launch there; `None` for no function. It is found as
    /// [`FunctionRef::Name`](super::FunctionRef::Name) is.
    pub on_load: Option<String>,
}

/// A driver that launches GPU kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// The CUDA driver, for devices of the type `cuda`.
    Cuda,
    /// The HIP runtime, for devices of the type `rocm`.
    Hip,
}

/// Format of an image, which the header of its bytes tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// Machine code for one architecture: an ELF file whose machine is `EM_CUDA`.
    Cubin,
    /// Machine code or PTX for several architectures.
    Fatbin,
    /// PTX, which the driver compiles.
    Ptx,
    /// Machine code for one architecture of AMD: an ELF file whose machine is `EM_AMDGPU`, for HSA.
    Hsaco,
    /// Code objects for several architectures of AMD, as `clang-offload-bundler` puts them together.
    OffloadBundle,
}

/// Facts about a GPU kernel that an image contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuKernelFacts {
    /// Nothing is known: the image is PTX or compressed, and only the driver can read it.
    Unknown,
    /// The image has no kernel of this name; its kernels are these.
    Missing(Vec<String>),
    /// Size of each parameter in bytes.
    Sizes(Vec<u32>),
}

impl Image {
    /// Builds an image without bytes: `image name;`.
    pub fn new(name: impl Into<String>) -> Image {
        Image { name: name.into(), bytes: None, on_load: None }
    }

    /// Sets the function that is called [after the image is loaded](Image::on_load): `image name on load @"function";`.
    ///
    /// ```
    /// use tvm_ffi_codegen::Image;
    ///
    /// let image = Image::new("code").with_on_load("nvshmem.init");
    /// assert_eq!(image.to_string(), r#"image code on load @"nvshmem.init";"#);
    /// ```
    pub fn with_on_load(mut self, function: impl Into<String>) -> Image {
        self.on_load = Some(function.into());
        self
    }

    /// Sets the bytes.
    pub fn with_bytes(mut self, bytes: impl Into<Vec<u8>>) -> Image {
        self.bytes = Some(bytes.into());
        self
    }

    /// Reads the facts about a GPU kernel from the bytes.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Image, GpuKernelFacts};
    ///
    /// let image = Image::new("code").with_bytes(".version 8.0\n");
    /// assert_eq!(image.gpu_kernel("axpy"), GpuKernelFacts::Unknown);
    /// ```
    pub fn gpu_kernel(&self, name: &str) -> GpuKernelFacts {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        match ImageKind::of(bytes) {
            Some(ImageKind::Cubin) => in_cubin(bytes, name),
            Some(ImageKind::Fatbin) => {
                any(members(bytes).into_iter().map(|code| in_cubin(code, name)))
            }
            Some(ImageKind::Hsaco) => amdgpu::in_code_object(bytes, name),
            Some(ImageKind::OffloadBundle) => {
                let Some(objects) = amdgpu::code_objects(bytes) else {
                    return GpuKernelFacts::Unknown;
                };
                any(objects.into_iter().map(|object| amdgpu::in_code_object(object, name)))
            }
            Some(ImageKind::Ptx) | None => GpuKernelFacts::Unknown,
        }
    }
}

impl ImageKind {
    /// Detects the format from the header; returns `None` for bytes that the driver does not load.
    ///
    /// ```
    /// use tvm_ffi_codegen::ImageKind;
    ///
    /// assert_eq!(ImageKind::of(b"//\n.version 8.0\n.target sm_90\n"), Some(ImageKind::Ptx));
    /// assert_eq!(ImageKind::of(b"\x7fELF"), None);
    /// ```
    pub fn of(bytes: &[u8]) -> Option<ImageKind> {
        /// Values of `e_machine` in a little-endian 64-bit ELF file: `EM_CUDA` and `EM_AMDGPU`.
        const CUDA: usize = 190;
        const AMDGPU: usize = 224;
        /// `ELFOSABI_AMDGPU_HSA`, in byte 7.
        const HSA: u8 = 64;
        /// First word of a fatbin.
        const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
        let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
        match number(bytes, 18, 2).filter(|_| is_elf) {
            Some(CUDA) => return Some(ImageKind::Cubin),
            Some(AMDGPU) if bytes[7] == HSA => return Some(ImageKind::Hsaco),
            Some(_) | None => {}
        }
        if bytes.starts_with(&FATBIN) {
            return Some(ImageKind::Fatbin);
        }
        if bytes.starts_with(amdgpu::BUNDLE) || bytes.starts_with(amdgpu::COMPRESSED) {
            return Some(ImageKind::OffloadBundle);
        }
        is_ptx(bytes).then_some(ImageKind::Ptx)
    }

    /// Returns the platform whose driver loads images of this format.
    pub fn platform(self) -> Platform {
        match self {
            ImageKind::Cubin | ImageKind::Fatbin | ImageKind::Ptx => Platform::Cuda,
            ImageKind::Hsaco | ImageKind::OffloadBundle => Platform::Hip,
        }
    }
}

/// Returns false if the bytes end before the image does. The driver is not told their number and would read on.
pub(crate) fn is_whole(bytes: &[u8], kind: ImageKind) -> bool {
    let end = || match kind {
        ImageKind::Cubin | ImageKind::Hsaco => end_of_elf(bytes),
        // Size of the contents and size of the header.
        ImageKind::Fatbin => number(bytes, 8, 8)?.checked_add(number(bytes, 6, 2)?),
        ImageKind::OffloadBundle => amdgpu::bundle_size(bytes),
        ImageKind::Ptx => Some(0),
    };
    end().is_some_and(|end| end <= bytes.len())
}

/// Returns the offset at which a 64-bit ELF file ends: the largest end of its two tables, its sections and its
/// segments. Returns `None` if a table lies outside of the bytes.
fn end_of_elf(bytes: &[u8]) -> Option<usize> {
    let sections = File::read(bytes)?.sections;
    let sections = sections.iter().filter(|section| section.has_bytes());
    let sections = sections.map(|section| (section.start, section.size));
    let mut parts = vec![table(bytes, SECTIONS)?, table(bytes, SEGMENTS)?];
    parts.extend(sections.chain(segments(bytes)?));
    let ends = parts.into_iter().filter(|(_, size)| *size > 0);
    ends.map(|(start, size)| start.checked_add(size)).try_fold(0, |end, next| Some(end.max(next?)))
}

/// Offsets in the header of an ELF file of the offset of a table, and of the size and the number of its entries.
type TableFields = [usize; 3];

/// `e_shoff`, `e_shentsize` and `e_shnum`.
const SECTIONS: TableFields = [40, 58, 60];

/// `e_phoff`, `e_phentsize` and `e_phnum`.
const SEGMENTS: TableFields = [32, 54, 56];

/// Returns offset and size of a table.
fn table(elf: &[u8], [start, size, count]: TableFields) -> Option<(usize, usize)> {
    Some((number(elf, start, 8)?, number(elf, size, 2)? * number(elf, count, 2)?))
}

/// Returns offset and size of the contents of each segment.
fn segments(elf: &[u8]) -> Option<Vec<(usize, usize)>> {
    let [start, size, count] = SEGMENTS;
    let (start, size) = (number(elf, start, 8)?, number(elf, size, 2)?);
    let segment = |index: usize| {
        let header = elf.get(start.checked_add(index * size)?..)?;
        Some((number(header, 8, 8)?, number(header, 32, 8)?))
    };
    (0..number(elf, count, 2)?).map(segment).collect()
}

/// Returns true for text whose first directive, after comments, is `.version`.
fn is_ptx(bytes: &[u8]) -> bool {
    let Ok(mut text) = std::str::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(bytes)) else {
        return false;
    };
    loop {
        text = text.trim_start();
        let comment =
            [("//", "\n"), ("/*", "*/")].into_iter().find(|(start, _)| text.starts_with(start));
        match comment.map(|(start, end)| text[start.len()..].split_once(end)) {
            None => return text.starts_with(".version") && !text.contains('\0'),
            Some(None) => return false,
            Some(Some((_, rest))) => text = rest,
        }
    }
}

/// Joins what is known of a kernel in each member of an image. The driver may load any member, so the kernel is missing
/// only if every member lacks it.
fn any(members: impl Iterator<Item = GpuKernelFacts>) -> GpuKernelFacts {
    let (mut others, mut unknown) = (Vec::new(), false);
    for facts in members {
        match facts {
            found @ GpuKernelFacts::Sizes(_) => return found,
            GpuKernelFacts::Unknown => unknown = true,
            GpuKernelFacts::Missing(known) => others.extend(known),
        }
    }
    let mut seen = BTreeSet::new();
    others.retain(|name| seen.insert(name.clone()));
    if unknown { GpuKernelFacts::Unknown } else { GpuKernelFacts::Missing(others) }
}

/// Returns the members of a fatbin. Its header has its own size at offset 6; members with headers of their own
/// follow.
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

fn in_cubin(cubin: &[u8], kernel: &str) -> GpuKernelFacts {
    let Some(file) = File::read(cubin) else { return GpuKernelFacts::Unknown };
    let Some(symbols) = file.symbols() else { return GpuKernelFacts::Unknown };
    if symbols.iter().all(|symbol| symbol.name != kernel) {
        let kernels = symbols.into_iter().filter(|symbol| symbol.is_kernel);
        return GpuKernelFacts::Missing(kernels.map(|kernel| kernel.name.to_owned()).collect());
    }
    let records = file.section(&format!(".nv.info.{kernel}"));
    records.and_then(sizes).map_or(GpuKernelFacts::Unknown, GpuKernelFacts::Sizes)
}

/// Returns the parameter sizes in order; `None` if a parameter has no record.
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

/// Returns ordinal and size of the parameter that a record describes.
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

/// Reads a little-endian number of `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    usize::try_from(u64::from_le_bytes(word)).ok()
}

/// A 64-bit ELF file.
struct File<'a> {
    bytes: &'a [u8],
    sections: Vec<Section>,
    /// Index of the section that holds the section names.
    names: usize,
}

struct Section {
    name: usize,
    kind: usize,
    start: usize,
    size: usize,
    /// For a symbol table, index of the section that holds the symbol names.
    link: usize,
}

impl Section {
    /// Returns true for a section whose contents are in the file. Those of the types of a processor may be or not, as
    /// NVIDIA's of shared memory are not; what is loaded of them is in a segment.
    fn has_bytes(&self) -> bool {
        /// `SHT_NOBITS` and `SHT_LOPROC`.
        const EMPTY: usize = 8;
        const OF_PROCESSORS: usize = 0x7000_0000;
        self.kind != EMPTY && self.kind < OF_PROCESSORS
    }
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

    /// Reads the NUL-terminated name at an offset of a string section.
    fn text(&self, names: usize, at: usize) -> Option<&'a str> {
        let text = self.contents(self.sections.get(names)?)?.get(at..)?;
        std::str::from_utf8(&text[..text.iter().position(|byte| *byte == 0)?]).ok()
    }

    fn section(&self, name: &str) -> Option<&'a [u8]> {
        let named = |section: &&Section| self.text(self.names, section.name) == Some(name);
        self.contents(self.sections.iter().find(named)?)
    }

    /// Returns the entries of the symbol table.
    fn symbols(&self) -> Option<Vec<Symbol<'a>>> {
        /// `SHT_SYMTAB`
        const TABLE: usize = 2;
        /// Bytes of a symbol table entry.
        const SIZE: usize = 24;
        let table = self.sections.iter().find(|section| section.kind == TABLE)?;
        let symbol = |bytes: &[u8]| {
            /// `STT_FUNC`, and NVIDIA's flag for functions that can be launched.
            const FUNCTION: usize = 2;
            const ENTRY: usize = 0x10;
            let name = self.text(table.link, number(bytes, 0, 4)?)?;
            let is_function = number(bytes, 4, 1)? & 0xf == FUNCTION;
            Some(Symbol { name, is_kernel: is_function && number(bytes, 5, 1)? & ENTRY != 0 })
        };
        self.contents(table)?.chunks_exact(SIZE).map(symbol).collect()
    }
}
