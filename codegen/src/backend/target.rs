//! Facts of targets: which there are, what their C ABI says of narrow integers, what their object format
//! has.

use target_lexicon::{
    Aarch64Architecture, Architecture, BinaryFormat, OperatingSystem, Riscv64Architecture, Triple,
};

use super::Error;
use crate::ir::{AbiType, Extend, Function, Type};

/// The machines that host IR is for: 64-bit and little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64, in ELF, Mach-O and COFF.
    X86_64,
    /// aarch64, in ELF, Mach-O and COFF.
    Aarch64,
    /// riscv64 with the general extensions, in ELF.
    Riscv64,
}

impl Machine {
    /// The machine of a supported target.
    ///
    /// # Errors
    /// [`Error::Target`] for any other.
    pub fn of(triple: &Triple) -> Result<Machine, Error> {
        let unsupported =
            |reason: &str| Error::Target { triple: triple.clone(), reason: reason.to_owned() };
        let machine = machine(triple).ok_or_else(|| unsupported("not a known machine"))?;
        let elf = triple.binary_format == BinaryFormat::Elf;
        let other = matches!(triple.binary_format, BinaryFormat::Coff | BinaryFormat::Macho);
        if elf || (other && machine != Machine::Riscv64) {
            return Ok(machine);
        }
        Err(unsupported("no such object format for this machine"))
    }
}

fn machine(triple: &Triple) -> Option<Machine> {
    use Riscv64Architecture::{Riscv64, Riscv64gc};
    let architecture = triple.architecture;
    if architecture == Architecture::X86_64 {
        Some(Machine::X86_64)
    } else if architecture == Architecture::Aarch64(Aarch64Architecture::Aarch64) {
        Some(Machine::Aarch64)
    } else if matches!(architecture, Architecture::Riscv64(Riscv64 | Riscv64gc)) {
        Some(Machine::Riscv64)
    } else {
        None
    }
}

/// What is in the bits of a register above an integer narrower than 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrow {
    /// Anything: who receives it extends it.
    Anything,
    /// Who sends it extends it, but who receives it had better not rely on that.
    Extended,
    /// Who sends it extends it, and who receives it relies on that.
    Trusted,
}

/// Which end of a call is asked about an argument or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The caller for an argument, the callee for a result.
    Sender,
    /// The callee for an argument, the caller for a result.
    Receiver,
}

/// What backends need to know of a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Arguments narrower than 32 bits.
    pub arguments: Narrow,
    /// Results narrower than 32 bits.
    pub results: Narrow,
    /// 32-bit integers are sign-extended to 64 bits, whatever their sign, by who sends them.
    pub words: bool,
    /// There is the section [`LARGE`].
    pub large: bool,
    /// The section of [`Data::listed`](crate::ir::Data::listed), as assemblers write it.
    pub list: &'static str,
    /// A linker merges groups of sections; without them it goes by the symbols.
    pub groups: bool,
    /// A symbol is exported from a shared library only if its object says so.
    pub export: bool,
    /// Functions with large frames touch every page themselves; otherwise a function of the platform
    /// does so, which compilers call.
    pub probes: bool,
    /// There is a convention, LLVM's `preserve_mostcc`, by which a function keeps the registers of its callers.
    pub keeps: bool,
}

/// The names that [`Facts::list`] has in the files of ELF, Mach-O and COFF.
pub const LISTS: [&str; 3] = [".tvm_ffi.texts", "__tvm_ffi_texts", ".tvmffi"];

/// Where constants go that are out of the reach of code, in ELF on x86-64.
pub const LARGE: &str = ".lrodata";

impl Facts {
    /// Of a module that does not say what it is for. What is sent is then extended, and what is received
    /// is not relied on.
    pub const UNKNOWN: Facts = Facts {
        arguments: Narrow::Extended,
        results: Narrow::Extended,
        words: false,
        large: false,
        list: LISTS[0],
        groups: false,
        export: false,
        probes: true,
        keeps: false,
    };

    /// Of a target.
    ///
    /// The x86-64 psABI is silent about narrow integers; compilers extend arguments, and clang relies on
    /// it, but results are extended for the sake of old code only. AAPCS64 and Microsoft's two ABIs leave
    /// the bits open; Apple's arm64 ABI and the psABI of riscv64 demand the extension.
    pub fn of(triple: &Triple) -> Facts {
        use Narrow::{Anything, Extended, Trusted};
        let windows = triple.operating_system == OperatingSystem::Windows;
        let apple = triple.operating_system.is_like_darwin();
        let (arguments, results, words) = match machine(triple) {
            Some(Machine::X86_64) if windows => (Anything, Anything, false),
            Some(Machine::X86_64) => (Trusted, Extended, false),
            Some(Machine::Aarch64) if apple => (Trusted, Trusted, false),
            Some(Machine::Aarch64) => (Anything, Anything, false),
            Some(Machine::Riscv64) => (Trusted, Trusted, true),
            None => (Extended, Extended, false),
        };
        let format = triple.binary_format;
        let elf = format == BinaryFormat::Elf;
        Facts {
            arguments,
            results,
            words,
            large: elf && machine(triple) == Some(Machine::X86_64),
            list: if format == BinaryFormat::Macho {
                "__TEXT,__tvm_ffi_texts"
            } else if format == BinaryFormat::Coff {
                LISTS[2]
            } else {
                LISTS[0]
            },
            groups: elf || format == BinaryFormat::Coff,
            export: format == BinaryFormat::Coff,
            probes: !windows,
            keeps: matches!(machine(triple), Some(Machine::X86_64 | Machine::Aarch64)) && !windows,
        }
    }

    /// Of a target by the text that a module has for it.
    pub fn of_text(triple: &str) -> Facts {
        triple.parse().map_or(Facts::UNKNOWN, |triple| Facts::of(&triple))
    }

    /// How one side extends an argument, or relies on its being extended: with what, if at all.
    pub fn argument(&self, abi: AbiType, side: Side) -> Extend {
        self.extension(abi, self.arguments, side)
    }

    /// How one side extends a result, or relies on its being extended.
    pub fn result(&self, abi: AbiType, side: Side) -> Extend {
        self.extension(abi, self.results, side)
    }

    fn extension(&self, abi: AbiType, narrow: Narrow, side: Side) -> Extend {
        if self.words && abi.ty == Type::I32 {
            return Extend::Sign;
        }
        match (narrow, side) {
            (Narrow::Trusted, _) | (Narrow::Extended, Side::Sender) => match abi.extend {
                Extend::Truth => Extend::Zero,
                extend @ (Extend::No | Extend::Sign | Extend::Zero) => extend,
            },
            (Narrow::Extended, Side::Receiver) | (Narrow::Anything, _) => Extend::No,
        }
    }
}

/// True for a function that may be told to become no call of a C library's function: LLVM makes `strlen`,
/// `memset` and the like of loops, and of many stores in what is to be small. Such a function is never
/// inlined into code that is not told so, which is why straight code on the hot path is not.
pub fn is_apart(function: &Function) -> bool {
    function.cold || function.no_inline || function.has_loop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Extend;

    #[test]
    fn who_extends_narrow_integers() {
        use Extend::{No, Sign, Zero};
        // Argument sent and received, result sent and received, of `int8_t`; a word that is sent.
        for (triple, expected) in [
            ("x86_64-unknown-linux-gnu", [Sign, Sign, Sign, No, No]),
            ("x86_64-apple-darwin", [Sign, Sign, Sign, No, No]),
            ("x86_64-pc-windows-msvc", [No, No, No, No, No]),
            ("x86_64-pc-windows-gnu", [No, No, No, No, No]),
            ("aarch64-unknown-linux-gnu", [No, No, No, No, No]),
            ("aarch64-pc-windows-msvc", [No, No, No, No, No]),
            ("arm64-apple-macosx11.0.0", [Sign, Sign, Sign, Sign, No]),
            ("riscv64gc-unknown-linux-gnu", [Sign, Sign, Sign, Sign, Sign]),
            ("", [Sign, No, Sign, No, No]),
            ("mips-unknown-linux-gnu", [Sign, No, Sign, No, No]),
        ] {
            let facts = Facts::of_text(triple);
            let byte = AbiType { ty: Type::I8, extend: Sign };
            let [sent, received] = [Side::Sender, Side::Receiver].map(|s| facts.argument(byte, s));
            let results = [Side::Sender, Side::Receiver].map(|side| facts.result(byte, side));
            let word = facts.argument(Type::I32.into(), Side::Sender);
            assert_eq!([sent, received, results[0], results[1], word], expected, "{triple}");
            let unsigned = AbiType { ty: Type::I16, extend: Zero };
            assert!(facts.argument(unsigned, Side::Sender) != Sign, "{triple}");
            assert_eq!(facts.argument(Type::I64.into(), Side::Sender), No, "{triple}");
        }
    }

    #[test]
    fn machines_are_known_or_refused() {
        for (triple, reason) in [
            ("i686-unknown-linux-gnu", "not a known machine"),
            ("aarch64_be-unknown-linux-gnu", "not a known machine"),
            ("riscv64imac-unknown-none-elf", "not a known machine"),
            ("wasm32-unknown-unknown", "not a known machine"),
            ("riscv64gc-apple-darwin", "no such object format for this machine"),
        ] {
            let triple: Triple = triple.parse().unwrap();
            let error = Error::Target { triple: triple.clone(), reason: reason.into() };
            assert_eq!(Machine::of(&triple), Err(error));
        }
    }
}
