//! Prints steps in a short form.

use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::value::INDEX;

/// Replaces run-time indices in a path: `i` for the outermost loop, `j` for the next.
pub(super) fn path(path: &str) -> String {
    ["i", "j", "k"].iter().zip('\u{1}'..).fold(path.to_owned(), |path, (index, depth)| {
        path.replace(&format!("{INDEX}{depth}"), index)
    })
}

/// Printer of the parts of a function.
pub(super) struct Printer<'f, 'a>(pub(super) &'f Function<'a>);

impl Printer<'_, '_> {
    /// Prints steps, separated by `; `.
    pub(super) fn steps(&self, steps: &[Step<'_>]) -> String {
        steps.iter().map(|step| self.step(step)).collect::<Vec<_>>().join("; ")
    }

    fn step(&self, step: &Step<'_>) -> String {
        match step {
            Step::Scalar { value, scalar } => format!("{scalar} {}", self.value(*value)),
            Step::Header { value, device: true, .. } => format!("header {}", self.value(*value)),
            Step::Header { value, device: false, .. } => {
                format!("header but device {}", self.value(*value))
            }
            Step::Value { value } => format!("value {}", self.value(*value)),
            Step::Occurrence { place, rule } => self.place(*place) + &self.rule(rule),
            Step::Folded { value } => format!("folded {}", self.value(*value)),
            Step::Compact { value } => format!("compact {}", self.value(*value)),
            Step::Data { value, align } => format!("data {} {align}", self.value(*value)),
            Step::BindCompact { symbol, place, .. } => {
                format!("bind {} by compact {}", self.symbol(*symbol), self.place(*place))
            }
            Step::Each { value, steps } => {
                format!("each {} {{ {} }}", self.value(*value), self.steps(steps))
            }
            Step::OneOf { value, types } => {
                let types: Vec<String> = types.iter().map(|steps| self.steps(steps)).collect();
                format!("one of {} {{ {} }}", self.value(*value), types.join(" | "))
            }
            Step::Require(condition) => format!("require {}", condition.quote.text),
        }
    }

    fn value(&self, value: ValueId) -> String {
        path(&self.0.values[value].path)
    }

    pub(super) fn symbol(&self, symbol: SymbolId) -> &str {
        self.0.symbols[symbol].name
    }

    pub(super) fn place(&self, place: Place) -> String {
        let value = self.value(place.value());
        match place {
            Place::Value { .. } => value,
            Place::Extent { dim, .. } => format!("{value}.shape[{dim}]"),
            Place::Stride { dim, .. } => format!("{value}.strides[{dim}]"),
            Place::Number { dim, .. } => format!("{value}[{dim}]"),
        }
    }

    fn rule(&self, rule: &Rule) -> String {
        match rule {
            Rule::Any => ": any".to_owned(),
            Rule::Symbol(symbol) => format!(": {}", self.symbol(*symbol)),
            Rule::Equal { term, text, uncertain } => {
                let text = term.constant().map_or(text.clone(), |value| value.to_string());
                let names: Vec<&str> =
                    uncertain.iter().map(|&symbol| self.symbol(symbol)).collect();
                let when = if names.is_empty() { "" } else { " if known: " };
                format!(" = {text}{when}{}", names.join(", "))
            }
            Rule::Solve { symbol, text, .. } => format!(": {} from {text}", self.symbol(*symbol)),
        }
    }
}
