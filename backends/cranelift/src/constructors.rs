//! Constructors: functions that run when the code is loaded. Their addresses go to a section of the object format.

use codegen::backend::Error;
use codegen::ir;
use cranelift_module::FuncOrDataId;
use cranelift_object::ObjectProduct;
use cranelift_object::object::write::Relocation;
use cranelift_object::object::{
    BinaryFormat, RelocationEncoding, RelocationFlags, RelocationKind, SectionFlags, SectionKind,
    elf, macho,
};

use crate::refused;

/// Writes the section, unless there are no constructors.
pub(crate) fn define(
    product: &mut ObjectProduct,
    source: &ir::Module,
    symbols: &[FuncOrDataId],
) -> Result<(), Error> {
    if source.constructors.is_empty() {
        return Ok(());
    }
    let Section { segment, name, kind, flags } = section(product.object.format());
    let section = product.object.add_section(segment.into(), name.into(), kind);
    product.object.section_mut(section).flags = flags;
    for constructor in &source.constructors {
        let FuncOrDataId::Func(id) = symbols[constructor.index()] else { continue };
        let symbol = product.function_symbol(id);
        let offset = product.object.append_section_data(section, &[0; 8], 8);
        let (kind, encoding) = (RelocationKind::Absolute, RelocationEncoding::Generic);
        let flags = RelocationFlags::Generic { kind, encoding, size: 64 };
        let address = Relocation { offset, symbol, addend: 0, flags };
        product.object.add_relocation(section, address).map_err(refused)?;
    }
    Ok(())
}

/// The section of constructors in one object format.
struct Section {
    segment: &'static str,
    name: &'static str,
    kind: SectionKind,
    flags: SectionFlags,
}

fn section(format: BinaryFormat) -> Section {
    if format == BinaryFormat::MachO {
        let flags = SectionFlags::MachO { flags: macho::S_MOD_INIT_FUNC_POINTERS };
        Section { segment: "__DATA", name: "__mod_init_func", kind: SectionKind::Data, flags }
    } else if format == BinaryFormat::Coff {
        let (kind, flags) = (SectionKind::ReadOnlyData, SectionFlags::None);
        Section { segment: "", name: ".CRT$XCU", kind, flags }
    } else {
        let kind = SectionKind::Elf(elf::SHT_INIT_ARRAY);
        let sh_flags = u64::from(elf::SHF_ALLOC | elf::SHF_WRITE);
        Section { segment: "", name: ".init_array", kind, flags: SectionFlags::Elf { sh_flags } }
    }
}
