//! The emitter of one function: its code so far, what is known of its values, and what its frame holds. Nothing here
//! checks anything, and nothing that it emits fails.

pub(crate) mod frame;
mod output;
mod presence;
pub(crate) mod state;
mod tensor;
mod value;

use abi_spec::Scalar;

use crate::declaration::ParamType;
use crate::ir::{Builder, Hint, Linkage, Value};
use crate::lower::routines::Routine;
use crate::lower::scoped::{Mark, Scoped};
use crate::resolve::function::Function;
use crate::resolve::ids::{LocalId, OutputId, SymbolId, Table, ValueId};

use frame::Frame;
use state::{OutputState, Scope, SymbolState, TensorState, ValueState};

/// A function while it is written.
pub(crate) struct Emitter<'a, 'm> {
    pub(crate) b: Builder<'m>,
    /// What is declared.
    pub(crate) function: &'a Function<'a>,
    /// Linkage of the shared routines.
    linkage: Linkage,
    /// The name hint of each value.
    names: Table<ValueId, u32>,
    /// The arguments, those that were left out filled in.
    pub(crate) args: Value,
    /// The number of arguments; `None` for the number that is declared.
    num_args: Option<Value>,
    /// What has been loaded of each value.
    pub(crate) values: Scoped<ValueId, ValueState>,
    /// For each optional value a `Bool`: it is there, and so is what contains it.
    pub(crate) present: Scoped<ValueId, Option<Value>>,
    /// The value of each symbol.
    pub(crate) symbols: Scoped<SymbolId, SymbolState>,
    /// Which symbols are known not to be negative, since an extent equal to them is not.
    pub(crate) known_sign: Scoped<SymbolId, bool>,
    /// The tensors that are allocated.
    pub(crate) outputs: Table<OutputId, Option<OutputState>>,
    /// What the body has computed.
    pub(crate) locals: Table<LocalId, Option<Value>>,
    /// Where the value is that a loop or a union is at: the address of each that is in one now.
    pub(crate) addresses: Table<ValueId, Option<Value>>,
    /// The optional tensor that is known to be there, in the branch of its checks.
    pub(crate) branched: Option<ValueId>,
    /// The scope that the code is in, and how many there have been.
    pub(crate) scope: Scope,
    scopes: u32,
    /// The scope in which each value was loaded: what is learnt of it elsewhere is not known after that.
    born: Table<ValueId, Scope>,
    /// What is owned, and how the function is left.
    pub(crate) frame: Frame,
}

/// What is known at a point, to go back to.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    values: Mark,
    present: Mark,
    symbols: Mark,
    known_sign: Mark,
}

impl<'a, 'm> Emitter<'a, 'm> {
    /// One that knows the arguments, and nothing of them.
    pub(crate) fn new(
        mut b: Builder<'m>,
        function: &'a Function<'a>,
        (args, num_args): (Value, Option<Value>),
        linkage: Linkage,
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
            outputs: Table::like(&function.outputs, None),
            locals: Table::like(&function.locals, None),
            addresses: Table::like(values, None),
            branched: None,
            scope: Scope::OUTER,
            scopes: 0,
            born: Table::like(values, Scope::OUTER),
            frame: Frame::new(),
        }
    }
}

impl Emitter<'_, '_> {
    /// Calls a shared routine.
    pub(crate) fn routine(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call(symbol, args)
    }

    /// Calls a shared routine that has a result.
    pub(crate) fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call_value(symbol, args)
    }

    /// A name hint below a value.
    pub(crate) fn hint(&self, value: ValueId, part: &'static str, index: Option<usize>) -> Hint {
        let index = index.map(|index| index as u32);
        Hint { name: Some(self.names[value]), part, index }
    }

    /// True for values that are never objects.
    pub(crate) fn is_plain(&self, value: ValueId) -> bool {
        matches!(self.function.values[value].ty, ParamType::Scalar(scalar)
            if !matches!(scalar, Scalar::Uint64 | Scalar::Ptr))
    }

    /// Notes what has been loaded of a value.
    pub(crate) fn set_state(&mut self, value: ValueId, state: ValueState) {
        self.values[value] = state;
        self.born[value] = self.scope;
    }

    /// True if what is learnt of a value here is known as long as the value is.
    pub(crate) fn keeps(&self, value: ValueId) -> bool {
        self.born[value] == self.scope
    }

    /// Notes something about a tensor, if it stays known.
    pub(crate) fn remember(&mut self, value: ValueId, note: impl FnOnce(&mut TensorState)) {
        if self.keeps(value) {
            note(self.tensor_state(value));
        }
    }

    /// Starts a scope: what is learnt from now on is known until the code is in another. Yields the one so far.
    pub(crate) fn open_scope(&mut self) -> Scope {
        self.scopes += 1;
        std::mem::replace(&mut self.scope, Scope(self.scopes))
    }

    /// Notes what is known here.
    pub(crate) fn mark(&mut self) -> Checkpoint {
        Checkpoint {
            values: self.values.mark(),
            present: self.present.mark(),
            symbols: self.symbols.mark(),
            known_sign: self.known_sign.mark(),
        }
    }

    /// Forgets what was learnt since then.
    pub(crate) fn go_back(&mut self, known: Checkpoint) {
        let Checkpoint { values, present, symbols, known_sign } = known;
        self.values.go_back(values);
        self.present.go_back(present);
        self.symbols.go_back(symbols);
        self.known_sign.go_back(known_sign);
    }

    /// The value of a symbol that some occurrence has bound.
    pub(crate) fn known(&self, symbol: SymbolId) -> Option<Value> {
        match self.symbols[symbol] {
            SymbolState::Bound(value, _) | SymbolState::Maybe(value, _) => Some(value),
            SymbolState::Unbound => None,
        }
    }

    /// The value of a symbol, which the body may have given it.
    pub(crate) fn symbol(&self, symbol: SymbolId) -> Value {
        let named = || self.function.symbols[symbol].local.map(|local| self.local(local));
        let known = self.known(symbol).or_else(named);
        known.unwrap_or_else(|| unreachable!("symbols are bound before they are used"))
    }

    /// What the body has given a name.
    pub(crate) fn local(&self, local: LocalId) -> Value {
        let known = self.locals[local];
        known.unwrap_or_else(|| unreachable!("names are given before they are used"))
    }
}

/// A path as a name of the IR: without backticks, and with `i` for indices that are known at run time only.
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
