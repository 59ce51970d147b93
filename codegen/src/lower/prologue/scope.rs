//! Scopes of the prologue: loops, alternatives and branches. What is loaded in one is not known after it; what
//! it binds leaves it as parameters of the block after it.

use crate::declaration::ParamType;
use crate::ir::{Block, Hint, Type, Value};
use crate::lower::prologue::wrapper::{SymbolState, ValueState, Wrapper};
use crate::resolve::steps::{Rule, Step};
use crate::resolve::values;

/// What is known outside of a scope.
#[derive(Debug)]
pub(crate) struct Outside {
    values: Vec<ValueState>,
    present: Vec<Option<Value>>,
    symbols: Vec<SymbolState>,
    known_sign: Vec<bool>,
    /// Where a failing check goes there.
    pub(crate) fail: Block,
}

impl<'a> Wrapper<'a, '_> {
    /// Enters a scope that is reached only where a value is there. Nothing may be left to be tested.
    pub(crate) fn enter_scope(&mut self, value: usize) -> Outside {
        let outside = Outside {
            values: self.values.clone(),
            present: self.present.clone(),
            symbols: self.symbols.clone(),
            known_sign: self.known_sign.clone(),
            fail: self.fail,
        };
        for optional in values::optionals(&self.resolved.scope.values, value) {
            self.present[optional] = None;
        }
        outside
    }

    /// Leaves a scope: nothing that was learnt in it is known any more.
    pub(crate) fn leave_scope(&mut self, outside: Outside) {
        let Outside { values, present, symbols, known_sign, fail } = outside;
        (self.values, self.present, self.symbols) = (values, present, symbols);
        (self.known_sign, self.fail) = (known_sign, fail);
    }

    /// Steps in a scope; none of their checks is left to be tested after it.
    pub(crate) fn steps_in_scope(&mut self, steps: &'a [Step<'a>]) {
        self.check_steps(steps);
        self.settle_tensors();
        self.flush();
    }

    /// What is nested directly in a value.
    pub(crate) fn children(&self, value: usize) -> Vec<usize> {
        let values = &self.resolved.scope.values;
        let is_child = |&at: &usize| values[at].source.parent() == Some(value);
        (value + 1..values.len()).filter(is_child).collect()
    }

    /// The symbols that steps may bind.
    pub(crate) fn unbound_in(&self, steps: &[Step<'_>]) -> Vec<usize> {
        let mut symbols = Vec::new();
        mentioned(steps, &mut symbols);
        symbols.retain(|&symbol| !matches!(self.symbols[symbol], SymbolState::Bound(_)));
        symbols
    }

    /// What is known here of some symbols: the value of each, and whether it is bound.
    pub(crate) fn carry(&mut self, symbols: &[usize]) -> Vec<Value> {
        let mut carried = Vec::with_capacity(2 * symbols.len());
        for &symbol in symbols {
            carried.extend(match self.symbols[symbol] {
                SymbolState::Unbound => [self.b.i64(0), self.b.constant(Type::Bool, 0)],
                SymbolState::Maybe(value, bound) => [value, bound],
                SymbolState::Bound(value) => [value, self.b.constant(Type::Bool, 1)],
            });
        }
        carried
    }

    /// Parameters of a block, which take what was [carried](Self::carry) to it.
    pub(crate) fn carried_to(&mut self, block: Block, symbols: &[usize]) -> Vec<SymbolState> {
        let mut states = Vec::with_capacity(symbols.len());
        for &symbol in symbols {
            let name = Some(self.b.name(self.resolved.scope.symbols[symbol].name));
            let value = Hint { name, part: "", index: None };
            let value = self.b.block_param(block, Type::I64, value);
            let bound = Hint { name, part: "is_bound", index: None };
            let bound = self.b.block_param(block, Type::Bool, bound);
            states.push(SymbolState::Maybe(value, bound));
        }
        states
    }

    /// Symbols are from now on what they are in these states.
    pub(crate) fn set_symbols(&mut self, symbols: &[usize], states: &[SymbolState]) {
        symbols.iter().zip(states).for_each(|(&symbol, state)| self.symbols[symbol] = *state);
    }

    /// Leaves for `to` with arguments unless a condition holds.
    pub(crate) fn go_unless(&mut self, cond: Value, to: Block, args: &[Value]) {
        let (aside, next) = (self.b.block("aside"), self.b.block("next"));
        self.b.branch(cond, next, aside);
        self.b.switch_to(aside);
        self.b.jump(to, args);
        self.b.switch_to(next);
    }
}

/// The symbols of occurrences, but for those in unions, which bind none; each once.
fn mentioned(steps: &[Step<'_>], symbols: &mut Vec<usize>) {
    for step in steps {
        match step {
            Step::Occurrence {
                rule: Rule::Symbol(symbol) | Rule::Solve { symbol, .. }, ..
            } => {
                if !symbols.contains(symbol) {
                    symbols.push(*symbol);
                }
            }
            Step::Each { steps, .. } => mentioned(steps, symbols),
            Step::Occurrence { rule: Rule::Any | Rule::Equal(..), .. }
            | Step::Scalar { .. }
            | Step::Header { .. }
            | Step::Value { .. }
            | Step::Compact { .. }
            | Step::Data { .. }
            | Step::Settle { .. }
            | Step::OneOf { .. }
            | Step::Constraint(_)
            | Step::Extent(_)
            | Step::Argument(_) => {}
        }
    }
}

/// True if steps require nothing: they are about values of any type.
pub(crate) fn require_nothing(all: &[values::Value<'_>], steps: &[Step<'_>]) -> bool {
    steps
        .iter()
        .all(|step| matches!(step, Step::Value { value } if *all[*value].ty == ParamType::Any))
}

/// A path whose indices are `i` where they are known at run time only.
pub(crate) fn printable(path: &str) -> String {
    let (mut text, mut chars) = (String::with_capacity(path.len()), path.chars());
    while let Some(next) = chars.next() {
        if next == values::INDEX {
            // The depth of the loop follows.
            chars.next();
            text.push('i');
        } else {
            text.push(next);
        }
    }
    text
}
