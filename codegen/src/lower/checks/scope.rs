//! Scopes of a prologue: loops, alternatives and branches. Values that are loaded inside a scope do not dominate the
//! code after it. Symbols that the scope binds become parameters of the block after it.

use crate::declaration::{Leaf, ParamType};
use crate::ir::{Block, Hint, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::emitter::state::SymbolState;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::step::{Rule, Step};

/// Returns the symbols that steps may bind.
pub(super) fn unbound_in(c: &Checker<'_, '_>, steps: &[Step<'_>]) -> Vec<SymbolId> {
    let mut symbols = Vec::new();
    mentioned(steps, &mut symbols);
    symbols.retain(|&symbol| !matches!(c.e.known.symbol(symbol), SymbolState::Bound(..)));
    symbols
}

/// Returns the value and the origin of each symbol, as arguments of a block.
pub(super) fn carry(c: &mut Checker<'_, '_>, symbols: &[SymbolId]) -> Vec<Value> {
    symbols.iter().flat_map(|&symbol| carry_one(c, symbol)).collect()
}

/// Returns the value of a symbol, and its origin (the place that has bound it); zeros if it is unbound.
pub(super) fn carry_one(c: &mut Checker<'_, '_>, symbol: SymbolId) -> [Value; 2] {
    match c.e.known.symbol(symbol) {
        SymbolState::Unbound => [c.e.b.i64(0), c.e.b.i64(0)],
        SymbolState::Maybe(value, origin) => [value, origin],
        SymbolState::Bound(value, origin) => [value, origin.value(&mut c.e.b)],
    }
}

/// Adds parameters to a block for the values of [`carry`]. Returns the states of the symbols in the
/// block.
pub(super) fn carried_to(
    c: &mut Checker<'_, '_>,
    block: Block,
    symbols: &[SymbolId],
) -> Vec<SymbolState> {
    let of = |&symbol| {
        let [value, origin] = ["", "origin"].map(|part| carried(c, block, symbol, part));
        SymbolState::Maybe(value, origin)
    };
    symbols.iter().map(of).collect()
}

/// Adds a parameter to a block, for the value or the origin of a symbol.
pub(super) fn carried(
    c: &mut Checker<'_, '_>,
    block: Block,
    symbol: SymbolId,
    part: &'static str,
) -> Value {
    let name = c.e.function.symbols[symbol].name;
    let name = Some(c.e.b.name(name));
    c.e.b.block_param(block, Type::I64, Hint { name, part, index: None })
}

/// Sets the states of symbols.
pub(super) fn set_symbols(c: &mut Checker<'_, '_>, symbols: &[SymbolId], states: &[SymbolState]) {
    symbols.iter().zip(states).for_each(|(&symbol, state)| c.e.known.set_symbol(symbol, *state));
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
pub(super) fn require_nothing(
    all: &Table<ValueId, crate::resolve::value::Value<'_>>,
    steps: &[Step<'_>],
) -> bool {
    steps
        .iter()
        .all(|step| matches!(step, Step::Value { value } if *all[*value].ty == ParamType::Leaf(Leaf::Any)))
}
