//! The object that C compilers link into shared libraries for C++. It defines `__dso_handle`, with which destructors
//! are registered, and a function that runs them when the library is unloaded. Without it they would run when the
//! process ends, after their code is gone.
//!
//! The code is bytes, because the loader passes nothing to functions that it runs at the end, and host IR has none of
//! those. All of this can go once Wild has the option `-fini` for a function of host IR. Its versions after 0.10 define the
//! handle, as lld does (wild-linker/wild#2503).

use codegen::backend::Machine;
use object::write::{Object, Relocation, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind,
    SymbolFlags, SymbolKind, SymbolScope, elf,
};

use crate::machine::{FINALIZE, Finalizer, FinalizerRelocation, HANDLE, facts};
use crate::{Error, Input};

/// Makes the object if [`HANDLE`] is undefined in the inputs and the code for the machine is known.
pub(super) fn object(undefined: bool, machine: Machine) -> Result<Option<Input>, Error> {
    let facts = facts(machine);
    let Some(code) = facts.finalizer.as_ref().filter(|_| undefined) else { return Ok(None) };
    let failed = |error: object::write::Error| Error::Linker {
        name: HANDLE.to_owned(),
        reason: error.to_string(),
    };
    Input::new("destructors.o", bytes(facts.architecture, code).map_err(failed)?).map(Some)
}

/// Returns whether the object defines a symbol.
pub(super) fn is_wanted(name: &[u8]) -> bool {
    name == HANDLE.as_bytes()
}

fn bytes(architecture: Architecture, code: &Finalizer) -> object::write::Result<Vec<u8>> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let text = object.add_section(Vec::new(), b".text.tvm_ffi_codegen".to_vec(), SectionKind::Text);
    let data = object.add_section(Vec::new(), b".data.tvm_ffi_codegen".to_vec(), SectionKind::Data);
    let list = object.add_section(Vec::new(), b".fini_array".to_vec(), SectionKind::Data);
    let (sh_type, sh_flags) = (elf::SHT_FINI_ARRAY, elf::SHF_ALLOC | elf::SHF_WRITE);
    object.section_mut(list).flags = SectionFlags::Elf { sh_type, sh_flags };
    object.append_section_data(text, code.bytes, 4);
    object.append_section_data(data, &[0; 8], 8);
    object.append_section_data(list, &[0; 8], 8);
    let symbol = |name: &str, kind, section, scope| Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size: 0,
        kind,
        scope,
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    let (here, elsewhere) = (SymbolScope::Compilation, SymbolScope::Unknown);
    let hidden = SymbolScope::Linkage;
    let handle = symbol(HANDLE, SymbolKind::Data, SymbolSection::Section(data), hidden);
    let handle = object.add_symbol(handle);
    let finalize = symbol(FINALIZE, SymbolKind::Text, SymbolSection::Undefined, elsewhere);
    let finalize = object.add_symbol(finalize);
    let finish = symbol("finish", SymbolKind::Text, SymbolSection::Section(text), here);
    let finish = object.add_symbol(finish);
    for &FinalizerRelocation { offset, symbol, kind, addend } in code.relocations {
        let symbol = if symbol == FINALIZE { finalize } else { handle };
        let flags = RelocationFlags::Elf { r_type: kind };
        object.add_relocation(text, Relocation { offset, symbol, addend, flags })?;
    }
    let flags = RelocationFlags::Elf { r_type: code.address };
    object.add_relocation(list, Relocation { offset: 0, symbol: finish, addend: 0, flags })?;
    object.write()
}
