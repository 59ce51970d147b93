//! A wrapper while it is written: what is there, and where.

use abi_spec::layout::{ANY, any};

use super::check::Checks;
use super::failure::Exits;
use super::failure::records::Records;
use super::routines::Routine;
use super::scoped::Scoped;
use super::state::{
    Devices, Frame, Held, OutputState, Scope, SymbolState, TensorState, ValueState,
};
use crate::ir::{Binary, Builder, Cond, Convert, Data, Hint, Linkage, SymbolKind, Type, Value};
use crate::resolve::function::Function;
use crate::resolve::ids::{LocalId, OutputId, SymbolId, Table, ValueId};
use crate::resolve::value::Source;

/// A wrapper under construction.
pub(crate) struct Wrapper<'a, 'm> {
    pub(crate) b: Builder<'m>,
    pub(crate) function: &'a Function<'a>,
    /// The arguments, those that were left out filled in.
    pub(crate) args: Value,
    /// How many there are; `None` for the number that is declared.
    pub(crate) num_args: Option<Value>,
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
    /// What the body owns, and how it is left.
    pub(crate) frame: Frame<'a>,
    /// The scope that the wrapper is in, and that in which each value was loaded: what is learnt of it elsewhere is
    /// not known after it.
    pub(crate) scope: Scope,
    pub(crate) born: Table<ValueId, Scope>,
    /// The checks of the group that is being written.
    pub(crate) checks: Checks,
    /// Where groups of checks leave for.
    pub(crate) exits: Exits,
    /// What exits hand over.
    pub(crate) records: &'m mut Records,
    /// The devices of the tensors so far.
    pub(crate) devices: Devices,
    /// Where the value is that a loop or a union is at: the address of each that is in one now.
    pub(crate) places: Table<ValueId, Option<Value>>,
    /// What is owned at this point.
    pub(crate) held: Vec<Held>,
    /// The optional tensor that is known to be there, in the branch of its checks.
    pub(crate) branched: Option<ValueId>,
    /// Linkage of the shared routines.
    pub(crate) linkage: Linkage,
    /// The name hint of each value.
    pub(crate) names: Table<ValueId, u32>,
    /// Which tensors are checked in a loop: for each how many of its run are left.
    pub(crate) runs: Table<ValueId, usize>,
    /// Which tensors are left to a routine.
    pub(crate) outlined: Table<ValueId, bool>,
    /// Whether a routine reads texts.
    pub(crate) outlines_texts: bool,
    /// Whether a routine makes the calls of functions that are objects.
    pub(crate) outlines_calls: bool,
}

/// What is there, and where.
impl Wrapper<'_, '_> {
    /// The address of a value: a base and an offset in bytes. That of the context is its handle.
    pub(crate) fn address_of(&mut self, value: ValueId) -> (Value, i32) {
        match self.function.values[value].source {
            Source::Context => (self.b.param(0), 0),
            Source::Argument(index) | Source::Rest(index) => match self.places[value] {
                Some(place) => (place, 0),
                None => (self.args, index as i32 * ANY.size as i32),
            },
            Source::Element { of, index } => {
                (self.values[of].elements(), index as i32 * ANY.size as i32)
            }
            Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. }
            | Source::Result => match self.places[value] {
                Some(place) => (place, 0),
                None => unreachable!("a loop, a union or a call knows where it is"),
            },
        }
    }

    /// The type index of a value and its payload as `ty`.
    pub(crate) fn words(&mut self, value: ValueId, ty: Type) -> (Value, Value) {
        (self.type_index(value), self.payload(value, ty))
    }

    /// The payload of a value.
    pub(crate) fn payload(&mut self, value: ValueId, ty: Type) -> Value {
        let (base, offset) = self.address_of(value);
        let payload = self.b.load(ty, base, offset + any::PAYLOAD.offset);
        let hint = self.hint(value, "payload", None);
        self.b.hint(payload, hint)
    }

    /// The type index of a value.
    pub(crate) fn type_index(&mut self, value: ValueId) -> Value {
        let (base, offset) = self.address_of(value);
        let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
        let hint = self.hint(value, "type_index", None);
        self.b.hint(index, hint)
    }

    /// Finds out whether a value is there.
    pub(crate) fn enter(&mut self, value: ValueId) {
        let declared = &self.function.values[value];
        if declared.optional && self.branched != Some(value) {
            let outer = declared.source.parent().and_then(|of| self.mask(of));
            let (base, offset) = self.address_of(value);
            let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
            let none = abi_spec::TypeIndex::NONE.0.into();
            let some = self.b.compare_const(Cond::Ne, index, none);
            let hint = self.hint(value, "is_some", None);
            self.b.hint(some, hint);
            let there = outer.map_or(some, |outer| self.b.and(outer, some));
            self.present[value] = Some(there);
        }
    }

    /// Checks from now on apply only where a value is there.
    pub(crate) fn only_if_there(&mut self, value: ValueId) {
        let mask = self.mask(value);
        self.checks.mask = mask;
    }

    /// A `Bool` that says whether a value is there; `None` if it always is.
    pub(crate) fn mask(&self, value: ValueId) -> Option<Value> {
        let nearest = self.function.values[value].guard;
        nearest.and_then(|optional| self.present[optional])
    }

    /// A `Bool` that says whether a value is there.
    pub(crate) fn there(&mut self, value: ValueId) -> Value {
        self.mask(value).unwrap_or_else(|| self.b.constant(Type::Bool, 1))
    }

    /// An address that can be read where the value is not there: then all is zero for `size` bytes.
    pub(crate) fn readable(&mut self, value: ValueId, address: Value, size: usize) -> Value {
        let Some(mask) = self.mask(value) else { return address };
        let absent = self.absent(size);
        self.b.select(mask, address, absent)
    }

    /// The address of zeros.
    pub(crate) fn absent(&mut self, size: usize) -> Value {
        const NAME: &str = "tvm_ffi_codegen.absent";
        let module = &mut *self.b.module;
        let symbol = module.declare(NAME, Linkage::Local, SymbolKind::Data);
        match module.data.iter_mut().find(|data| data.symbol == symbol) {
            Some(data) => data.bytes.resize(size.max(data.bytes.len()), 0),
            None => {
                module.data.push(Data::constant(symbol, vec![0; size], 8));
            }
        }
        self.b.address(symbol)
    }

    /// A word of a value, or zero where it is not there.
    pub(crate) fn or_zero(&mut self, value: ValueId, word: Value) -> Value {
        let Some(mask) = self.mask(value) else { return word };
        let zero = self.b.constant(self.b.ty(word), 0);
        self.b.select(mask, word, zero)
    }

    /// The value of a symbol that some occurrence has bound.
    pub(crate) fn known(&self, symbol: SymbolId) -> Option<Value> {
        match self.symbols[symbol] {
            SymbolState::Bound(value, _) | SymbolState::Maybe(value, _) => Some(value),
            SymbolState::Unbound => None,
        }
    }

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

    /// Type and index of a device, each an `I32`.
    pub(crate) fn device_numbers(&mut self, word: Value) -> [Value; 2] {
        let ty = self.b.convert(Convert::Trunc, word, Type::I32);
        let index = self.b.binary_const(Binary::Lshr, word, 32);
        [ty, self.b.convert(Convert::Trunc, index, Type::I32)]
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
}
