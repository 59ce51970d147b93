//! Scopes of the prologue: loops, alternatives and branches. What is loaded in one is not known after it; what
//! it binds leaves it as parameters of the block after it.

use crate::declaration::{Leaf, ParamType};
use crate::ir::{Block, Hint, Type, Value};
use crate::lower::emitter::state::SymbolState;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::step::{Rule, Step};

impl<'a> Wrapper<'a, '_> {
    /// The symbols that steps may bind.
    pub(crate) fn unbound_in(&self, steps: &[Step<'_>]) -> Vec<SymbolId> {
        let mut symbols = Vec::new();
        mentioned(steps, &mut symbols);
        symbols.retain(|&symbol| !matches!(self.symbols[symbol], SymbolState::Bound(..)));
        symbols
    }

    /// What is known here of some symbols: the value of each, and the place that has bound it.
    pub(crate) fn carry(&mut self, symbols: &[SymbolId]) -> Vec<Value> {
        symbols.iter().flat_map(|&symbol| self.carry_one(symbol)).collect()
    }

    /// The value of a symbol here, and the place that has bound it; zeros for what is unknown.
    pub(crate) fn carry_one(&mut self, symbol: SymbolId) -> [Value; 2] {
        match self.symbols[symbol] {
            SymbolState::Unbound => [self.b.i64(0), self.b.i64(0)],
            SymbolState::Maybe(value, origin) => [value, origin],
            SymbolState::Bound(value, origin) => [value, self.origin(origin)],
        }
    }

    /// Parameters of a block, which take what was [carried](Self::carry) to it.
    pub(crate) fn carried_to(&mut self, block: Block, symbols: &[SymbolId]) -> Vec<SymbolState> {
        let of = |&symbol| {
            let [value, origin] = ["", "origin"].map(|part| self.carried(block, symbol, part));
            SymbolState::Maybe(value, origin)
        };
        symbols.iter().map(of).collect()
    }

    /// A parameter of a block for a part of a symbol.
    pub(crate) fn carried(&mut self, block: Block, symbol: SymbolId, part: &'static str) -> Value {
        let name = self.function.symbols[symbol].name;
        let name = Some(self.b.name(name));
        self.b.block_param(block, Type::I64, Hint { name, part, index: None })
    }

    /// Symbols are from now on what they are in these states.
    pub(crate) fn set_symbols(&mut self, symbols: &[SymbolId], states: &[SymbolState]) {
        symbols.iter().zip(states).for_each(|(&symbol, state)| self.symbols[symbol] = *state);
    }
}

/// The symbols of occurrences, but for those in unions, which bind none; each once.
fn mentioned(steps: &[Step<'_>], symbols: &mut Vec<SymbolId>) {
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
            Step::Occurrence { rule: Rule::Any | Rule::Equal { .. }, .. }
            | Step::Scalar { .. }
            | Step::Header { .. }
            | Step::Value { .. }
            | Step::Compact { .. }
            | Step::Data { .. }
            | Step::BindCompact { .. }
            | Step::OneOf { .. }
            | Step::Require(_) => {}
        }
    }
}

/// True if steps require nothing: they are about values of any type.
pub(crate) fn require_nothing(
    all: &Table<ValueId, crate::resolve::value::Value<'_>>,
    steps: &[Step<'_>],
) -> bool {
    steps
        .iter()
        .all(|step| matches!(step, Step::Value { value } if *all[*value].ty == ParamType::Leaf(Leaf::Any)))
}
