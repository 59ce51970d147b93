//! Prints steps on one line.

use crate::resolve::function::Function;
use crate::resolve::print::Printer;
use crate::resolve::step::Step;

/// Prints steps, separated by `; `, with nested ones in braces.
pub(super) fn steps(function: &Function<'_>, all: &[Step<'_>]) -> String {
    let one = |step: &Step<'_>| {
        let text = Printer(function).step(step);
        match step {
            Step::Each { steps: each, .. } => format!("{text} {{ {} }}", steps(function, each)),
            Step::OneOf { types, .. } => {
                let types: Vec<String> = types.iter().map(|ty| steps(function, ty)).collect();
                format!("{text} {{ {} }}", types.join(" | "))
            }
            Step::Scalar { .. }
            | Step::Header { .. }
            | Step::Value { .. }
            | Step::Occurrence { .. }
            | Step::Folded { .. }
            | Step::Compact { .. }
            | Step::Data { .. }
            | Step::BindCompact { .. }
            | Step::Require(_) => text,
        }
    };
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}
