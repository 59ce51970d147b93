//! The object that C compilers link into shared libraries for C++. It defines `__dso_handle`, by whose address
//! destructors are registered, and by whose value, which is the same, `atexit` registers functions; and a function that
//! runs them when the library is unloaded. Without it they would run when the process ends, after their code is gone.
//!
//! The code is bytes, because the loader passes nothing to functions that it runs at the end, and host IR has none of
//! those. All of this can go once Wild has the option `-fini` for a function of host IR. Its versions after 0.10 define
//! the handle, as lld does (wild-linker/wild#2503).

use codegen::backend::Machine;
use object::write::{Relocation, SymbolSection};
use object::{RelocationFlags, SectionFlags, SectionKind, SymbolKind, SymbolScope, elf};

use super::code;
use crate::machine::{FINALIZE, HANDLE, LibraryCode, facts};
use crate::{Error, Input};

/// Makes the object if [`HANDLE`] is undefined in the inputs and the code for the machine is known.
pub(super) fn object(undefined: bool, machine: Machine) -> Result<Option<Input>, Error> {
    let Some(code) = facts(machine).code.as_ref().filter(|_| undefined) else { return Ok(None) };
    let failed = |error: object::write::Error| Error::Linker {
        name: HANDLE.to_owned(),
        reason: error.to_string(),
    };
    Input::new("destructors.o", bytes(machine, code).map_err(failed)?).map(Some)
}

/// Returns whether the object defines a symbol.
pub(super) fn is_wanted(name: &[u8]) -> bool {
    name == HANDLE.as_bytes()
}

fn bytes(machine: Machine, code: &LibraryCode) -> object::write::Result<Vec<u8>> {
    let mut object = code::object(machine);
    let data = object.add_section(Vec::new(), b".data.tvm_ffi_codegen".to_vec(), SectionKind::Data);
    let list = object.add_section(Vec::new(), b".fini_array".to_vec(), SectionKind::Data);
    let (sh_type, sh_flags) = (elf::SHT_FINI_ARRAY, elf::SHF_ALLOC | elf::SHF_WRITE);
    object.section_mut(list).flags = SectionFlags::Elf { sh_type, sh_flags };
    object.append_section_data(data, &[0; 8], 8);
    object.append_section_data(list, &[0; 8], 8);
    let section = SymbolSection::Section(data);
    let handle = code::symbol(HANDLE, SymbolKind::Data, section, SymbolScope::Linkage);
    let handle = object.add_symbol(handle);
    let scope = SymbolScope::Compilation;
    let finish = code::add_function(&mut object, "finish", scope, &code.finalize, FINALIZE)?;
    let flags = RelocationFlags::Elf { r_type: code.address };
    for (section, symbol) in [(data, handle), (list, finish)] {
        object.add_relocation(section, Relocation { offset: 0, symbol, addend: 0, flags })?;
    }
    object.write()
}
