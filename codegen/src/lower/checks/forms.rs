//! Choice of loops and routines for a large function.

use crate::lower::checks::checker::Forms;
use crate::lower::checks::{outline, runs};
use crate::resolve::function::Function;

/// Chooses the forms of the checks of a function.
pub(in crate::lower) fn forms(function: &Function<'_>) -> Forms {
    let runs = runs::runs(function);
    let outlined = outline::outlined(function, &runs);
    Forms { runs, outlined, texts: outline::outlines_texts(function) }
}
