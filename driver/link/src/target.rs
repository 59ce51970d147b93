//! The targets that something is linked for.

use codegen::backend::Machine;
use object::BinaryFormat;
use target_lexicon::{BinaryFormat as File, OperatingSystem, Triple};

use super::machine::{self, facts};
use crate::Error;
use crate::object_file::Header;

/// The formats that are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Elf,
    Coff,
    MachO,
}

impl Format {
    /// Returns the format of a target that something is linked for.
    pub(super) fn of(target: &Triple) -> Option<Format> {
        Target::new(target).ok().map(|target| target.format)
    }
}

/// A target that something is linked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(super) triple: &'a Triple,
    pub(super) machine: Machine,
    pub(super) format: Format,
}

impl<'a> Target<'a> {
    /// Checks that something is linked for a target.
    ///
    /// # Errors
    /// [`Error::UnsupportedLink`].
    pub(crate) fn new(triple: &'a Triple) -> Result<Target<'a>, Error> {
        let unsupported =
            || Error::UnsupportedLink { target: triple.clone(), reason: machine::linked() };
        let machine = Machine::of_architecture(triple.architecture).ok_or_else(unsupported)?;
        let (facts, system, file) = (facts(machine), triple.operating_system, triple.binary_format);
        let is_macos = matches!(system, OperatingSystem::Darwin(_) | OperatingSystem::MacOSX(_));
        let is_windows = system == OperatingSystem::Windows;
        let format = if file == File::Elf {
            Format::Elf
        } else if file == File::Coff && is_windows && facts.coff.is_some() {
            Format::Coff
        } else if file == File::Macho && is_macos && facts.macho.is_some() {
            Format::MachO
        } else {
            return Err(unsupported());
        };
        Ok(Target { triple, machine, format })
    }

    /// Returns the header of its objects.
    pub(super) fn header(&self) -> Header {
        let format = match self.format {
            Format::Elf => BinaryFormat::Elf,
            Format::Coff => BinaryFormat::Coff,
            Format::MachO => BinaryFormat::MachO,
        };
        let architecture = facts(self.machine).architecture;
        Header { format, architecture, little_endian: true }
    }

    /// Returns an error for what is linked, but not in this way.
    pub(super) fn refuse(&self, reason: &'static str) -> Error {
        Error::UnsupportedLink { target: self.triple.clone(), reason }
    }
}
