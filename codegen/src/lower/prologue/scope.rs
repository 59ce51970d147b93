//! Scopes of a prologue: loops, alternatives and branches. Values that are loaded inside a scope do not dominate the
//! code after it. Symbols that the scope binds become parameters of the block after it.

use crate::declaration::{Leaf, ParamType};
use crate::ir::{Block, Hint, Type, Value};
use crate::lower::emitter::state::SymbolState;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::step::{Rule, Step};

impl<'a> Wrapper<'a, '_> {
    /// Returns the symbols that steps may bind.
    pub(crate) fn unbound_in(&self, steps: &[Step<'_>]) -> Vec<SymbolId> {
        let mut symbols = Vec::new();
        mentioned(steps, &mut symbols);
        symbols.retain(|&symbol| !matches!(self.symbols[symbol], SymbolState::Bound(..)));
        symbols
    }

    /// Returns the value and the origin of each symbol, as arguments of a block.
    pub(crate) fn carry(&mut self, symbols: &[SymbolId]) -> Vec<Value> {
        symbols.iter().flat_map(|&symbol| self.carry_one(symbol)).collect()
    }

    /// Returns the value of a symbol, and its origin (the place that has bound it); zeros if it is unbound.
    pub(crate) fn carry_one(&mut self, symbol: SymbolId) -> [Value; 2] {
        match self.symbols[symbol] {
            SymbolState::Unbound => [self.b.i64(0), self.b.i64(0)],
            SymbolState::Maybe(value, origin) => [value, origin],
            SymbolState::Bound(value, origin) => [value, self.origin(origin)],
        }
    }

    /// Adds parameters to a block for the values of [`carry`](Self::carry). Returns the states of the symbols in the
    /// block.
    pub(crate) fn carried_to(&mut self, block: Block, symbols: &[SymbolId]) -> Vec<SymbolState> {
        let of = |&symbol| {
            let [value, origin] = ["", "origin"].map(|part| self.carried(block, symbol, part));
            SymbolState::Maybe(value, origin)
        };
        symbols.iter().map(of).collect()
    }

    /// Adds a parameter to a block, for the value or the origin of a symbol.
    pub(crate) fn carried(&mut self, block: Block, symbol: SymbolId, part: &'static str) -> Value {
        let name = self.function.symbols[symbol].name;
        let name = Some(self.b.name(name));
        self.b.block_param(block, Type::I64, Hint { name, part, index: None })
    }

    /// Sets the states of symbols.
    pub(crate) fn set_symbols(&mut self, symbols: &[SymbolId], states: &[SymbolState]) {
        symbols.iter().zip(states).for_each(|(&symbol, state)| self.symbols[symbol] = *state);
    }
}

/// Collects the symbols that steps may bind, each once. Unions bind none.
fn mentioned(steps: &[Step<'_>], symbols: &mut Vec<SymbolId>) {
    for step in steps {
        if let Step::Each { steps, .. } = step {
            mentioned(steps, symbols);
        }
        if let Step::Occurrence { rule: Rule::Symbol(symbol) | Rule::Solve { symbol, .. }, .. } =
            step
            && !symbols.contains(symbol)
        {
            symbols.push(*symbol);
        }
    }
}

/// Returns true if steps check nothing, because all their values are of type `Any`.
pub(crate) fn require_nothing(
    all: &Table<ValueId, crate::resolve::value::Value<'_>>,
    steps: &[Step<'_>],
) -> bool {
    steps
        .iter()
        .all(|step| matches!(step, Step::Value { value } if *all[*value].ty == ParamType::Leaf(Leaf::Any)))
}
