//! Prints steps.

use super::lines::Lines;
use super::{Printer, path};
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::value::Value;

impl Place {
    /// Returns the place as an expression names it.
    pub(crate) fn spelled(self, values: &Table<ValueId, Value<'_>>) -> String {
        let value = path(&values[self.value()].path);
        match self {
            Place::Value { .. } => value,
            Place::Extent { dim, .. } => format!("{value}.shape[{dim}]"),
            Place::Stride { dim, .. } => format!("{value}.strides[{dim}]"),
            Place::Number { dim, .. } => format!("{value}[{dim}]"),
        }
    }
}

impl Printer<'_, '_> {
    pub(super) fn steps(&self, lines: &mut Lines, steps: &[Step<'_>]) {
        for step in steps {
            lines.about(self.topic(step.topic()), |lines| {
                lines.nested(self.step(step), |lines| self.inner_steps(lines, step));
            });
        }
    }

    /// Prints the steps in a step.
    fn inner_steps(&self, lines: &mut Lines, step: &Step<'_>) {
        if let Step::Each { steps, .. } = step {
            self.steps(lines, steps);
        } else if let Step::OneOf { value, types } = step {
            let alternatives = &self.0.values[*value].children;
            for (steps, id) in types.iter().zip(alternatives) {
                let ty = &self.0.values[*id].ty;
                lines.nested(format!("type {ty}"), |lines| self.steps(lines, steps));
            }
        }
    }

    /// Returns a step in one line, without the steps in it.
    pub(in crate::resolve) fn step(&self, step: &Step<'_>) -> String {
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
            Step::Data { value, align } => format!("data {} align {align}", self.value(*value)),
            Step::BindCompact { symbol, place, .. } => {
                format!("bind {} by compact {}", self.symbol(*symbol), self.place(*place))
            }
            Step::Each { value, .. } => format!("each {}", self.value(*value)),
            Step::OneOf { value, .. } => format!("one of {}", self.value(*value)),
            Step::Require(condition) => format!("require {}", self.term(&condition.test)),
        }
    }

    pub(in crate::resolve) fn place(&self, place: Place) -> String {
        place.spelled(&self.0.values)
    }

    fn rule(&self, rule: &Rule) -> String {
        match rule {
            Rule::Any => ": any".to_owned(),
            Rule::Symbol(symbol) => format!(": {}", self.symbol(*symbol)),
            Rule::Equal { term, uncertain, .. } => {
                let names: Vec<String> =
                    uncertain.iter().map(|&symbol| self.symbol(symbol)).collect();
                let when = if names.is_empty() { "" } else { " if known: " };
                format!(" = {}{when}{}", self.term(term), names.join(", "))
            }
            Rule::Solve { symbol, linear, .. } => {
                format!(": {} from {}", self.symbol(*symbol), self.term(&linear.term))
            }
        }
    }
}
