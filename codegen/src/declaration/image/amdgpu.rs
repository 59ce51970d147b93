//! Code for AMD's GPUs: code objects and the bundles of them.
//!
//! A code object is an ELF file with a note of type `NT_AMDGPU_METADATA` and owner `AMDGPU`: a map in MessagePack,
//! whose `amdhsa.kernels` is an array with a map for each kernel. Its `.name` is the one that programs ask for; `.args`
//! are its parameters, and behind them those that the runtime adds, which have a `.value_kind` that begins with
//! `hidden_`.
//!
//! A bundle begins with a text and the number of its members; each has an offset, a size and a name of the target.
//! Those for the host are no code objects. A compressed bundle has another header.

use super::message_pack::Value;
use super::{File, GpuKernelFacts, ImageKind, number};

/// First bytes of a bundle.
pub(super) const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// First bytes of a compressed bundle.
pub(super) const COMPRESSED: &[u8] = b"CCOB";

/// Looks a kernel up in a code object.
pub(super) fn in_code_object(object: &[u8], kernel: &str) -> GpuKernelFacts {
    let Some(kernels) = kernels(object) else { return GpuKernelFacts::Unknown };
    let name = |kernel: &Value<'_>| kernel.get(".name").and_then(Value::text).map(str::to_owned);
    let Some(names) = kernels.iter().map(name).collect::<Option<Vec<String>>>() else {
        return GpuKernelFacts::Unknown;
    };
    match names.iter().position(|name| name == kernel) {
        None => GpuKernelFacts::Missing(names),
        Some(at) => sizes(kernels[at]).map_or(GpuKernelFacts::Unknown, GpuKernelFacts::Sizes),
    }
}

/// Returns the descriptions of the kernels.
fn kernels(object: &[u8]) -> Option<Vec<Value<'_>>> {
    /// `SHT_NOTE`
    const NOTE: usize = 7;
    let file = File::read(object)?;
    let notes = file.sections.iter().filter(|section| section.kind == NOTE);
    let metadata = notes.filter_map(|notes| metadata(file.contents(notes)?)).next()?;
    Value::new(metadata).get("amdhsa.kernels")?.items()
}

/// Returns the metadata in a section of notes. A note has three words, the size of the owner, that of the contents and
/// the type; then the owner and the contents, each filled up to a multiple of four bytes.
fn metadata(mut notes: &[u8]) -> Option<&[u8]> {
    const WORDS: usize = 12;
    const METADATA: usize = 32;
    loop {
        let [owner, size, kind] = [0, 4, 8].map(|at| number(notes, at, 4));
        let (owner, size) = (owner?, size?);
        let start = WORDS + owner.next_multiple_of(4);
        let contents = notes.get(start..start + size);
        if kind? == METADATA && notes.get(WORDS..WORDS + owner)? == b"AMDGPU\0" {
            return contents;
        }
        notes = notes.get(start + size.next_multiple_of(4)..)?;
    }
}

/// Returns the sizes of a kernel's own parameters in order.
fn sizes(kernel: Value<'_>) -> Option<Vec<u32>> {
    let Some(parameters) = kernel.get(".args") else { return Some(Vec::new()) };
    let mut found = Vec::new();
    for parameter in parameters.items()? {
        if !parameter.get(".value_kind")?.text()?.starts_with("hidden_") {
            found.push(u32::try_from(parameter.get(".size")?.integer()?).ok()?);
        }
    }
    Some(found)
}

/// Returns the code objects of a bundle; `None` if it is compressed or cut.
pub(super) fn code_objects(bundle: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = members(bundle)?;
    found.retain(|code| ImageKind::of(code) == Some(ImageKind::Hsaco));
    Some(found)
}

fn members(bundle: &[u8]) -> Option<Vec<&[u8]>> {
    let mut next = bundle.strip_prefix(BUNDLE)?;
    let count = number(next, 0, 8)?;
    next = &next[8..];
    let mut found = Vec::new();
    for _ in 0..count {
        let [offset, size, name] = [0, 8, 16].map(|at| number(next, at, 8));
        let (offset, size) = (offset?, size?);
        found.push(bundle.get(offset..offset.checked_add(size)?)?);
        next = next.get(24_usize.checked_add(name?)?..)?;
    }
    Some(found)
}

/// Returns the number of bytes that a bundle has according to its header. Those of the first version of compressed ones
/// do not say it.
pub(super) fn bundle_size(bytes: &[u8]) -> Option<usize> {
    if !bytes.starts_with(COMPRESSED) {
        return members(bytes).map(|_| bytes.len());
    }
    match number(bytes, 4, 2)? {
        0 | 1 => Some(20),
        2 => number(bytes, 8, 4),
        _ => number(bytes, 8, 8),
    }
}
