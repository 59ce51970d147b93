//! Facts about the code so far: the values that it has loaded, the symbols that it has bound, the names that it has
//! given.
//!
//! A fact holds in the code that its block dominates. Code that does not dominate what follows runs in a scope of its
//! own and between [`mark`](Known::mark) and [`go_back`](Known::go_back), so that nothing of it is used afterwards.

use crate::ir::Value;
use crate::lower::emitter::state::{OutputState, Scope, SymbolState, TensorState, ValueState};
use crate::lower::scoped::{Mark, Scoped};
use crate::resolve::function::Function;
use crate::resolve::ids::{LocalId, MapId, OutputId, SymbolId, Table, ValueId};
use crate::resolve::range::Range;

/// Facts about the values, symbols and names of a function.
#[derive(Debug)]
pub(crate) struct Known {
    /// The loaded parts of each value.
    values: Scoped<ValueId, ValueState>,
    /// The optional value next to each value, outwards: the value itself or one that contains it.
    guards: Table<ValueId, Option<ValueId>>,
    /// For each optional value a `Bool`: true if the value and all values that contain it are present.
    present: Scoped<ValueId, Option<Value>>,
    /// The state of each symbol.
    symbols: Scoped<SymbolId, SymbolState>,
    /// True for each symbol that is known not to be negative, because a checked extent equals it.
    naturals: Scoped<SymbolId, bool>,
    /// The numbers that each symbol may be, as far as its declared type and the conditions so far tell.
    bounds: Scoped<SymbolId, Range>,
    /// The names of the body.
    locals: Locals,
    /// The address of each value that has none among the arguments: the current element of a loop, the alternative of a
    /// union, the result of a call.
    addresses: Table<ValueId, Option<Value>>,
    /// For each union that a `match` is about the number of the type that fits, an `I32`; the number of types for
    /// None.
    chosen: Table<ValueId, Option<Value>>,
    /// The scope of the current block.
    scope: Scope,
    /// The number of scopes so far.
    scopes: u32,
    /// The scope in which each value was loaded. Parts of a value that are loaded in another scope are not remembered.
    born: Table<ValueId, Scope>,
}

/// Returns what code uses. The order of steps and statements, which `resolve` has checked, makes it known before.
///
/// # Panics
/// If it is not known.
pub(crate) fn before_use(known: Option<Value>) -> Value {
    known.unwrap_or_else(|| unreachable!("a value is used before it is known"))
}

/// The names that a body gives, and the tensors that it allocates.
#[derive(Clone, Debug)]
pub(crate) struct Locals {
    /// The value of each local.
    pub(crate) values: Table<LocalId, Option<Value>>,
    /// The numbers that each local may be.
    pub(crate) ranges: Table<LocalId, Option<Range>>,
    /// The address of each named tensor map.
    pub(crate) maps: Table<MapId, Option<Value>>,
    /// The state of each tensor that the function allocates.
    pub(crate) outputs: Table<OutputId, Option<OutputState>>,
}

/// A point of the emitted code. The facts can be restored to those that hold at it.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    values: Mark,
    present: Mark,
    symbols: Mark,
    naturals: Mark,
    bounds: Mark,
}

impl Known {
    /// Knows nothing about a function.
    pub(super) fn nothing(function: &Function<'_>) -> Known {
        let (values, symbols) = (&function.values, &function.symbols);
        Known {
            values: Scoped::like(values, ValueState::Pending),
            guards: values.values().map(|value| value.guard).collect(),
            present: Scoped::like(values, None),
            symbols: Scoped::like(symbols, SymbolState::Unbound),
            naturals: Scoped::like(symbols, false),
            bounds: Scoped::like(symbols, Range::INT64),
            locals: Locals {
                values: Table::like(&function.locals, None),
                ranges: Table::like(&function.locals, None),
                maps: Table::like(&function.maps, None),
                outputs: Table::like(&function.outputs, None),
            },
            addresses: Table::like(values, None),
            chosen: Table::like(values, None),
            scope: Scope::OUTER,
            scopes: 0,
            born: Table::like(values, Scope::OUTER),
        }
    }
}

/// Values.
impl Known {
    /// Returns the loaded parts of a value.
    pub(crate) fn value(&self, value: ValueId) -> &ValueState {
        &self.values[value]
    }

    /// Returns the loaded parts of a tensor.
    pub(crate) fn tensor(&mut self, value: ValueId) -> &mut TensorState {
        self.values[value].tensor()
    }

    /// Sets the parts of a value that the current block has loaded.
    pub(crate) fn load(&mut self, value: ValueId, state: ValueState) {
        self.values[value] = state;
        self.born[value] = self.scope;
    }

    /// Replaces the loaded parts of a value, which stays loaded where it was.
    pub(crate) fn replace(&mut self, value: ValueId, state: ValueState) {
        self.values[value] = state;
    }

    /// Returns true if parts of a value that are loaded here dominate all later uses of the value.
    pub(crate) fn dominates_uses(&self, value: ValueId) -> bool {
        self.born[value] == self.scope
    }

    /// Updates the state of a tensor if it was loaded in the current scope.
    pub(crate) fn remember(&mut self, value: ValueId, note: impl FnOnce(&mut TensorState)) {
        if self.dominates_uses(value) {
            note(self.tensor(value));
        }
    }

    /// Returns the address of a value that has none among the arguments, if it is known.
    pub(crate) fn address(&self, value: ValueId) -> Option<Value> {
        self.addresses[value]
    }

    /// Sets or forgets the address of a value that has none among the arguments.
    pub(crate) fn set_address(&mut self, value: ValueId, address: Option<Value>) {
        self.addresses[value] = address;
    }

    /// Returns the number of the type of a union that fits, an `I32`; `None` unless a `match` is about it.
    pub(crate) fn chosen(&self, value: ValueId) -> Option<Value> {
        self.chosen[value]
    }

    /// Sets the number of the type of a union that fits.
    pub(crate) fn choose(&mut self, value: ValueId, number: Value) {
        self.chosen[value] = Some(number);
    }
}

/// Presence of optional values.
impl Known {
    /// Returns a `Bool`: true if a value is present. Returns `None` if it always is.
    pub(crate) fn mask(&self, value: ValueId) -> Option<Value> {
        self.guards[value].and_then(|optional| self.present[optional])
    }

    /// Sets whether an optional value and all values that contain it are present.
    pub(super) fn set_presence(&mut self, value: ValueId, present: Value) {
        self.present[value] = Some(present);
    }

    /// Notes that optional values are present in the code up to the next [`go_back`](Self::go_back).
    pub(super) fn assume_present(&mut self, optionals: impl IntoIterator<Item = ValueId>) {
        for optional in optionals {
            self.present[optional] = None;
        }
    }
}

/// Symbols and names.
impl Known {
    /// Returns the state of a symbol.
    pub(crate) fn symbol(&self, symbol: SymbolId) -> SymbolState {
        self.symbols[symbol]
    }

    /// Sets the state of a symbol.
    pub(crate) fn set_symbol(&mut self, symbol: SymbolId, state: SymbolState) {
        self.symbols[symbol] = state;
    }

    /// Returns true if a symbol is known not to be negative.
    pub(crate) fn is_natural(&self, symbol: SymbolId) -> bool {
        self.naturals[symbol]
    }

    /// Sets whether a symbol is known not to be negative.
    pub(crate) fn set_natural(&mut self, symbol: SymbolId, is_natural: bool) {
        self.naturals[symbol] = is_natural;
    }

    /// Returns a range that has every number that a symbol may be.
    pub(crate) fn bounds(&self, symbol: SymbolId) -> Range {
        self.bounds[symbol]
    }

    /// Restricts the numbers that a symbol may be.
    pub(crate) fn restrict(&mut self, symbol: SymbolId, range: Range) {
        self.bounds[symbol] = self.bounds[symbol].and(range);
    }

    /// Returns the names of the body.
    pub(crate) fn locals(&self) -> &Locals {
        &self.locals
    }

    /// Returns the names of the body, to change them.
    pub(crate) fn locals_mut(&mut self) -> &mut Locals {
        &mut self.locals
    }

    /// Returns the value of a local.
    pub(crate) fn local(&self, local: LocalId) -> Value {
        before_use(self.locals.values[local])
    }

    /// Returns the address of a named map.
    pub(crate) fn map(&self, map: MapId) -> Value {
        before_use(self.locals.maps[map])
    }
}

/// Scopes.
impl Known {
    /// Returns true in the scope of the arguments and of the outermost statements.
    pub(crate) fn is_outermost(&self) -> bool {
        self.scope == Scope::OUTER
    }

    /// Starts a scope and returns the one before it. Parts of values that are loaded in the new scope are remembered
    /// until the scope changes.
    pub(crate) fn open_scope(&mut self) -> Scope {
        self.scopes += 1;
        std::mem::replace(&mut self.scope, Scope(self.scopes))
    }

    /// Ends a scope. `outer` is the scope before it.
    pub(crate) fn close_scope(&mut self, outer: Scope) {
        self.scope = outer;
    }

    /// Marks the current point.
    pub(crate) fn mark(&mut self) -> Checkpoint {
        Checkpoint {
            values: self.values.mark(),
            present: self.present.mark(),
            symbols: self.symbols.mark(),
            naturals: self.naturals.mark(),
            bounds: self.bounds.mark(),
        }
    }

    /// Restores the facts of a marked point.
    pub(crate) fn go_back(&mut self, known: Checkpoint) {
        let Checkpoint { values, present, symbols, naturals, bounds } = known;
        self.values.go_back(values);
        self.present.go_back(present);
        self.symbols.go_back(symbols);
        self.naturals.go_back(naturals);
        self.bounds.go_back(bounds);
    }
}
