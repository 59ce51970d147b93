//! A wrapper while it is written: what is emitted, and how it fails.

use std::ops::{Deref, DerefMut};

use super::check::Checks;
use super::emitter::Emitter;
use super::failure::Exits;
use super::failure::records::Records;
use crate::declaration::Device;
use crate::ir::Value;
use crate::resolve::ids::{SymbolId, Table, ValueId};

/// A wrapper under construction: an emitter whose code may fail.
pub(crate) struct Wrapper<'a, 'm> {
    pub(crate) emitter: Emitter<'a, 'm>,
    /// The checks of the group that is being written.
    pub(crate) checks: Checks,
    /// Where groups of checks leave for.
    pub(crate) exits: Exits<'a>,
    /// What exits hand over.
    pub(crate) records: &'m mut Records,
    /// The devices of the tensors so far.
    pub(crate) devices: Devices,
    /// The shapes of tensors whose strides are declared.
    pub(crate) shapes: Shapes,
    /// What is written in another form than usual.
    pub(crate) forms: Forms,
}

/// What is known of the shapes of tensors whose strides are declared.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// The shapes that have been tested: the symbols of their extents, with what each must be above, and a `Bool`: all
    /// are.
    pub(crate) tested: Vec<(Vec<(SymbolId, i64)>, Value)>,
    /// The symbols that are bound wherever a shape is usual, each with the number of that shape.
    pub(crate) bound: Vec<(SymbolId, usize)>,
    /// The number of occurrences that mention each symbol.
    pub(crate) mentions: Table<SymbolId, u32>,
}

/// The parts of large functions that are loops, or left to routines.
#[derive(Debug)]
pub(crate) struct Forms {
    /// Which tensors are checked in a loop: for each how many of its run are left.
    pub(crate) runs: Table<ValueId, usize>,
    /// Which tensors are left to a routine.
    pub(crate) outlined: Table<ValueId, bool>,
    /// Whether a routine reads texts.
    pub(crate) texts: bool,
    /// Whether a routine makes the calls of functions that are objects.
    pub(crate) calls: bool,
}

/// The devices of tensors that must agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Devices {
    /// The device of the first tensor whose device index matters, how it was declared, and the place of the tensor.
    pub(crate) first: Option<(Value, Device, u64)>,
    /// The tensors so far.
    pub(crate) tensors: Vec<ValueId>,
    /// The table of devices, where only the call knows which must agree.
    pub(crate) table: Option<Value>,
}

/// A wrapper reads what its emitter knows, and emits as that does.
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
    /// Checks from now on apply only where a value is there.
    pub(crate) fn only_if_there(&mut self, value: ValueId) {
        let mask = self.mask(value);
        self.checks.mask = mask;
    }

    /// Code that runs on some ways only: what is learnt in it is not known after it.
    pub(crate) fn aside<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.open_scope();
        let value = body(self);
        self.scope = outer;
        value
    }

    /// A scope: what is owned in it is released at its end, and what is learnt in it is not known after it.
    pub(crate) fn inner(&mut self, body: impl FnOnce(&mut Self)) {
        let owned = self.frame.owned();
        self.aside(|w| {
            body(w);
            if !w.b.ended() {
                w.release_beyond(owned);
            }
        });
        self.keep_owned(owned);
    }
}
