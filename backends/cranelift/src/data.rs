//! Data objects.

use codegen::ir;
use cranelift_module::{DataDescription, DataId, Module};
use target_lexicon::{Architecture, BinaryFormat, Triple};

use crate::error::Error;

/// Where constants go that are out of the reach of code.
pub(crate) const LARGE: &str = ".lrodata";

/// Defines a constant (or, as it was declared, a variable). `description` is storage to reuse.
pub(crate) fn define(
    module: &mut dyn Module,
    id: DataId,
    source: &ir::Data,
    description: &mut DataDescription,
) -> Result<(), Error> {
    description.clear();
    description.define(source.bytes.as_slice().into());
    description.set_align(u64::from(source.align));
    if source.large && has_large(module.isa().triple()) {
        description.set_custom_section(LARGE);
    }
    module.define_data(id, description).map_err(Error::from)
}

/// True for targets that have [`LARGE`].
pub(crate) fn has_large(triple: &Triple) -> bool {
    triple.architecture == Architecture::X86_64 && triple.binary_format == BinaryFormat::Elf
}
