//! Facts about optional values at a point of a function: which of them are known to be there, so that the symbols that
//! they determine, and the devices of tensors, may be used.

use super::Explained;
use super::ids::{Home, SymbolId, ValueId};
use super::knowledge::{Knowledge, Known};
use super::names::Names;
use super::operator::Unary;
use super::term::{Node, Property, Term};
use super::value::optionals;
use crate::declaration::Logic;
use crate::declaration::limit::Limit;

/// Optional values of which at least one is there, in ascending order.
type Fact = Vec<ValueId>;

/// Largest number of facts at a point: one for each value of a function. Further ones are forgotten, which is sound and
/// bounds the work for hostile conditions, as [`COMBINED`] does.
const MOST: usize = Limit::Values.max();

/// Largest number of facts of each of two sides that are combined, and of values in a fact.
const COMBINED: usize = 64;

/// Facts that hold at a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts(Vec<Fact>);

/// Facts that follow from the result of a condition.
#[derive(Debug, Default)]
pub(super) struct Consequences {
    /// Facts if the condition holds.
    pub(super) holds: Facts,
    /// Facts if the condition does not hold.
    pub(super) fails: Facts,
}

impl Facts {
    /// Returns the fact that an optional value is there.
    pub(super) fn there(value: ValueId) -> Facts {
        Facts(vec![vec![value]])
    }

    /// Returns the number of facts, for [`split_off`](Self::split_off).
    pub(super) fn mark(&self) -> usize {
        self.0.len()
    }

    /// Removes and returns the facts since a mark.
    pub(super) fn split_off(&mut self, mark: usize) -> Facts {
        Facts(self.0.split_off(mark))
    }

    /// Adds facts.
    pub(super) fn extend(&mut self, others: Facts) {
        for fact in others.0 {
            if self.0.len() < MOST && !self.0.contains(&fact) {
                self.0.push(fact);
            }
        }
    }

    /// Returns the facts that hold where those of one of two sides hold.
    pub(super) fn either(&self, other: &Facts) -> Facts {
        let mut all = Facts::default();
        for one in self.0.iter().take(COMBINED) {
            for another in other.0.iter().take(COMBINED) {
                let mut both = [&one[..], another].concat();
                both.sort_unstable();
                both.dedup();
                if both.len() <= COMBINED {
                    all.extend(Facts(vec![both]));
                }
            }
        }
        all
    }

    /// Returns true if a symbol in this state is bound where the facts hold.
    pub(super) fn bind(&self, names: &Names<'_>, known: &Known) -> bool {
        let Known::Within { values, .. } = known else { return *known == Known::Always };
        self.imply(names, values)
    }

    /// Returns true if a value is there where the facts hold.
    pub(super) fn show(&self, names: &Names<'_>, value: ValueId) -> bool {
        names.values[value].guard.is_none_or(|guard| self.imply(names, &[guard]))
    }

    /// Returns true if one of these optional values is there where the facts hold.
    fn imply(&self, names: &Names<'_>, values: &[ValueId]) -> bool {
        let implies =
            |there: &ValueId| optionals(&names.values, *there).any(|outer| values.contains(&outer));
        self.0.iter().any(|fact| fact.iter().all(implies))
    }
}

/// Knowledge at a point of a function.
#[derive(Clone, Copy)]
pub(super) struct Point<'k> {
    pub(super) knowledge: &'k Knowledge,
    pub(super) facts: &'k Facts,
}

impl Point<'_> {
    /// Checks that every symbol of a term is bound wherever the term needs it. Returns what follows from the term if it
    /// is a condition.
    pub(super) fn check(self, names: &Names<'_>, term: &Term) -> Explained<Consequences> {
        let Point { knowledge, facts } = self;
        PresenceWalk { names, knowledge, outer: facts, inner: Facts::default() }.term(term)
    }
}

/// Walk over a term.
struct PresenceWalk<'c, 'a> {
    names: &'c Names<'a>,
    knowledge: &'c Knowledge,
    /// Facts where the term stands.
    outer: &'c Facts,
    /// Facts that follow from the operands to the left.
    inner: Facts,
}

impl PresenceWalk<'_, '_> {
    fn term(&mut self, term: &Term) -> Explained<Consequences> {
        if let Node::Logic(op, operands) = &term.node {
            return self.logic(*op, operands);
        }
        if let Node::Unary(Unary::Not, operand) = &term.node {
            let Consequences { holds, fails } = self.term(operand)?;
            return Ok(Consequences { holds: fails, fails: holds });
        }
        let mut found = Consequences::default();
        if let Node::Property(value, Property::IsSome) = term.node {
            found.holds = Facts::there(value);
        } else if let Node::Symbol(symbol) = term.node {
            self.symbol(symbol)?;
        } else if let Node::DeviceAttribute { home: Home::Value(tensor), .. } = term.node {
            self.tensor(tensor)?;
        }
        term.operands().iter().try_for_each(|operand| self.term(operand).map(drop))?;
        Ok(found)
    }

    /// Checks a logical operation. Its second operand is evaluated only if the first does not decide.
    fn logic(&mut self, op: Logic, [first, second]: &[Term; 2]) -> Explained<Consequences> {
        let first = self.term(first)?;
        let (decided, goes_on) = match op {
            Logic::And => (first.fails, first.holds),
            Logic::Or => (first.holds, first.fails),
        };
        let mark = self.inner.mark();
        self.inner.extend(goes_on.clone());
        let second = self.term(second)?;
        self.inner.split_off(mark);
        let mut both = goes_on;
        Ok(match op {
            Logic::And => {
                both.extend(second.holds);
                Consequences { holds: both, fails: decided.either(&second.fails) }
            }
            Logic::Or => {
                both.extend(second.fails);
                Consequences { holds: decided.either(&second.holds), fails: both }
            }
        })
    }

    fn symbol(&self, symbol: SymbolId) -> Explained<()> {
        let known = &self.knowledge[symbol];
        let is_bound = |facts: &Facts| facts.bind(self.names, known);
        if is_bound(self.outer) || is_bound(&self.inner) {
            return Ok(());
        }
        Err(undetermined(self.names, symbol, known))
    }

    /// Checks that a tensor is there whose device is asked for an attribute.
    fn tensor(&self, tensor: ValueId) -> Explained<()> {
        let shows = |facts: &Facts| facts.show(self.names, tensor);
        if shows(self.outer) || shows(&self.inner) {
            return Ok(());
        }
        Err(absent(&self.names.values[tensor].path))
    }
}

/// Returns the reason why an optional value cannot be used.
pub(super) fn absent(path: &str) -> String {
    format!("`{path}` may not be there")
}

/// Returns the reason why a symbol in this state cannot be used.
pub(super) fn undetermined(names: &Names<'_>, symbol: SymbolId, known: &Known) -> String {
    let name = names.symbols[symbol].name;
    let (param, values) = match known {
        Known::Within { param, values } => (param, values),
        Known::Arms => {
            return format!(
                "the symbol `{name}` is known only in arms of `match` whose types have it"
            );
        }
        Known::Unknown | Known::Maybe | Known::Always => {
            return format!("nothing determines the symbol `{name}`");
        }
    };
    let paths: Vec<String> =
        values.iter().map(|&value| format!("`{}`", names.values[value].path)).collect();
    match &paths[..] {
        [] => {
            let of = names.name_of(*param);
            format!("nothing determines the symbol `{name}` where `{of}` does not")
        }
        [path] => {
            format!("only {path} determines the symbol `{name}`, and it is not known to be there")
        }
        [others @ .., last] => {
            let others = others.join(", ");
            format!(
                "only {others} and {last} determine the symbol `{name}`, and none of them is known to be there"
            )
        }
    }
}
