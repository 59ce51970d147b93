//! Values that somebody else has made: what they must be, checked as an argument is.

use super::function::Received;
use super::ids::{SymbolId, Table};
use super::knowledge::{Knowledge, Known};
use super::names::Names;
use super::order::Order;
use super::step::Step;
use crate::declaration::ParamType;
use crate::error::Part;

/// A value of the body that must be of a type; errors call it by this path.
pub(super) fn receive<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    path: String,
    ty: &'a ParamType,
) -> Result<Received<'a>, (Part, String)> {
    let value = names.result(path, ty)?;
    let before = Table::like(&names.symbols, false);
    let before = knowledge.iter().fold(before, |mut all, (symbol, known)| {
        all[symbol] = *known == Known::Always;
        all
    });
    let order = Order::received(names, std::mem::take(knowledge), value)?;
    let Order { steps, knowledge: after, .. } = order;
    *knowledge = after;
    let mut known = Vec::new();
    mentioned(&steps, &mut |symbol: SymbolId| {
        let local = names.symbols[symbol].local.is_some();
        if (before[symbol] || local) && !known.contains(&symbol) {
            known.push(symbol);
        }
    });
    Ok(Received { value, steps, known })
}

/// Calls `f` with every symbol that steps mention.
fn mentioned(steps: &[Step<'_>], f: &mut impl FnMut(SymbolId)) {
    for step in steps {
        match step {
            Step::Occurrence { rule, .. } => rule.visit_symbols(f),
            Step::Settle { symbol, linear, .. } => {
                f(*symbol);
                linear.coefficient.visit_symbols(f);
                linear.constant.visit_symbols(f);
            }
            Step::Each { steps, .. } => mentioned(steps, f),
            Step::OneOf { types, .. } => types.iter().for_each(|steps| mentioned(steps, f)),
            Step::Require(condition) => condition.test.visit_symbols(f),
            Step::Scalar { .. }
            | Step::Header { .. }
            | Step::Value { .. }
            | Step::Compact { .. }
            | Step::Data { .. } => {}
        }
    }
}
