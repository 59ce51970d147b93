//! Leaving a function once something has raised.

use abi_spec::runtime;

use super::ExitState;
use crate::ir::{Block, Cond, Type, Value};
use crate::lower::emitter::frame::MAX_PREDECESSORS;
use crate::lower::wrapper::Wrapper;

impl Wrapper<'_, '_> {
    /// Emits a jump out of the function once a routine has raised.
    pub(super) fn leave_raised(&mut self) {
        let raised = self.raised_block();
        self.b.jump(raised, &[]);
    }

    /// Returns the block that leaves the function once a routine has raised.
    pub(super) fn raised_block(&mut self) -> Block {
        let key = ExitState { held: self.frame.held.last().copied(), owned: self.frame.owned() };
        if let Some((block, uses)) = self.exits.raised.get_mut(&key)
            && *uses < MAX_PREDECESSORS
        {
            *uses += 1;
            return *block;
        }
        let (here, block) = (self.b.current(), self.b.cold_block("raised"));
        self.b.switch_to(block);
        let status = self.b.i32(-1);
        self.leave_prologue(status);
        self.b.switch_to(here);
        self.exits.raised.insert(key, (block, 1));
        block
    }

    /// Emits code that releases the held references, keeps the error in the thread's slot, and leaves with a status.
    pub(in crate::lower::failure) fn leave_prologue(&mut self, status: Value) {
        if self.frame.held.is_empty() {
            return self.exit(Some(status));
        }
        let error = self.take_error();
        let release = self.releasing(self.frame.held.len());
        self.b.jump(release, &[error]);
    }

    /// Returns the block that releases the first `count` held references, the last one first, and leaves with an error,
    /// its parameter. Failures with the same held references share blocks.
    fn releasing(&mut self, count: usize) -> Block {
        let known = self.exits.releasing.iter().zip(&self.frame.held);
        let known = known.take_while(|((held, _), now)| held == *now).count();
        if let Some(&(_, block)) = self.exits.releasing[..known].get(count - 1) {
            return block;
        }
        let next = (count > 1).then(|| self.releasing(count - 1));
        let here = self.b.current();
        let block = self.b.cold_block("release");
        let error = self.b.block_param(block, Type::Ptr, "error");
        self.b.switch_to(block);
        let last = self.frame.held[count - 1];
        self.release_held(&[last]);
        match next {
            Some(next) => self.b.jump(next, &[error]),
            None => {
                self.set_error(error);
                let raised = self.b.i32(-1);
                self.exit(Some(raised));
            }
        }
        self.b.switch_to(here);
        self.exits.releasing.truncate(count - 1);
        self.exits.releasing.push((last, block));
        block
    }

    /// Emits code that moves an owned error, which may be NULL, into the thread's slot.
    fn set_error(&mut self, error: Value) {
        let some = self.b.compare_const(Cond::Ne, error, 0);
        let set = crate::lower::runtime(self.b.module, &runtime::ERROR_SET_RAISED);
        let release = crate::lower::runtime(self.b.module, &runtime::OBJECT_DEC_REF);
        self.b.if_then(some, |b| {
            b.call(set, &[error]);
            b.call(release, &[error]);
        });
    }

    /// Leaves with the error that a routine has raised unless the status is 0. `label` names the cold block.
    pub(crate) fn exit_unless_zero(&mut self, status: Value, label: &'static str) {
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block(label), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        self.exit(Some(status));
        self.b.switch_to(next);
    }

    /// Emits code that moves the error out of the thread's slot.
    pub(crate) fn take_error(&mut self) -> Value {
        let null = self.b.null();
        let error = self.scratch(&[null]);
        let take = crate::lower::runtime(self.b.module, &runtime::ERROR_MOVE_FROM_RAISED);
        self.b.call(take, &[error]);
        self.b.load(Type::Ptr, error, 0)
    }
}
