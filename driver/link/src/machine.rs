//! The facts about machines that linking needs.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use ar_archive_writer::MachineTypes;
use codegen::backend::Machine;
use object::{Architecture, elf};

/// Row of the table: the facts about a machine.
pub(super) struct LinkFacts {
    /// The name in headers of objects.
    pub(super) architecture: Architecture,
    /// The name of ELF for it, as linkers know it.
    pub(super) emulation: &'static str,
    /// The table of the GNU C library, which `glibc/make.py` writes.
    pub(super) glibc: &'static str,
    /// Code that jumps to the address that follows it. Its size is a multiple of 8 bytes.
    pub(super) jump: &'static [u8],
    /// Code that libraries for glibc need, if it is known.
    pub(super) code: Option<LibraryCode>,
    /// Relocations for thread-local variables of a program; see the supplement of the ELF specification for the
    /// processor.
    pub(super) local_exec: Relocations,
    /// Relocations that Wild does not know, or whose values it writes into the wrong bits, with their names.
    pub(super) not_of_wild: &'static [(elf::RelocationType, &'static str)],
    /// The relocation of an instruction that loads an address, which a linker may replace by one that computes it.
    pub(super) load: Option<elf::RelocationType>,
    /// The names in COFF; `None` if nothing is linked for Windows.
    pub(super) coff: Option<Coff>,
    /// The name in Mach-O; `None` if nothing is linked for macOS.
    pub(super) macho: Option<&'static str>,
}

/// Relocations with a common name.
pub(super) struct Relocations {
    pub(super) name: &'static str,
    pub(super) numbers: &'static [RangeInclusive<u32>],
}

/// The names of a machine in COFF.
pub(super) struct Coff {
    /// The name in import libraries.
    pub(super) import: MachineTypes,
    /// The option of linkers.
    pub(super) option: &'static str,
}

/// Symbol that code which registers destructors refers to.
pub(super) const HANDLE: &str = "__dso_handle";

/// `void __cxa_finalize(void* handle)` of the C library.
pub(super) const FINALIZE: &str = "__cxa_finalize";

/// Stands for the function that a [`Code`] ends with.
pub(super) const CALLEE: &str = "";

/// Code that C compilers link into every library.
pub(super) struct LibraryCode {
    /// Ends with [`FINALIZE`], and gives it the address of [`HANDLE`].
    pub(super) finalize: Code,
    /// Ends with a function that has the version of a structure before its other arguments, which are four at most.
    pub(super) versioned: Code,
    /// Calls a function that has version 0 of an interface, its two arguments, and the address of a copy of its third
    /// one.
    pub(super) node: Code,
    /// Calls one that has version 0, its three arguments, and the address of a copy of its fourth one.
    pub(super) node_at: Code,
    /// Ends with a function that has the address of [`HANDLE`] as its second argument.
    pub(super) second: Code,
    /// Ends with one that has NULL and that address behind its first argument.
    pub(super) third: Code,
    /// Ends with one that has that address as its fourth argument.
    pub(super) fourth: Code,
    /// Type of a relocation for a 64-bit address.
    pub(super) address: elf::RelocationType,
}

/// Code of a function.
pub(super) struct Code {
    pub(super) bytes: &'static [u8],
    pub(super) relocations: &'static [CodeRelocation],
}

/// Relocation of a [`Code`].
#[derive(Clone, Copy)]
pub(super) struct CodeRelocation {
    pub(super) offset: u64,
    /// [`HANDLE`] or [`CALLEE`].
    pub(super) symbol: &'static str,
    pub(super) kind: elf::RelocationType,
    pub(super) addend: i64,
}

const fn relocation(
    offset: u64,
    symbol: &'static str,
    kind: elf::RelocationType,
    addend: i64,
) -> CodeRelocation {
    CodeRelocation { offset, symbol, kind, addend }
}

/// Returns the relocations of code that begins with the address of [`HANDLE`] and jumps to [`CALLEE`].
const fn x86_64_relocations(jump: u64) -> [CodeRelocation; 2] {
    [
        relocation(3, HANDLE, elf::R_X86_64_PC32, -4),
        relocation(jump, CALLEE, elf::R_X86_64_PLT32, -4),
    ]
}

/// Returns the relocations of code that begins with the address of [`HANDLE`] and jumps to [`CALLEE`].
const fn aarch64_relocations(jump: u64) -> [CodeRelocation; 3] {
    [
        relocation(0, HANDLE, elf::R_AARCH64_ADR_PREL_PG_HI21, 0),
        relocation(4, HANDLE, elf::R_AARCH64_ADD_ABS_LO12_NC, 0),
        relocation(jump, CALLEE, elf::R_AARCH64_JUMP26, 0),
    ]
}

/// Returns the row of a machine.
pub(super) const fn facts(machine: Machine) -> &'static LinkFacts {
    match machine {
        Machine::X86_64 => &X86_64,
        Machine::Aarch64 => &AARCH64,
        Machine::Riscv64 => &RISCV64,
    }
}

const X86_64: LinkFacts = LinkFacts {
    architecture: Architecture::X86_64,
    emulation: "elf_x86_64",
    glibc: include_str!("glibc/x86_64.txt"),
    // `jmp [rip + 2]`, two bytes of padding
    jump: &[0xff, 0x25, 2, 0, 0, 0, 0, 0],
    code: Some(LibraryCode {
        // `lea rdi, [rip + handle]`, `jmp callee`
        finalize: Code {
            bytes: &[0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0],
            relocations: &x86_64_relocations(8),
        },
        // `mov r8, rcx`, `mov rcx, rdx`, `mov rdx, rsi`, `mov rsi, rdi`, `mov edi, 1`, `jmp callee`
        versioned: Code {
            bytes: &[
                0x49, 0x89, 0xc8, 0x48, 0x89, 0xd1, 0x48, 0x89, 0xf2, 0x48, 0x89, 0xfe, 0xbf, 1, 0,
                0, 0, 0xe9, 0, 0, 0, 0,
            ],
            relocations: &[relocation(18, CALLEE, elf::R_X86_64_PLT32, -4)],
        },
        // `sub rsp, 24`, `mov [rsp + 8], rdx`, `lea rcx, [rsp + 8]`, `mov edx, esi`, `mov rsi, rdi`, `xor edi, edi`,
        // `call callee`, `add rsp, 24`, `ret`
        node: Code {
            bytes: &[
                0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x54, 0x24, 8, 0x48, 0x8d, 0x4c, 0x24, 8, 0x89,
                0xf2, 0x48, 0x89, 0xfe, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x18, 0xc3,
            ],
            relocations: &[relocation(22, CALLEE, elf::R_X86_64_PLT32, -4)],
        },
        // `sub rsp, 24`, `mov [rsp + 8], rcx`, `lea r8, [rsp + 8]`, `mov ecx, edx`, `mov rdx, rsi`, `mov esi, edi`,
        // `xor edi, edi`, `call callee`, `add rsp, 24`, `ret`
        node_at: Code {
            bytes: &[
                0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x4c, 0x24, 8, 0x4c, 0x8d, 0x44, 0x24, 8, 0x89,
                0xd1, 0x48, 0x89, 0xf2, 0x89, 0xfe, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4,
                0x18, 0xc3,
            ],
            relocations: &[relocation(24, CALLEE, elf::R_X86_64_PLT32, -4)],
        },
        // `lea rsi, [rip + handle]`, `jmp callee`
        second: Code {
            bytes: &[0x48, 0x8d, 0x35, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0],
            relocations: &x86_64_relocations(8),
        },
        // `lea rdx, [rip + handle]`, `xor esi, esi`, `jmp callee`
        third: Code {
            bytes: &[0x48, 0x8d, 0x15, 0, 0, 0, 0, 0x31, 0xf6, 0xe9, 0, 0, 0, 0],
            relocations: &x86_64_relocations(10),
        },
        // `lea rcx, [rip + handle]`, `jmp callee`
        fourth: Code {
            bytes: &[0x48, 0x8d, 0x0d, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0],
            relocations: &x86_64_relocations(8),
        },
        address: elf::R_X86_64_64,
    }),
    local_exec: Relocations {
        name: "R_X86_64_TPOFF32",
        numbers: &[elf::R_X86_64_TPOFF32.0..=elf::R_X86_64_TPOFF32.0],
    },
    not_of_wild: &[
        (elf::R_X86_64_SIZE32, "R_X86_64_SIZE32"),
        (elf::R_X86_64_SIZE64, "R_X86_64_SIZE64"),
    ],
    load: Some(elf::R_X86_64_GOTPCREL),
    coff: Some(Coff { import: MachineTypes::AMD64, option: "/machine:x64" }),
    macho: Some("x86_64"),
};

const AARCH64: LinkFacts = LinkFacts {
    architecture: Architecture::Aarch64,
    emulation: "aarch64elf",
    glibc: include_str!("glibc/aarch64.txt"),
    // `ldr x16, . + 8`, `br x16`
    jump: &[0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6],
    code: Some(LibraryCode {
        // `adrp x0, handle`, `add x0, x0, :lo12:handle`, `b callee`
        finalize: Code {
            bytes: &[0, 0, 0, 0x90, 0, 0, 0, 0x91, 0, 0, 0, 0x14],
            relocations: &aarch64_relocations(8),
        },
        // `mov x4, x3`, `mov x3, x2`, `mov x2, x1`, `mov x1, x0`, `mov x0, 0`, `b callee`
        versioned: Code {
            bytes: &[
                0xe4, 0x03, 0x03, 0xaa, 0xe3, 0x03, 0x02, 0xaa, 0xe2, 0x03, 0x01, 0xaa, 0xe1, 0x03,
                0, 0xaa, 0, 0, 0x80, 0xd2, 0, 0, 0, 0x14,
            ],
            relocations: &[relocation(20, CALLEE, elf::R_AARCH64_JUMP26, 0)],
        },
        // `stp x29, x30, [sp, -32]!`, `mov x29, sp`, `str x2, [sp, 24]`, `add x3, sp, 24`, `mov w2, w1`, `mov x1, x0`,
        // `mov w0, 0`, `bl callee`, `ldp x29, x30, [sp], 32`, `ret`
        node: Code {
            bytes: &[
                0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0, 0x91, 0xe2, 0x0f, 0, 0xf9, 0xe3, 0x63, 0,
                0x91, 0xe2, 0x03, 0x01, 0x2a, 0xe1, 0x03, 0, 0xaa, 0, 0, 0x80, 0x52, 0, 0, 0, 0x94,
                0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
            ],
            relocations: &[relocation(28, CALLEE, elf::R_AARCH64_CALL26, 0)],
        },
        // `stp x29, x30, [sp, -32]!`, `mov x29, sp`, `str x3, [sp, 24]`, `add x4, sp, 24`, `mov w3, w2`, `mov x2, x1`,
        // `mov w1, w0`, `mov w0, 0`, `bl callee`, `ldp x29, x30, [sp], 32`, `ret`
        node_at: Code {
            bytes: &[
                0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0, 0x91, 0xe3, 0x0f, 0, 0xf9, 0xe4, 0x63, 0,
                0x91, 0xe3, 0x03, 0x02, 0x2a, 0xe2, 0x03, 0x01, 0xaa, 0xe1, 0x03, 0, 0x2a, 0, 0,
                0x80, 0x52, 0, 0, 0, 0x94, 0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
            ],
            relocations: &[relocation(32, CALLEE, elf::R_AARCH64_CALL26, 0)],
        },
        // `adrp x1, handle`, `add x1, x1, :lo12:handle`, `b callee`
        second: Code {
            bytes: &[1, 0, 0, 0x90, 0x21, 0, 0, 0x91, 0, 0, 0, 0x14],
            relocations: &aarch64_relocations(8),
        },
        // `adrp x2, handle`, `add x2, x2, :lo12:handle`, `mov x1, 0`, `b callee`
        third: Code {
            bytes: &[2, 0, 0, 0x90, 0x42, 0, 0, 0x91, 1, 0, 0x80, 0xd2, 0, 0, 0, 0x14],
            relocations: &aarch64_relocations(12),
        },
        // `adrp x3, handle`, `add x3, x3, :lo12:handle`, `b callee`
        fourth: Code {
            bytes: &[3, 0, 0, 0x90, 0x63, 0, 0, 0x91, 0, 0, 0, 0x14],
            relocations: &aarch64_relocations(8),
        },
        address: elf::R_AARCH64_ABS64,
    }),
    local_exec: Relocations { name: "R_AARCH64_TLSLE_*", numbers: &[544..=559, 570..=571] },
    not_of_wild: &[
        (elf::R_AARCH64_GOTREL64, "R_AARCH64_GOTREL64"),
        (elf::R_AARCH64_GOTREL32, "R_AARCH64_GOTREL32"),
        (elf::R_AARCH64_GOT_LD_PREL19, "R_AARCH64_GOT_LD_PREL19"),
        (elf::R_AARCH64_TLSLD_LD_PREL19, "R_AARCH64_TLSLD_LD_PREL19"),
    ],
    load: None,
    coff: Some(Coff { import: MachineTypes::ARM64, option: "/machine:arm64" }),
    macho: Some("arm64"),
};

const RISCV64: LinkFacts = LinkFacts {
    architecture: Architecture::Riscv64,
    emulation: "elf64lriscv",
    glibc: include_str!("glibc/riscv64.txt"),
    // `auipc t1, 0`, `ld t1, 16(t1)`, `jr t1`, four bytes of padding
    jump: &[0x17, 0x03, 0, 0, 0x03, 0x33, 0x03, 0x01, 0x67, 0, 0x03, 0, 0x13, 0, 0, 0],
    code: None,
    local_exec: Relocations { name: "R_RISCV_TPREL_*", numbers: &[29..=32, 49..=50] },
    not_of_wild: &[
        (elf::R_RISCV_TLSDESC_HI20, "R_RISCV_TLSDESC_HI20"),
        (elf::R_RISCV_TLSDESC_LOAD_LO12, "R_RISCV_TLSDESC_LOAD_LO12"),
        (elf::R_RISCV_TLSDESC_ADD_LO12, "R_RISCV_TLSDESC_ADD_LO12"),
        (elf::R_RISCV_TLSDESC_CALL, "R_RISCV_TLSDESC_CALL"),
    ],
    load: None,
    coff: None,
    macho: None,
};

/// Returns the sentence that names the machines.
pub(super) fn linked() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let in_elf = listing(|_| true);
        let others = listing(|facts| facts.coff.is_some() && facts.macho.is_some());
        format!("only {in_elf} are linked for in ELF, and {others} for Windows and macOS")
    });
    &TEXT
}

/// Returns a list of machines in words.
fn listing(has: impl Fn(&LinkFacts) -> bool) -> String {
    let machines = Machine::ALL.iter().filter(|machine| has(facts(**machine)));
    let titles: Vec<&str> = machines.map(|machine| machine.facts().title).collect();
    let Some((last, others)) = titles.split_last() else { return String::new() };
    format!("{} and {last}", others.join(", "))
}
