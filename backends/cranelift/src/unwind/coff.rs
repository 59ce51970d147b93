//! Unwind tables of COFF objects for x86-64, as "x64 exception handling" of Microsoft's documentation defines them.

use std::collections::BTreeMap;

use codegen::backend::Error;
use cranelift_codegen::isa::unwind::winx64;
use cranelift_module::FuncId;
use cranelift_object::ObjectProduct;
use cranelift_object::object::write::{Object, Relocation, SectionId, SymbolId};
use cranelift_object::object::{RelocationEncoding, RelocationFlags, RelocationKind, SectionKind};

use crate::refused;

/// The sections of each function's tables. A linker that drops a copy of a function drops them too.
pub(crate) type Sections = BTreeMap<SymbolId, [SectionId; 2]>;

/// The unwind tables of the functions defined so far.
#[derive(Debug, Default)]
pub(super) struct Tables(Vec<Table>);

#[derive(Debug)]
struct Table {
    function: FuncId,
    /// The length of the code, in bytes.
    length: usize,
    /// An `UNWIND_INFO`.
    info: Vec<u8>,
}

impl Tables {
    pub(super) fn add(&mut self, function: FuncId, length: usize, info: &winx64::UnwindInfo) {
        let mut bytes = vec![0; info.emit_size()];
        info.emit(&mut bytes);
        self.0.push(Table { function, length, info: bytes });
    }

    pub(super) fn write(self, product: &mut ObjectProduct) -> Result<Sections, Error> {
        let mut sections = Sections::new();
        for Table { function, length, info } in self.0 {
            let function = product.function_symbol(function);
            let written = write(&mut product.object, function, length as u64, &info);
            sections.insert(function, written.map_err(refused)?);
        }
        Ok(sections)
    }
}

/// Writes the `UNWIND_INFO` of a function and its `RUNTIME_FUNCTION`: begin, end, and the place of the former.
fn write(
    object: &mut Object<'_>,
    function: SymbolId,
    length: u64,
    info: &[u8],
) -> cranelift_object::object::write::Result<[SectionId; 2]> {
    let xdata = object.add_section(Vec::new(), b".xdata".to_vec(), SectionKind::ReadOnlyData);
    let pdata = object.add_section(Vec::new(), b".pdata".to_vec(), SectionKind::ReadOnlyData);
    object.append_section_data(xdata, info, 4);
    object.append_section_data(pdata, &[0; 12], 4);
    let xdata_symbol = object.section_symbol(xdata);
    object.section_symbol(pdata);
    let start = object.symbol(function).value;
    let code = object.symbol(function).section.id();
    let code = code.map_or(function, |section| object.section_symbol(section));
    let places = [(code, start), (code, start + length), (xdata_symbol, 0)];
    for (index, (symbol, addend)) in (0..).zip(places) {
        let flags = RelocationFlags::Generic {
            kind: RelocationKind::ImageOffset,
            encoding: RelocationEncoding::Generic,
            size: 32,
        };
        let relocation = Relocation { offset: 4 * index, symbol, addend: addend as i64, flags };
        object.add_relocation(pdata, relocation)?;
    }
    Ok([xdata, pdata])
}
