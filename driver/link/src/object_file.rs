//! Recognition of object files. Their contents are untrusted.

use std::fmt;

use object::read::elf::ProgramHeader;
use object::{
    Architecture, BinaryFormat, Endianness, FileKind, Object, ObjectKind, ReadRef, elf, macho,
};

use crate::ObjectFault;
use crate::file::MAX_FILE_BYTES;

/// First bytes of LLVM bitcode.
const BITCODE: [u8; 4] = *b"BC\xc0\xde";

/// First bytes of files that have any of their own, and the names of their formats. The signature of a PE file is
/// behind a program for DOS, which has these.
const MARKS: [(&[u8], &str); 4] = [
    (&elf::ELFMAG, "ELF"),
    (&macho::MH_MAGIC_64.to_le_bytes(), "Mach-O"),
    (&macho::MH_MAGIC_64.to_be_bytes(), "Mach-O"),
    (b"MZ", "PE"),
];

/// Returns whether the beginning of a file is that of a file for [`parse`], of an archive or of bitcode.
pub fn begins(head: &[u8]) -> bool {
    let marks = MARKS.iter().map(|(mark, _)| *mark).chain([&BITCODE[..]]);
    marks.into_iter().any(|mark| head.starts_with(mark)) || FileKind::parse(head).is_ok()
}

/// Parses the headers of an ELF, Mach-O, COFF or PE file.
pub fn parse<'data, R: ReadRef<'data>>(data: R) -> Result<object::File<'data, R>, ObjectFault> {
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
        let has = |mark: &[u8]| data.read_bytes_at(0, mark.len() as u64) == Ok(mark);
        let begun = MARKS.iter().find(|(mark, _)| has(mark));
        return Err(begun.map_or(ObjectFault::Unrecognized, |(_, format)| {
            ObjectFault::Malformed { reason: format!("cut or damaged behind the mark of {format}") }
        }));
    }
    object::File::parse(data).map_err(malformed)
}

/// Converts an error of the `object` crate.
pub fn malformed(error: object::Error) -> ObjectFault {
    ObjectFault::Malformed { reason: error.to_string() }
}

/// Returns the kind of a file. A program that is loaded at any address is an executable, although its header says what
/// that of a shared library says.
pub fn kind<'data>(file: &object::File<'data, impl ReadRef<'data>>) -> ObjectKind {
    let object::File::Elf64(headers) = file else { return file.kind() };
    let endian = headers.endian();
    let mut segments = headers.elf_program_headers().iter();
    let dynamic = segments.find_map(|segment| segment.dynamic(endian, headers.data()).ok()?);
    let is_program = |entry: &elf::Dyn64<Endianness>| {
        let is_flags = entry.d_tag.get(endian) == elf::DT_FLAGS_1;
        is_flags && entry.d_val.get(endian) & elf::DF_1_PIE.0 != 0
    };
    let is_program = dynamic.unwrap_or_default().iter().any(is_program);
    if is_program { ObjectKind::Executable } else { file.kind() }
}

/// Returns the name of a kind of file in reports.
pub fn kind_name(kind: ObjectKind) -> &'static str {
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

/// Format and machine in the header of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub format: BinaryFormat,
    pub architecture: Architecture,
    pub little_endian: bool,
}

impl Header {
    /// Reads the header of an object.
    pub fn of<'data>(file: &object::File<'data, impl ReadRef<'data>>) -> Header {
        Header {
            format: file.format(),
            architecture: file.architecture(),
            little_endian: file.is_little_endian(),
        }
    }
}

impl fmt::Display for Header {
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

/// Prefix of functions of the runtime.
pub const RUNTIME_PREFIX: &str = "TVMFFI";

/// Limit of the bytes of names that are copied out of a file. Names may overlap, so a small hostile file could have
/// very many long ones.
#[derive(Debug)]
pub struct NameBudget {
    left: u64,
}

impl NameBudget {
    /// Starts to count for a file.
    pub fn of<'data>(data: impl ReadRef<'data>) -> NameBudget {
        let len = data.len().unwrap_or_default();
        // A sparse file may have any length.
        NameBudget { left: len.saturating_mul(4).min(MAX_FILE_BYTES) }
    }

    /// Copies a name.
    pub fn take(&mut self, name: object::Result<&[u8]>) -> Result<Vec<u8>, ObjectFault> {
        let name = name.map_err(malformed)?;
        self.count(name.len())?;
        Ok(name.to_vec())
    }

    /// Counts bytes that are about to be copied.
    pub fn count(&mut self, bytes: usize) -> Result<(), ObjectFault> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(ObjectFault::Malformed {
            reason: "names take more room than the file".to_owned(),
        })?;
        Ok(())
    }
}

/// Returns the name of a symbol in C.
pub fn c_name(format: BinaryFormat, name: &[u8]) -> &[u8] {
    match name {
        [b'_', rest @ ..] if format == BinaryFormat::MachO => rest,
        _ => name,
    }
}
