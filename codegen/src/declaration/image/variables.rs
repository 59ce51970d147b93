//! Device variables of images: symbols of the kind `STT_OBJECT` that are defined. Of AMD's code objects the loader
//! reads the dynamic symbols, among which are the descriptors of kernels, whose names end with `.kd`.

use std::collections::BTreeSet;

use super::{File, ImageKind, amdgpu, members, number};
use crate::declaration::Image;

/// Facts about a device variable that an image contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalFacts {
    /// Nothing is known: the image is PTX or compressed, and only the driver can read it.
    Unknown,
    /// The image has no variable of this name; its variables are these.
    Missing(Vec<String>),
    /// Size in bytes.
    Size(u64),
}

impl Image {
    /// Reads the facts about a device variable from the bytes.
    ///
    /// ```
    /// use tvm_ffi_codegen::{GlobalFacts, Image};
    ///
    /// let image = Image::new("code").with_bytes(".version 8.0\n");
    /// assert_eq!(image.global("state"), GlobalFacts::Unknown);
    /// ```
    pub fn global(&self, name: &str) -> GlobalFacts {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        match ImageKind::of(bytes) {
            Some(ImageKind::Cubin | ImageKind::Hsaco) => in_object(bytes, name),
            Some(ImageKind::Fatbin) => in_any(members(bytes), name),
            Some(ImageKind::OffloadBundle) => match amdgpu::code_objects(bytes) {
                Some(objects) => in_any(objects, name),
                None => GlobalFacts::Unknown,
            },
            Some(ImageKind::Ptx) | None => GlobalFacts::Unknown,
        }
    }
}

/// Joins what is known of a variable in each member of an image. The driver may load any member, so the variable is
/// missing only if every member lacks it.
fn in_any(members: Vec<&[u8]>, name: &str) -> GlobalFacts {
    let (mut others, mut unknown) = (Vec::new(), false);
    for member in members {
        match in_object(member, name) {
            found @ GlobalFacts::Size(_) => return found,
            GlobalFacts::Unknown => unknown = true,
            GlobalFacts::Missing(known) => others.extend(known),
        }
    }
    let mut seen = BTreeSet::new();
    others.retain(|name| seen.insert(name.clone()));
    if unknown { GlobalFacts::Unknown } else { GlobalFacts::Missing(others) }
}

fn in_object(object: &[u8], name: &str) -> GlobalFacts {
    let Some(variables) = variables(object) else { return GlobalFacts::Unknown };
    match variables.iter().find(|(known, _)| *known == name) {
        Some((_, size)) => GlobalFacts::Size(*size),
        None => {
            GlobalFacts::Missing(variables.into_iter().map(|(name, _)| name.to_owned()).collect())
        }
    }
}

/// Returns the variables of an ELF file, each with its size in bytes; `None` if it has no symbols that can be read.
fn variables(object: &[u8]) -> Option<Vec<(&str, u64)>> {
    /// `SHT_SYMTAB` and `SHT_DYNSYM`.
    const SYMBOLS: usize = 2;
    const DYNAMIC_SYMBOLS: usize = 11;
    /// `STT_OBJECT`
    const OBJECT: usize = 1;
    /// Bytes of a symbol table entry.
    const SIZE: usize = 24;
    let kind = match ImageKind::of(object)? {
        ImageKind::Cubin => SYMBOLS,
        ImageKind::Hsaco => DYNAMIC_SYMBOLS,
        ImageKind::Fatbin | ImageKind::Ptx | ImageKind::OffloadBundle => return None,
    };
    let file = File::read(object)?;
    let table = file.sections.iter().find(|section| section.kind == kind)?;
    let mut found = Vec::new();
    for symbol in file.contents(table)?.chunks_exact(SIZE) {
        let name = file.text(table.link, number(symbol, 0, 4)?)?;
        let is_object = number(symbol, 4, 1)? & 0xf == OBJECT && number(symbol, 6, 2)? != 0;
        if is_object && !(kind == DYNAMIC_SYMBOLS && name.ends_with(".kd")) {
            found.push((name, number(symbol, 16, 8)? as u64));
        }
    }
    Some(found)
}
