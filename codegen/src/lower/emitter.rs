//! The emitter of one function: its code so far, the values that the code has loaded, and the contents of its frame.
//! Methods of the emitter emit neither checks nor exits.

pub(crate) mod frame;
mod output;
mod presence;
pub(crate) mod state;
mod tensor;
pub(crate) mod value;
mod view;

use abi_spec::Scalar;

use crate::declaration::ParamType;
use crate::ir::{Builder, Hint, Linkage, Value};
use crate::lower::routines::Routine;
use crate::lower::scoped::{Mark, Scoped};
use crate::resolve::function::Function;
use crate::resolve::ids::{LocalId, LookUpId, MapId, OutputId, SymbolId, Table, ValueId};
use crate::resolve::range::Range;

use frame::Frame;
use state::{OutputState, Scope, SymbolState, TensorState, ValueState};

/// A function under construction.
pub(crate) struct Emitter<'a, 'm> {
    pub(crate) b: Builder<'m>,
    /// The resolved declaration.
    pub(crate) function: &'a Function<'a>,
    /// The linkage of routines.
    linkage: Linkage,
    /// The interned name of each value, for name hints.
    names: Table<ValueId, u32>,
    /// The address of the arguments, defaults included.
    pub(crate) args: Value,
    /// The number of arguments, defaults included; `None` if it is the same in every call.
    num_args: Option<Value>,
    /// The loaded parts of each value.
    pub(crate) values: Scoped<ValueId, ValueState>,
    /// For each optional value a `Bool`: true if the value and all values that contain it are present.
    pub(crate) present: Scoped<ValueId, Option<Value>>,
    /// The state of each symbol.
    pub(crate) symbols: Scoped<SymbolId, SymbolState>,
    /// True for each symbol that is known not to be negative, because a checked extent equals it.
    pub(crate) known_sign: Scoped<SymbolId, bool>,
    /// The numbers that each symbol may be, as far as its declared type and the conditions so far tell.
    pub(crate) bounds: Scoped<SymbolId, Range>,
    /// The state of each tensor that the function allocates.
    pub(crate) outputs: Table<OutputId, Option<OutputState>>,
    /// The value of each local of the body.
    pub(crate) locals: Table<LocalId, Option<Value>>,
    /// The numbers that each local may be.
    pub(crate) ranges_of_locals: Table<LocalId, Option<Range>>,
    /// The address of each named tensor map.
    pub(crate) maps: Table<MapId, Option<Value>>,
    /// The address of each value that has none among the arguments: the current element of a loop, the alternative of a
    /// union, the result of a call.
    pub(crate) addresses: Table<ValueId, Option<Value>>,
    /// The area of the frame with the [view] of each tensor of which leading dims are folded.
    areas: Table<ValueId, Option<Value>>,
    /// For each union that a `match` is about the number of the type that fits, an `I32`; the number of types for
    /// None.
    pub(crate) chosen: Table<ValueId, Option<Value>>,
    /// For each element that the frame holds a reference to, the address of the reference, which is None before.
    pub(crate) held_elements: Table<LookUpId, Option<Value>>,
    /// The address of the elements of what a closure holds.
    pub(crate) held: Option<Value>,
    /// The symbol of the function, of which those of closures are made.
    pub(crate) symbol: String,
    /// The optional tensor that is present in the current branch.
    pub(crate) branched: Option<ValueId>,
    /// The scope of the current block.
    pub(crate) scope: Scope,
    /// The number of scopes so far.
    scopes: u32,
    /// The scope in which each value was loaded. Parts of a value that are loaded in another scope are not remembered.
    born: Table<ValueId, Scope>,
    /// The owned values, and the slots of the stack frame.
    pub(crate) frame: Frame,
}

/// A point of the emitted code. The tables of known values can be restored to their state at it.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    values: Mark,
    present: Mark,
    symbols: Mark,
    known_sign: Mark,
    bounds: Mark,
}

impl<'a, 'm> Emitter<'a, 'm> {
    /// Creates an emitter that has loaded nothing.
    pub(crate) fn new(
        mut b: Builder<'m>,
        function: &'a Function<'a>,
        (args, num_args): (Value, Option<Value>),
        linkage: Linkage,
        symbol: String,
    ) -> Self {
        let values = &function.values;
        let paths = values.values().map(|value| printable(&value.path));
        let names = paths.map(|path| b.name(path)).collect();
        Emitter {
            b,
            function,
            linkage,
            names,
            args,
            num_args,
            values: Scoped::like(values, ValueState::Pending),
            present: Scoped::like(values, None),
            symbols: Scoped::like(&function.symbols, SymbolState::Unbound),
            known_sign: Scoped::like(&function.symbols, false),
            bounds: Scoped::like(&function.symbols, Range::INT64),
            outputs: Table::like(&function.outputs, None),
            locals: Table::like(&function.locals, None),
            ranges_of_locals: Table::like(&function.locals, None),
            maps: Table::like(&function.maps, None),
            addresses: Table::like(values, None),
            areas: Table::like(values, None),
            chosen: Table::like(values, None),
            held_elements: Table::like(&function.look_ups, None),
            held: None,
            symbol,
            branched: None,
            scope: Scope::OUTER,
            scopes: 0,
            born: Table::like(values, Scope::OUTER),
            frame: Frame::new(),
        }
    }
}

impl Emitter<'_, '_> {
    /// Calls a routine.
    pub(crate) fn routine(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call(symbol, args)
    }

    /// Calls a routine that has a result.
    pub(crate) fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call_value(symbol, args)
    }

    /// Returns a name hint for a part of a value.
    pub(crate) fn hint(&self, value: ValueId, part: &'static str, index: Option<usize>) -> Hint {
        let index = index.map(|index| index as u32);
        Hint { name: Some(self.names[value]), part, index }
    }

    /// Starts the group of a value's checks.
    pub(crate) fn group(&mut self, value: ValueId) {
        self.b.group(self.names[value]);
    }

    /// Returns true if a value is a scalar that never arrives as an object: any but `uint64` and `ptr`.
    pub(crate) fn is_plain(&self, value: ValueId) -> bool {
        matches!(self.function.values[value].ty, ParamType::Scalar(scalar)
            if !matches!(scalar, Scalar::Uint64 | Scalar::Ptr))
    }

    /// Sets the loaded parts of a value.
    pub(crate) fn set_state(&mut self, value: ValueId, state: ValueState) {
        self.values[value] = state;
        self.born[value] = self.scope;
    }

    /// Returns true if parts of a value that are loaded here dominate all later uses of the value.
    pub(crate) fn dominates_uses(&self, value: ValueId) -> bool {
        self.born[value] == self.scope
    }

    /// Updates the state of a tensor if it was loaded in the current scope.
    pub(crate) fn remember(&mut self, value: ValueId, note: impl FnOnce(&mut TensorState)) {
        if self.dominates_uses(value) {
            note(self.tensor_state(value));
        }
    }

    /// Starts a scope and returns the one before it. Parts of values that are loaded in the new scope are remembered
    /// until the scope changes.
    pub(crate) fn open_scope(&mut self) -> Scope {
        self.scopes += 1;
        std::mem::replace(&mut self.scope, Scope(self.scopes))
    }

    /// Marks the current point.
    pub(crate) fn mark(&mut self) -> Checkpoint {
        Checkpoint {
            values: self.values.mark(),
            present: self.present.mark(),
            symbols: self.symbols.mark(),
            known_sign: self.known_sign.mark(),
            bounds: self.bounds.mark(),
        }
    }

    /// Restores the tables to their state at a marked point.
    pub(crate) fn go_back(&mut self, known: Checkpoint) {
        let Checkpoint { values, present, symbols, known_sign, bounds } = known;
        self.values.go_back(values);
        self.present.go_back(present);
        self.symbols.go_back(symbols);
        self.known_sign.go_back(known_sign);
        self.bounds.go_back(bounds);
    }

    /// Returns the value of a symbol that an occurrence has bound.
    pub(crate) fn known(&self, symbol: SymbolId) -> Option<Value> {
        match self.symbols[symbol] {
            SymbolState::Bound(value, _) | SymbolState::Maybe(value, _) => Some(value),
            SymbolState::Unbound => None,
        }
    }

    /// Returns the value of a symbol, bound by an occurrence or by the body.
    pub(crate) fn symbol(&self, symbol: SymbolId) -> Value {
        let named = || self.function.symbols[symbol].local.map(|local| self.local(local));
        let known = self.known(symbol).or_else(named);
        known.unwrap_or_else(|| unreachable!("symbols are bound before they are used"))
    }

    /// Returns the value of a local.
    pub(crate) fn local(&self, local: LocalId) -> Value {
        let known = self.locals[local];
        known.unwrap_or_else(|| unreachable!("names are given before they are used"))
    }
}

/// Makes a path a name of host IR: drops backticks and writes `i` for loop indices.
fn printable(path: &str) -> String {
    let (mut text, mut chars) = (String::with_capacity(path.len()), path.chars());
    while let Some(next) = chars.next() {
        if next == crate::resolve::value::INDEX {
            // The depth of the loop follows.
            chars.next();
            text.push('i');
        } else if next != '`' {
            text.push(next);
        }
    }
    text
}
