//! Data objects.

use codegen::ir;

use crate::op::Ops;
use crate::symbols::Native;

/// Gives a declared data object its contents.
pub(crate) fn define<'c>(
    ops: &Ops<'c>,
    source: &ir::Data,
    linkage: ir::Linkage,
    global: &mut Native<'c, '_>,
) {
    for (name, value) in ops.contents(source, linkage) {
        global.set(name, value);
    }
}
