//! Constructors: functions that run when the code is loaded.

use codegen::ir;

use crate::prelude::{Helper, Prelude};
use crate::symbols::Symbols;

/// Writes the registration of the constructors.
pub(crate) fn define(
    source: &ir::Module,
    symbols: &Symbols,
    prelude: &mut Prelude,
    text: &mut String,
) {
    for constructor in &source.constructors {
        let name = &symbols.names[constructor.index()];
        text.push_str(&format!("\n{}({name})\n", prelude.name(Helper::Constructor)));
    }
}
