//! Recognizing object files. What is read here comes from anywhere and may hold anything.

use std::fmt;

use object::{Architecture, BinaryFormat, FileKind, Object, ObjectKind, ReadRef};
use target_lexicon::Triple;

use crate::ObjectFault;
use crate::file::MAX_FILE_BYTES;

/// The first bytes of LLVM bitcode.
const BITCODE: [u8; 4] = *b"BC\xc0\xde";

/// Whether a file that begins so may be one that [`parse`] reads, an archive or bitcode.
pub(crate) fn begins(head: &[u8]) -> bool {
    // What a PE file is stands further on.
    let marked = [&BITCODE[..], b"MZ"].iter().any(|mark| head.starts_with(mark));
    marked || FileKind::parse(head).is_ok()
}

/// Reads the headers of an ELF, Mach-O, COFF or PE file.
pub(crate) fn parse<'data, R: ReadRef<'data>>(
    data: R,
) -> Result<object::File<'data, R>, ObjectFault> {
    if data.read_bytes_at(0, BITCODE.len() as u64) == Ok(&BITCODE) {
        return Err(ObjectFault::Bitcode);
    }
    let kind = FileKind::parse(data);
    if matches!(kind, Ok(FileKind::Archive)) {
        return Err(ObjectFault::Archive);
    }
    if matches!(kind, Ok(FileKind::MachOFat32 | FileKind::MachOFat64)) {
        return Err(ObjectFault::Universal);
    }
    let known = matches!(
        kind,
        Ok(FileKind::Elf32
            | FileKind::Elf64
            | FileKind::MachO32
            | FileKind::MachO64
            | FileKind::Coff
            | FileKind::CoffBig
            | FileKind::Pe32
            | FileKind::Pe64)
    );
    if !known {
        return Err(ObjectFault::Unrecognized);
    }
    object::File::parse(data).map_err(malformed)
}

/// What the `object` crate says about damage.
pub(crate) fn malformed(error: object::Error) -> ObjectFault {
    ObjectFault::Malformed { reason: error.to_string() }
}

/// What a file is, as reports name it.
pub(crate) fn kind_name(kind: ObjectKind) -> &'static str {
    if kind == ObjectKind::Relocatable {
        "object"
    } else if kind == ObjectKind::Dynamic {
        "shared library"
    } else if kind == ObjectKind::Executable {
        "executable"
    } else if kind == ObjectKind::Core {
        "core dump"
    } else {
        "file of unknown kind"
    }
}

/// The format and machine of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) format: BinaryFormat,
    pub(crate) architecture: Architecture,
    pub(crate) little_endian: bool,
}

impl Machine {
    /// What an object is for.
    pub(crate) fn of<'data>(file: &object::File<'data, impl ReadRef<'data>>) -> Machine {
        Machine {
            format: file.format(),
            architecture: file.architecture(),
            little_endian: file.is_little_endian(),
        }
    }

    /// What objects for a target must be, if shared libraries can be linked for it here.
    pub(crate) fn linkable(target: &Triple) -> Option<Machine> {
        use target_lexicon::Architecture as Target;
        if target.binary_format != target_lexicon::BinaryFormat::Elf {
            return None;
        }
        let architecture = [
            (matches!(target.architecture, Target::X86_64), Architecture::X86_64),
            (matches!(target.architecture, Target::Aarch64(_)), Architecture::Aarch64),
            (matches!(target.architecture, Target::Riscv64(_)), Architecture::Riscv64),
        ];
        let (_, architecture) = architecture.into_iter().find(|(is, _)| *is)?;
        let little_endian = target.endianness() == Ok(target_lexicon::Endianness::Little);
        little_endian.then_some(Machine {
            format: BinaryFormat::Elf,
            architecture,
            little_endian: true,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let architecture = format!("{:?}", self.architecture).to_lowercase();
        write!(f, "{} {architecture}", format_name(self.format))?;
        f.write_str(if self.little_endian { "" } else { " (big-endian)" })
    }
}

fn format_name(format: BinaryFormat) -> &'static str {
    match format {
        BinaryFormat::Coff => "COFF",
        BinaryFormat::Elf => "ELF",
        BinaryFormat::MachO => "Mach-O",
        BinaryFormat::Pe => "PE",
        BinaryFormat::Wasm => "wasm",
        BinaryFormat::Xcoff => "XCOFF",
        _ => "unknown format",
    }
}

/// What the names of runtime functions start with.
pub(crate) const RUNTIME_PREFIX: &str = "TVMFFI";

/// Takes names out of a file. They may overlap in it, so that a small file can hold a great many long
/// ones; nobody's does, and here it is an error.
#[derive(Debug)]
pub(crate) struct Names {
    left: u64,
}

impl Names {
    /// For the names of one file.
    pub(crate) fn of<'data>(data: impl ReadRef<'data>) -> Names {
        let len = data.len().unwrap_or_default();
        // A file with holes may be of any length.
        Names { left: len.saturating_mul(4).min(MAX_FILE_BYTES) }
    }

    /// A name that has been read.
    pub(crate) fn take(&mut self, name: object::Result<&[u8]>) -> Result<Vec<u8>, ObjectFault> {
        let name = name.map_err(malformed)?;
        self.count(name.len())?;
        Ok(name.to_vec())
    }

    /// Bytes that are about to be copied.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), ObjectFault> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(ObjectFault::Malformed {
            reason: "names take more room than the file".to_owned(),
        })?;
        Ok(())
    }
}
