//! Data objects.

use codegen::backend::{Error, Facts, LARGE};
use codegen::ir;
use cranelift_module::{DataDescription, FuncOrDataId, Module, ModuleRelocTarget};

use crate::native;

/// Defines a declared constant or variable, whose symbol in the host IR is `symbol`. `description` is a buffer to
/// reuse.
pub(crate) fn define(
    module: &mut dyn Module,
    symbols: &[FuncOrDataId],
    source: &ir::Data,
    symbol: &ir::SymbolData,
    description: &mut DataDescription,
) -> Result<(), Error> {
    let FuncOrDataId::Data(id) = symbols[source.symbol.index()] else { return Ok(()) };
    description.clear();
    description.define(source.bytes.as_slice().into());
    description.set_align(u64::from(source.align));
    if source.large && Facts::of(module.isa().triple()).large {
        description.set_custom_section(LARGE);
    }
    if source.listed {
        description.set_custom_section(Facts::of(module.isa().triple()).list);
    }
    if symbol.linkage == ir::Linkage::Weak {
        let section = Facts::of(module.isa().triple()).weak_section(&symbol.name);
        section.iter().for_each(|section| description.set_custom_section(section));
    }
    for relocation in &source.relocations {
        let target: ModuleRelocTarget = match symbols[relocation.symbol.index()] {
            FuncOrDataId::Func(id) => id.into(),
            FuncOrDataId::Data(id) => id.into(),
        };
        // Functions are imported as data here: only data relocations carry addends.
        let target = description.import_global_value(target);
        description.write_data_addr(relocation.offset, target, relocation.addend);
    }
    module.define_data(id, description).map_err(native)
}
