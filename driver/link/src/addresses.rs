//! An object whose functions jump to addresses in this process.

use object::write::{Object, Symbol, SymbolSection};
use object::{Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use target_lexicon::Triple;

use super::machine::facts;
use super::{Input, Target};
use crate::Error;
use crate::object_file::Header;

/// Makes an object that defines each name as a jump to its address, for functions of any type. A library that is linked
/// with it is valid in this process only, as long as the functions are there.
///
/// # Errors
/// [`Error::UnsupportedLink`] on hosts for which nothing is linked.
///
/// ```
/// use tvm_ffi_codegen_link::addresses;
///
/// let object = addresses(&[("k".to_owned(), 0x1000)])?;
/// assert!(object.defines("k"));
/// # Ok::<(), tvm_ffi_codegen_link::Error>(())
/// ```
pub fn addresses(functions: &[(String, usize)]) -> Result<Input, Error> {
    let host = Triple::host();
    let target = Target::new(&host)?;
    let bytes = bytes(target.header(), facts(target.machine).jump, functions);
    let failed = |error: object::write::Error| Error::Linker {
        name: "addresses".to_owned(),
        reason: error.to_string(),
    };
    Input::new("the given addresses", bytes.map_err(failed)?)
}

fn bytes(
    header: Header,
    code: &[u8],
    functions: &[(String, usize)],
) -> object::write::Result<Vec<u8>> {
    let mut object = Object::new(header.format, header.architecture, Endianness::Little);
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
