//! An object whose functions jump to addresses in this process.

use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use target_lexicon::Triple;

use super::{Input, Target};
use crate::Error;
use crate::object_file::Machine;

/// Code that jumps to the address that follows it. Its size is a multiple of 8 bytes.
type Code = &'static [u8];

/// `jmp [rip + 2]`, two bytes of padding
const X86_64: Code = &[0xff, 0x25, 2, 0, 0, 0, 0, 0];

/// `ldr x16, . + 8`, `br x16`
const AARCH64: Code = &[0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6];

/// `auipc t1, 0`, `ld t1, 16(t1)`, `jr t1`, four bytes of padding
const RISCV64: Code = &[0x17, 0x03, 0, 0, 0x03, 0x33, 0x03, 0x01, 0x67, 0, 0x03, 0, 0x13, 0, 0, 0];

/// Makes an object that defines each name as a jump to its address, for functions of any type. A library that is linked
/// with it is valid in this process only, as long as the functions are there.
///
/// # Errors
/// [`Error::UnsupportedLink`] on hosts for which nothing is linked.
///
/// ```
/// use tvm_ffi_codegen_driver::link::addresses;
///
/// let object = addresses(&[("k".to_owned(), 0x1000)])?;
/// assert!(object.defines("k"));
/// # Ok::<(), tvm_ffi_codegen_driver::Error>(())
/// ```
pub fn addresses(functions: &[(String, usize)]) -> Result<Input, Error> {
    let host = Triple::host();
    let target = Target::new(&host)?;
    let machine = target.machine;
    let known = [
        (Architecture::X86_64, X86_64),
        (Architecture::Aarch64, AARCH64),
        (Architecture::Riscv64, RISCV64),
    ];
    let code = known.into_iter().find(|(architecture, _)| *architecture == machine.architecture);
    let unsupported = || target.refuse("the host has no code for jumps");
    let (_, code) = code.ok_or_else(unsupported)?;
    let bytes = bytes(machine, code, functions);
    let failed = |error: object::write::Error| Error::Linker {
        name: "addresses".to_owned(),
        reason: error.to_string(),
    };
    Input::new("the given addresses", bytes.map_err(failed)?)
}

fn bytes(
    machine: Machine,
    code: Code,
    functions: &[(String, usize)],
) -> object::write::Result<Vec<u8>> {
    let mut object = Object::new(machine.format, machine.architecture, Endianness::Little);
    let text = object.add_section(Vec::new(), b".text.tvm_ffi_codegen".to_vec(), SectionKind::Text);
    for (name, address) in functions {
        let jump = [code, &(*address as u64).to_le_bytes()].concat();
        let value = object.append_section_data(text, &jump, 8);
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size: jump.len() as u64,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
    }
    object.write()
}
