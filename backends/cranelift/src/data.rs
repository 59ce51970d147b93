//! Data objects.

use codegen::ir;
use cranelift_module::{DataDescription, DataId, Module};

use crate::error::Error;

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
    module.define_data(id, description).map_err(Error::from)
}
