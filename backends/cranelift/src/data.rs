//! Data objects.

use codegen::backend::{Error, Facts, LARGE};
use codegen::ir;
use cranelift_module::{DataDescription, FuncOrDataId, Module, ModuleRelocTarget};

use crate::native;

/// Defines a constant (or, as it was declared, a variable). `description` is storage to reuse.
pub(crate) fn define(
    module: &mut dyn Module,
    symbols: &[FuncOrDataId],
    source: &ir::Data,
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
    for relocation in &source.relocations {
        let target: ModuleRelocTarget = match symbols[relocation.symbol.index()] {
            FuncOrDataId::Func(id) => id.into(),
            FuncOrDataId::Data(id) => id.into(),
        };
        // What it names may be a function, too; only so is there an addend.
        let target = description.import_global_value(target);
        description.write_data_addr(relocation.offset, target, relocation.addend);
    }
    module.define_data(id, description).map_err(native)
}
