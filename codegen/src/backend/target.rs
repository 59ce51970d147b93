//! Facts of targets: machines, in `machine`, and what follows from machine, system and format together.

mod machine;

use target_lexicon::{BinaryFormat, OperatingSystem, Triple};

use machine::Integers;
pub use machine::{Machine, MachineFacts, Narrow, check_machine, check_words};

use super::Error;
use crate::ir::{AbiType, Extend, Function, Module, SymbolData, Type};

/// An end of a call, for an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The caller for an argument, the callee for a result.
    Sender,
    /// The callee for an argument, the caller for a result.
    Receiver,
}

/// The facts of a platform that backends need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The rule for arguments narrower than 32 bits.
    pub arguments: Narrow,
    /// The rule for results narrower than 32 bits.
    pub results: Narrow,
    /// True if the sender sign-extends 32-bit integers to 64 bits, signed or not.
    pub words: bool,
    /// True if the section [`LARGE`] exists.
    pub large: bool,
    /// True if C's `__bf16` is passed as its `_Float16` is. LLVM makes a `bfloat` of 16 bits by a call of a compiler's
    /// library where it does not optimise, and no such call for a `half`.
    pub halves_alike: bool,
    /// The section of [`Data::listed`](crate::ir::Data::listed), as assemblers write it.
    pub list: &'static str,
    /// True if linkers merge section groups. Otherwise they merge by symbols.
    pub groups: bool,
    /// The form of a definition of [`Linkage::Weak`](crate::ir::Linkage::Weak).
    pub weak: Weak,
    /// True if an object must mark the symbols that a shared library exports.
    pub export: bool,
    /// True if functions with large frames touch every page themselves. Otherwise compilers call a function of the
    /// platform for that.
    pub probes: bool,
    /// True if a calling convention exists by which the callee preserves most registers: LLVM's `preserve_mostcc`,
    /// Cranelift's `preserve_all`.
    pub preserve_most: bool,
}

/// The form of a definition of [`Linkage::Weak`](crate::ir::Linkage::Weak).
///
/// Code refers to the symbol itself, not to an alias: an alias would stay at the definition that a linker drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weak {
    /// A weak symbol of ELF. Its visibility is protected: a library that was loaded earlier cannot take its place.
    Protected,
    /// A section group of COFF.
    Group,
    /// A common symbol of Mach-O. A weak one would be shared by all libraries of a process, since `dyld` merges those.
    Common,
}

/// The names of the section [`Facts::list`] in ELF, Mach-O and COFF files.
pub const LISTS: [&str; 3] = [".tvm_ffi.texts", "__tvm_ffi_texts", ".tvmffi"];

/// The section of constants that are out of the reach of code, in ELF on x86-64.
pub const LARGE: &str = ".lrodata";

impl Facts {
    /// The facts of a module without a target: senders extend, and receivers do not rely on it.
    pub const UNKNOWN: Facts = Facts {
        arguments: Narrow::Extended,
        results: Narrow::Extended,
        words: false,
        large: false,
        halves_alike: false,
        list: LISTS[0],
        groups: false,
        weak: Weak::Protected,
        export: false,
        probes: true,
        preserve_most: false,
    };

    /// Returns the facts of a target.
    pub fn of(triple: &Triple) -> Facts {
        let windows = triple.operating_system == OperatingSystem::Windows;
        let machine = Machine::with_generator(triple).map(Machine::facts);
        let integers = |machine: &MachineFacts| machine.integers(triple.operating_system);
        let Integers { arguments, results } =
            machine.map_or(Integers::all(Narrow::Extended), integers);
        let format = triple.binary_format;
        let elf = format == BinaryFormat::Elf;
        Facts {
            arguments,
            results,
            words: machine.is_some_and(|machine| machine.words),
            large: elf && machine.is_some_and(|machine| machine.large),
            halves_alike: machine.is_some_and(|machine| machine.halves_alike),
            list: if format == BinaryFormat::Macho {
                "__TEXT,__tvm_ffi_texts"
            } else if format == BinaryFormat::Coff {
                LISTS[2]
            } else {
                LISTS[0]
            },
            groups: elf || format == BinaryFormat::Coff,
            weak: if format == BinaryFormat::Macho {
                Weak::Common
            } else if format == BinaryFormat::Coff {
                Weak::Group
            } else {
                Weak::Protected
            },
            export: format == BinaryFormat::Coff,
            probes: !windows,
            preserve_most: !windows && machine.is_some_and(|machine| machine.preserve_most),
        }
    }

    /// Checks the names of what a module exports. Where an object marks its exports it does so in a list for linkers.
    ///
    /// # Errors
    /// [`Error::Export`] for the first name that the list cannot have.
    pub fn check_exports(&self, source: &Module) -> Result<(), Error> {
        let is_marked = |symbol: &&SymbolData| self.export && symbol.linkage.is_exported();
        let mut marked = source.symbols.iter().filter(is_marked);
        match marked.find(|symbol| symbol.name.contains(['"', ',', '=', '\\'])) {
            Some(symbol) => Err(Error::Export { symbol: symbol.name.clone() }),
            None => Ok(()),
        }
    }

    /// Returns the facts of a target by its text in a module.
    pub fn of_text(triple: &str) -> Facts {
        triple.parse().map_or(Facts::UNKNOWN, |triple| Facts::of(&triple))
    }

    /// Returns the section of the definition of a weak symbol; `None` for that of its data. GNU's linker merges groups
    /// of COFF only if their sections have one name too, and GCC gives them this one.
    pub fn weak_section(&self, symbol: &str) -> Option<String> {
        match self.weak {
            Weak::Group => Some(format!(".data${symbol}")),
            Weak::Protected | Weak::Common => None,
        }
    }

    /// Returns the extension that one side makes of an argument, or relies on.
    pub fn argument(&self, abi: AbiType, side: Side) -> Extend {
        self.extension(abi, self.arguments, side)
    }

    /// Returns the extension that one side makes of a result, or relies on.
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
                Extend::Float16 | Extend::BFloat16 => Extend::No,
                extend @ (Extend::No | Extend::Sign | Extend::Zero) => extend,
            },
            (Narrow::Extended, Side::Receiver) | (Narrow::Anything, _) => Extend::No,
        }
    }
}

/// Returns true for functions that get LLVM's attribute `no-builtins`. Without it LLVM turns loops, and in code
/// optimised for size also many stores, into calls of `strlen`, `memset` and the like. Hot functions without loops do
/// not get it, since LLVM inlines functions that have it only into functions that have it.
pub fn needs_no_builtins(function: &Function) -> bool {
    function.cold || function.no_inline || function.has_loop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Error;
    use crate::ir::Extend;

    #[test]
    fn who_extends_narrow_integers() {
        use Extend::{No, Sign, Zero};
        // Extensions of an `int8_t`: argument sent, argument received, result sent, result received; then of an
        // `int32_t` argument sent.
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
    fn modules_are_for_a_machine_or_refused() {
        for (text, message) in [
            ("", ""),
            ("x86_64-pc-linux-gnu", ""),
            ("arm64-apple-macosx11.0.0", ""),
            ("riscv64", ""),
            ("x86_64-pc-windows-msvc19.33.31629", ""),
            ("i686-unknown-linux-gnu", "i686-unknown-linux-gnu: not a known machine"),
            ("wasm32-unknown-unknown", "wasm32-unknown-unknown: not a known machine"),
            ("s390x-ibm-linux", "s390x-ibm-linux: not a known machine"),
            ("nvptx64-nvidia-cuda", "nvptx64-nvidia-cuda: not a known machine"),
            ("garbage", "unknown-unknown-unknown: the module is for garbage"),
        ] {
            let error =
                check_machine(text).map_or_else(|error| error.to_string(), |()| String::new());
            let expected = format!("unsupported target {message}");
            assert_eq!(error, if message.is_empty() { "" } else { &expected }, "{text}");
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
