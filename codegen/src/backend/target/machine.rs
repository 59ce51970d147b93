//! The table of machines.

use std::borrow::Cow;

use target_lexicon::{
    Aarch64Architecture, Architecture, BinaryFormat, Endianness, OperatingSystem, PointerWidth,
    Riscv64Architecture, Triple,
};

use crate::backend::Error;

/// A rule of a C ABI for the upper register bits of an integer narrower than 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrow {
    /// The bits are undefined: the receiver extends.
    Anything,
    /// The sender extends, but the receiver should not rely on that.
    Extended,
    /// The sender extends, and the receiver relies on that.
    Trusted,
}

/// The rules of a C ABI for integers narrower than 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integers {
    pub(super) arguments: Narrow,
    pub(super) results: Narrow,
}

impl Integers {
    /// Returns one rule for both.
    pub(super) const fn all(rule: Narrow) -> Integers {
        Integers { arguments: rule, results: rule }
    }
}

/// Row of the table: the facts about a machine.
#[derive(Debug)]
pub struct MachineFacts {
    /// The name in target triples of LLVM and GCC, and in folders of Debian.
    pub name: &'static str,
    /// The name in texts.
    pub title: &'static str,
    /// The architectures for which there are code generators.
    architectures: &'static [Architecture],
    /// Architectures that differ in their extensions. There is no code generator for them.
    variants: &'static [Architecture],
    /// The formats of object files.
    pub formats: &'static [BinaryFormat],
    /// ELF's number of the machine.
    pub elf: u16,
    /// ELF's number of the relocation for a distance of 32 bits.
    pub distance: u32,
    /// True if arithmetic sets a flag when it overflows.
    pub overflow_flag: bool,
    /// True if all processors see the accesses of one in the order of its code, but for loads before stores: any store
    /// is one with release ordering.
    pub ordered: bool,
    /// The number of arguments in floating-point registers, if the next ones are in integer registers. `None` if they
    /// are on the stack.
    pub floats: Option<usize>,
    /// The rules for narrow integers on Windows.
    windows: Integers,
    /// The rules for narrow integers on Apple's systems.
    apple: Integers,
    /// The rules for narrow integers elsewhere.
    elsewhere: Integers,
    /// True if the sender sign-extends 32-bit integers to 64 bits, signed or not.
    pub(super) words: bool,
    /// True if the section [`LARGE`](super::LARGE) exists in ELF.
    pub(super) large: bool,
    /// True if C's `__bf16` is passed as its `_Float16` is.
    pub(super) halves_alike: bool,
    /// True if LLVM's `preserve_mostcc` and Cranelift's `preserve_all` exist, except on Windows.
    pub(super) preserve_most: bool,
}

impl MachineFacts {
    /// Returns the rules for narrow integers on a system.
    pub(super) fn integers(&self, system: OperatingSystem) -> Integers {
        if system == OperatingSystem::Windows {
            self.windows
        } else if system.is_like_darwin() {
            self.apple
        } else {
            self.elsewhere
        }
    }
}

macro_rules! machines {
    ($($(#[$doc:meta])* $machine:ident: $facts:expr;)*) => {
        /// The supported machines: 64-bit and little-endian.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Machine {
            $($(#[$doc])* $machine,)*
        }

        impl Machine {
            /// Every machine.
            pub const ALL: &[Machine] = &[$(Machine::$machine),*];

            /// Returns the row of this machine.
            pub const fn facts(self) -> &'static MachineFacts {
                match self {
                    $(Machine::$machine => const { &$facts },)*
                }
            }
        }
    };
}

use BinaryFormat::{Coff, Elf, Macho};

// The x86-64 psABI is silent about narrow integers; compilers extend arguments, and clang relies on it, but results are
// extended for the sake of old code only. AAPCS64 and Microsoft's two ABIs leave the bits open; Apple's arm64 ABI and
// the psABI of riscv64 demand the extension.
machines! {
    /// x86-64, in ELF, Mach-O and COFF.
    X86_64: MachineFacts {
        name: "x86_64",
        title: "x86-64",
        architectures: &[Architecture::X86_64],
        variants: &[],
        formats: &[Elf, Macho, Coff],
        elf: 62,
        distance: 2, // R_X86_64_PC32
        overflow_flag: true,
        ordered: true,
        floats: None,
        windows: Integers::all(Narrow::Anything),
        apple: Integers { arguments: Narrow::Trusted, results: Narrow::Extended },
        elsewhere: Integers { arguments: Narrow::Trusted, results: Narrow::Extended },
        words: false,
        large: true,
        halves_alike: true,
        preserve_most: true,
    };
    /// aarch64, in ELF, Mach-O and COFF.
    Aarch64: MachineFacts {
        name: "aarch64",
        title: "aarch64",
        architectures: &[Architecture::Aarch64(Aarch64Architecture::Aarch64)],
        variants: &[],
        formats: &[Elf, Macho, Coff],
        elf: 183,
        distance: 261, // R_AARCH64_PREL32
        overflow_flag: true,
        ordered: false,
        floats: None,
        windows: Integers::all(Narrow::Anything),
        apple: Integers::all(Narrow::Trusted),
        elsewhere: Integers::all(Narrow::Anything),
        words: false,
        large: false,
        halves_alike: false,
        preserve_most: true,
    };
    /// riscv64 with the general extensions, in ELF.
    Riscv64: MachineFacts {
        name: "riscv64",
        title: "riscv64",
        architectures: &[
            Architecture::Riscv64(Riscv64Architecture::Riscv64),
            Architecture::Riscv64(Riscv64Architecture::Riscv64gc),
        ],
        variants: &[
            Architecture::Riscv64(Riscv64Architecture::Riscv64imac),
            Architecture::Riscv64(Riscv64Architecture::Riscv64a23),
        ],
        formats: &[Elf],
        elf: 243,
        distance: 57, // R_RISCV_32_PCREL
        overflow_flag: false,
        ordered: false,
        floats: Some(8),
        windows: Integers::all(Narrow::Trusted),
        apple: Integers::all(Narrow::Trusted),
        elsewhere: Integers::all(Narrow::Trusted),
        words: true,
        large: false,
        halves_alike: false,
        preserve_most: false,
    };
}

impl Machine {
    /// Returns the machine of a supported target.
    ///
    /// # Errors
    /// [`Error::Target`] for any other.
    pub fn of(triple: &Triple) -> Result<Machine, Error> {
        let unsupported =
            |reason: &str| Error::Target { triple: triple.clone(), reason: reason.to_owned() };
        let machine = Machine::with_generator(triple).ok_or_else(|| unsupported(UNKNOWN))?;
        if !machine.facts().formats.contains(&triple.binary_format) {
            return Err(unsupported("no such object format for this machine"));
        }
        check_words(triple)?;
        if triple.operating_system == OperatingSystem::Uefi {
            return Err(unsupported("it has no shared libraries"));
        }
        Ok(machine)
    }

    /// Returns the machine of a target with a code generator, whatever its format.
    pub(super) fn with_generator(triple: &Triple) -> Option<Machine> {
        Machine::find(|facts| facts.architectures.contains(&triple.architecture))
    }

    /// Returns the machine of an architecture, whatever its extensions.
    pub fn of_architecture(architecture: Architecture) -> Option<Machine> {
        Machine::find(|facts| {
            [facts.architectures, facts.variants].iter().any(|all| all.contains(&architecture))
        })
    }

    /// Returns the name of an architecture in the programs of GCC and the folders of Debian.
    pub fn name_of(architecture: Architecture) -> Cow<'static, str> {
        let machine = Machine::of_architecture(architecture);
        machine.map_or_else(|| architecture.into_str(), |machine| machine.facts().name.into())
    }

    /// Returns the text of a target with the name of this machine, without extensions, as its architecture.
    pub fn spell(self, triple: &Triple) -> String {
        let text = triple.to_string();
        let rest = text.split_once('-').map_or("", |(_, rest)| rest);
        format!("{}-{rest}", self.facts().name)
    }

    fn find(is_it: impl Fn(&MachineFacts) -> bool) -> Option<Machine> {
        Machine::ALL.iter().copied().find(|machine| is_it(machine.facts()))
    }
}

/// Checks that a module is for a machine, by the text of its target; an empty one states none. A text that is no
/// [`Triple`], as LLVM's with the version of a compiler, is judged by its architecture.
///
/// # Errors
/// [`Error::Target`].
pub fn check_machine(text: &str) -> Result<(), Error> {
    if text.is_empty() {
        return Ok(());
    }
    let Ok(triple) = text.parse::<Triple>() else {
        let first = text.split('-').next().unwrap_or_default();
        let architecture = first.parse().unwrap_or(Architecture::Unknown);
        let triple = Triple { architecture, ..Triple::unknown() };
        return match Machine::with_generator(&triple) {
            Some(_) => Ok(()),
            None => Err(Error::Target { triple, reason: format!("the module is for {text}") }),
        };
    };
    match Machine::with_generator(&triple) {
        Some(_) => check_words(&triple),
        None => Err(Error::Target { triple, reason: UNKNOWN.to_owned() }),
    }
}

/// The reason against targets without a code generator.
const UNKNOWN: &str = "not a known machine";

/// Checks a target for what all emitted code assumes: addresses of 64 bits, and numbers whose lowest byte comes first.
/// A target of which this is not known passes.
///
/// # Errors
/// [`Error::Target`].
pub fn check_words(triple: &Triple) -> Result<(), Error> {
    let has_others = |width| width != PointerWidth::U64;
    let reason = if triple.pointer_width().is_ok_and(has_others) {
        "its addresses do not have 64 bits"
    } else if triple.endianness() == Ok(Endianness::Big) {
        "it is big-endian"
    } else {
        return Ok(());
    };
    Err(Error::Target { triple: triple.clone(), reason: reason.to_owned() })
}
