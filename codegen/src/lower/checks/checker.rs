//! The context of checks: what a prologue needs to check arguments, and a body to check what it receives.

use super::check::Checks;
use crate::declaration::{Device, ParamType};
use crate::ir::{Block, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::known::Checkpoint;
use crate::lower::emitter::state::Scope;
use crate::lower::failure::message::Message;
use crate::lower::failure::overflow::Overflow;
use crate::lower::failure::{Exits, Run, Turn};
use crate::resolve::ids::{LookUpId, SymbolId, Table, ValueId};

/// A function under construction whose code may fail.
pub(crate) struct Checker<'a, 'm> {
    pub(crate) e: Emitter<'a, 'm>,
    /// The exits of groups of checks.
    pub(crate) exits: Exits<'a, 'm>,
    /// Exit and mask of the checks that are emitted now.
    pub(super) checks: Checks,
    /// The operations of the current expression whose flags have not been tested yet.
    pub(super) overflows: Vec<Overflow>,
    /// The exit for these flags in the place of their own.
    pub(super) overflow_exit: Option<Block>,
    /// The devices of the tensors so far.
    pub(super) devices: Devices,
    /// The shapes of tensors whose strides are declared.
    pub(super) shapes: Shapes,
    /// Choice of loops or calls of routines instead of inline code.
    pub(super) forms: Forms,
    /// The optional tensor that is present in the current branch.
    pub(super) branched: Option<ValueId>,
    /// The alternative of a union whose type is checked next, if it alone accepts values of the type.
    pub(super) alone: Option<Alone>,
    /// For each element that the frame holds a reference to, the address of the reference, which is None before.
    pub(super) held_elements: Table<LookUpId, Option<Value>>,
}

/// An alternative of a union that accepts values which no other alternative accepts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    pub(super) value: ValueId,
    /// The block to which failing checks branch outside of the union instead of an exit.
    pub(super) around: Option<Block>,
}

/// Devices of tensors so far, with which later tensors are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    /// The device of the first tensor whose device index matters, how it was declared, and the place of the tensor.
    pub(super) first: Option<(Value, Device, u64)>,
    /// The tensors so far that are compared without a table.
    pub(super) tensors: Vec<ValueId>,
    /// Address of the table of devices; `None` unless calls differ in the tensors that they have.
    pub(super) table: Option<Value>,
}

/// Shapes of tensors whose strides are declared.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// Shapes that have been tested: the symbols that the extents equal, each with the number to exceed, and a `Bool`
    /// that is true if all symbols exceed their numbers.
    pub(super) tested: Vec<(Vec<(SymbolId, i64)>, Value)>,
    /// Symbols that are bound if a shape is usual, each with the index of the shape in `tested`.
    pub(super) bound: Vec<(SymbolId, usize)>,
}

/// State around a scope.
#[derive(Debug)]
pub(crate) struct Outside {
    /// The number of owned values.
    owned: u32,
    known: Checkpoint,
    scope: Scope,
}

/// Choice of loops or calls of routines instead of inline code, for large functions.
#[derive(Debug)]
pub(in crate::lower) struct Forms {
    /// Number of tensors from each tensor to the end of its [run](super::runs); 0 outside of runs.
    pub(super) runs: Table<ValueId, usize>,
    /// Tensors that routines check.
    pub(super) outlined: Table<ValueId, bool>,
    /// True if a routine reads texts.
    pub(super) texts: bool,
}

impl<'a, 'm> Checker<'a, 'm> {
    /// Creates the context of a function of which no argument is loaded yet.
    pub(crate) fn new(e: Emitter<'a, 'm>, exits: Exits<'a, 'm>, forms: Forms) -> Self {
        let function = e.function;
        // A placeholder: each group of checks sets its exit.
        let checks = Checks { fail: e.b.current(), mask: None, passed: false };
        Checker {
            e,
            exits,
            checks,
            overflows: Vec::new(),
            overflow_exit: None,
            devices: Devices::default(),
            shapes: Shapes::default(),
            forms,
            branched: None,
            alone: None,
            held_elements: Table::like(&function.look_ups, None),
        }
    }
}

/// Exits of checks.
impl Checker<'_, '_> {
    /// Sets the exit of the checks of a value.
    pub(super) fn set_exit(&mut self, value: ValueId) {
        self.checks.fail = match self.e.function.values[value].ty {
            ParamType::Scalar(_) => self.exits.scalar(&mut self.e, value),
            ParamType::Tensor(_) => self.exits.header(&mut self.e, value),
            ParamType::Leaf(_)
            | ParamType::Shape(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Optional(_)
            | ParamType::Union(_)
            | ParamType::Literal(_) => self.exits.value(&mut self.e, value),
        };
    }

    /// Sets the exit of the checks that follow that of the type of a value. In an alternative that [alone](Alone)
    /// accepts values of the type, they branch to its own exit, and no longer to the next alternative.
    pub(super) fn settle(&mut self, value: ValueId) {
        if let Some(alone) = self.alone.take_if(|alone| alone.value == value) {
            self.exits.set_other(alone.around);
            self.set_exit(value);
        }
    }
}

/// Scopes. Each runs `body` in a changed context and restores the context afterwards.
impl Checker<'_, '_> {
    /// Emits code that does not dominate the code after it: values that it loads are forgotten at its end.
    pub(crate) fn without_dominating<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.e.known.open_scope();
        let value = body(self);
        self.e.known.close_scope(outer);
        value
    }

    /// Emits code in a scope of its own: objects that it owns are released and values that it loads are forgotten at
    /// its end.
    pub(crate) fn in_scope(&mut self, body: impl FnOnce(&mut Self)) {
        let outside = self.begin_scope();
        body(self);
        self.end_scope(outside);
    }

    /// Begins the code of [`in_scope`](Self::in_scope).
    pub(crate) fn begin_scope(&mut self) -> Outside {
        let (owned, known) = (self.e.frame.owned(), self.e.known.mark());
        Outside { owned, known, scope: self.e.known.open_scope() }
    }

    /// Ends the code of [`in_scope`](Self::in_scope).
    pub(crate) fn end_scope(&mut self, Outside { owned, known, scope }: Outside) {
        if !self.e.b.ended() {
            self.e.release_beyond(owned);
        }
        self.e.known.close_scope(scope);
        self.e.known.go_back(known);
        self.e.frame.truncate_owned(owned);
    }

    /// Emits a cold block. Checks in it always apply.
    pub(super) fn cold(&mut self, label: &'static str, body: impl FnOnce(&mut Self)) -> Block {
        let (here, block) = (self.e.b.current(), self.e.b.cold_block(label));
        self.e.b.switch_to(block);
        let mask = self.checks.mask.take();
        self.without_dominating(body);
        self.checks.mask = mask;
        self.e.b.switch_to(here);
        block
    }

    /// Returns an exit that raises a message of its own.
    pub(crate) fn failing(&mut self, message: impl FnOnce(&mut Self) -> Message) -> Block {
        if let Some(other) = self.exits.other() {
            return other;
        }
        self.cold("fault", |c| {
            let message = message(c);
            c.exits.raise(&mut c.e, &message);
        })
    }

    /// Makes later checks apply only if a value is present.
    pub(super) fn only_if_there(&mut self, value: ValueId) {
        self.checks.mask = self.e.known.mask(value);
    }

    /// Emits the body of a loop.
    pub(super) fn in_loop(&mut self, turn: Turn, body: impl FnOnce(&mut Self)) {
        self.exits.begin_loop(turn);
        body(self);
        self.exits.end_loop();
    }

    /// Emits the checks of the current tensor of a run.
    pub(super) fn in_run(&mut self, run: Run, body: impl FnOnce(&mut Self)) {
        self.exits.set_run(Some(run));
        body(self);
        self.exits.set_run(None);
    }

    /// Emits checks that branch to `other` instead of exits.
    pub(super) fn or_other(&mut self, other: Block, body: impl FnOnce(&mut Self)) {
        let outer = self.exits.set_other(Some(other));
        body(self);
        self.exits.set_other(outer);
    }

    /// Emits checks that apply only if a condition holds, besides the conditions of the code around them.
    pub(super) fn where_true<T>(
        &mut self,
        condition: Value,
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.checks.mask;
        let both = outer.map_or(condition, |outer| self.e.b.and(outer, condition));
        self.checks.mask = Some(both);
        let value = body(self);
        self.checks.mask = outer;
        value
    }
}
