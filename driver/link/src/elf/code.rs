//! Objects of one function, whose code is bytes: the loader passes nothing to some functions, of which host IR has
//! none, and the others are a jump behind a few moves.

use codegen::backend::Machine;
use object::write::{Object, Relocation, Result, Symbol, SymbolId, SymbolSection};
use object::{
    BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

use crate::machine::{CALLEE, Code, CodeRelocation, facts};

/// Returns an object without contents.
pub(super) fn object(machine: Machine) -> Object<'static> {
    Object::new(BinaryFormat::Elf, facts(machine).architecture, Endianness::Little)
}

/// Returns a symbol at the beginning of a section.
pub(super) fn symbol(
    name: &str,
    kind: SymbolKind,
    section: SymbolSection,
    scope: SymbolScope,
) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size: 0,
        kind,
        scope,
        weak: false,
        section,
        flags: SymbolFlags::None,
    }
}

/// Adds a function that calls a callee, most as their end, to an object that has no other one.
pub(super) fn add_function(
    object: &mut Object<'_>,
    name: &str,
    scope: SymbolScope,
    code: &Code,
    callee: &str,
) -> Result<SymbolId> {
    let text = object.add_section(Vec::new(), b".text.tvm_ffi_codegen".to_vec(), SectionKind::Text);
    object.append_section_data(text, code.bytes, 4);
    for &CodeRelocation { offset, symbol: name, kind, addend } in code.relocations {
        let name = if name == CALLEE { callee } else { name };
        let elsewhere =
            symbol(name, SymbolKind::Text, SymbolSection::Undefined, SymbolScope::Unknown);
        let known = object.symbol_id(name.as_bytes());
        let symbol = known.unwrap_or_else(|| object.add_symbol(elsewhere));
        let flags = RelocationFlags::Elf { r_type: kind };
        object.add_relocation(text, Relocation { offset, symbol, addend, flags })?;
    }
    let function = symbol(name, SymbolKind::Text, SymbolSection::Section(text), scope);
    Ok(object.add_symbol(function))
}
