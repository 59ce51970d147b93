//! Leaving a function once something has raised.

use abi_spec::runtime;

use super::{ExitState, Exits};
use crate::ir::{Block, Cond, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::frame::{MAX_PREDECESSORS, release_held};

impl Exits<'_, '_> {
    /// Emits a jump out of the function once a routine has raised.
    pub(super) fn leave_raised(&mut self, e: &mut Emitter<'_, '_>) {
        let raised = self.raised_block(e);
        e.b.jump(raised, &[]);
    }

    /// Returns the block that leaves the function once a routine has raised.
    pub(super) fn raised_block(&mut self, e: &mut Emitter<'_, '_>) -> Block {
        let key = ExitState { held: e.frame.held.last().copied(), owned: e.frame.owned() };
        if let Some((block, uses)) = self.raised.get_mut(&key)
            && *uses < MAX_PREDECESSORS
        {
            *uses += 1;
            return *block;
        }
        let (here, block) = (e.b.current(), e.b.cold_block("raised"));
        e.b.switch_to(block);
        let status = e.b.i32(-1);
        self.leave_prologue(e, status);
        e.b.switch_to(here);
        self.raised.insert(key, (block, 1));
        block
    }

    /// Emits code that releases the held references, keeps the error in the thread's slot, and leaves with a status.
    pub(in crate::lower::failure) fn leave_prologue(
        &mut self,
        e: &mut Emitter<'_, '_>,
        status: Value,
    ) {
        if e.frame.held.is_empty() {
            return e.exit(Some(status));
        }
        let error = take_error(e);
        let release = self.releasing(e, e.frame.held.len());
        e.b.jump(release, &[error]);
    }

    /// Returns the block that releases the first `count` held references, the last one first, and leaves with an error,
    /// its parameter. Failures with the same held references share blocks.
    fn releasing(&mut self, e: &mut Emitter<'_, '_>, count: usize) -> Block {
        let known = self.releasing.iter().zip(&e.frame.held);
        let known = known.take_while(|((held, _), now)| held == *now).count();
        if let Some(&(_, block)) = self.releasing[..known].get(count - 1) {
            return block;
        }
        let next = (count > 1).then(|| self.releasing(e, count - 1));
        let here = e.b.current();
        let block = e.b.cold_block("release");
        let error = e.b.block_param(block, Type::Ptr, "error");
        e.b.switch_to(block);
        let last = e.frame.held[count - 1];
        release_held(&mut e.b, &[last]);
        match next {
            Some(next) => e.b.jump(next, &[error]),
            None => {
                set_error(e, error);
                let raised = e.b.i32(-1);
                e.exit(Some(raised));
            }
        }
        e.b.switch_to(here);
        self.releasing.truncate(count - 1);
        self.releasing.push((last, block));
        block
    }
}

/// Emits code that moves an owned error, which may be NULL, into the thread's slot.
fn set_error(e: &mut Emitter<'_, '_>, error: Value) {
    let some = e.b.compare_const(Cond::Ne, error, 0);
    let set = crate::lower::runtime(e.b.module, &runtime::ERROR_SET_RAISED);
    let release = crate::lower::runtime(e.b.module, &runtime::OBJECT_DEC_REF);
    e.b.if_then(some, |b| {
        b.call(set, &[error]);
        b.call(release, &[error]);
    });
}

/// Emits code that moves the error out of the thread's slot.
pub(crate) fn take_error(e: &mut Emitter<'_, '_>) -> Value {
    let null = e.b.null();
    let error = e.scratch(&[null]);
    let take = crate::lower::runtime(e.b.module, &runtime::ERROR_MOVE_FROM_RAISED);
    e.b.call(take, &[error]);
    e.b.load(Type::Ptr, error, 0)
}
