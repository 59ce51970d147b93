//! A wrapper under construction: an emitter with exits, records, and the devices and shapes that checks compare.

use std::ops::{Deref, DerefMut};

use super::check::Checks;
use super::emitter::Emitter;
use super::failure::Exits;
use super::failure::overflow::Overflow;
use super::failure::records::Records;
use crate::declaration::Device;
use crate::ir::{Block, Value};
use crate::resolve::ids::{LookUpId, SymbolId, Table, ValueId};

/// A wrapper under construction: an emitter whose code may fail.
pub(crate) struct Wrapper<'a, 'm> {
    pub(crate) emitter: Emitter<'a, 'm>,
    /// Exit and mask of the checks that are emitted now.
    pub(crate) checks: Checks,
    /// The operations of the current expression whose flags have not been tested yet.
    pub(crate) overflows: Vec<Overflow>,
    /// The exit for these flags in the place of their own.
    pub(crate) overflow_exit: Option<Block>,
    /// The exits of groups of checks.
    pub(crate) exits: Exits<'a>,
    /// The records that exits pass to routines.
    pub(crate) records: &'m mut Records,
    /// The devices of the tensors so far.
    pub(crate) devices: Devices,
    /// The shapes of tensors whose strides are declared.
    pub(crate) shapes: Shapes,
    /// Choice of loops or calls of routines instead of inline code.
    pub(crate) forms: Forms,
    /// Looks an element of a sequence up, with the checks of the prologue. Terms call it at the first use of an element.
    pub(crate) find_element: fn(&mut Wrapper<'a, 'm>, LookUpId),
}

/// Shapes of tensors whose strides are declared.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// Shapes that have been tested: the symbols that the extents equal, each with the number to exceed, and a `Bool`
    /// that is true if all symbols exceed their numbers.
    pub(crate) tested: Vec<(Vec<(SymbolId, i64)>, Value)>,
    /// Symbols that are bound if a shape is usual, each with the index of the shape in `tested`.
    pub(crate) bound: Vec<(SymbolId, usize)>,
}

/// Choice of loops or calls of routines instead of inline code, for large functions.
#[derive(Debug)]
pub(crate) struct Forms {
    /// Number of tensors from each tensor to the end of its [run](super::prologue::runs); 0 outside of runs.
    pub(crate) runs: Table<ValueId, usize>,
    /// Tensors that routines check.
    pub(crate) outlined: Table<ValueId, bool>,
    /// True if a routine reads texts.
    pub(crate) texts: bool,
    /// True if a routine calls function objects.
    pub(crate) calls: bool,
}

/// Devices of tensors so far, with which later tensors are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Devices {
    /// The device of the first tensor whose device index matters, how it was declared, and the place of the tensor.
    pub(crate) first: Option<(Value, Device, u64)>,
    /// The tensors so far that are compared without a table.
    pub(crate) tensors: Vec<ValueId>,
    /// Address of the table of devices; `None` unless calls differ in the tensors that they have.
    pub(crate) table: Option<Value>,
}

/// Methods of the emitter are methods of the wrapper.
impl<'a, 'm> Deref for Wrapper<'a, 'm> {
    type Target = Emitter<'a, 'm>;

    fn deref(&self) -> &Emitter<'a, 'm> {
        &self.emitter
    }
}

impl DerefMut for Wrapper<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.emitter
    }
}

impl Wrapper<'_, '_> {
    /// Makes later checks apply only if a value is present.
    pub(crate) fn only_if_there(&mut self, value: ValueId) {
        let mask = self.mask(value);
        self.checks.mask = mask;
    }

    /// Emits code that does not dominate the code after it: values that it loads are forgotten at its end.
    pub(crate) fn without_dominating<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.open_scope();
        let value = body(self);
        self.scope = outer;
        value
    }

    /// Emits code in a scope of its own: objects that it owns are released and values that it loads are forgotten at its
    /// end.
    pub(crate) fn in_scope(&mut self, body: impl FnOnce(&mut Self)) {
        let (owned, known) = (self.frame.owned(), self.mark());
        self.without_dominating(|w| {
            body(w);
            if !w.b.ended() {
                w.release_beyond(owned);
            }
        });
        self.go_back(known);
        self.keep_owned(owned);
    }
}
