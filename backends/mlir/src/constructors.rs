//! Constructors: functions that run when the code is loaded. One operation lists them.

use codegen::ir;
use melior::ir::{BlockLike, Module};

use crate::op::{Ops, Reference};

/// Adds a list of the constructors to the module, which may have other lists.
pub(crate) fn define<'c>(
    ops: &Ops<'c>,
    module: &Module<'c>,
    source: &ir::Module,
    references: &[Reference<'c>],
) {
    if source.constructors.is_empty() {
        return;
    }
    let functions = source.constructors.iter().map(|symbol| references[symbol.index()].name);
    let functions: Vec<_> = functions.collect();
    module.body().append_operation(ops.constructors(&functions));
}
