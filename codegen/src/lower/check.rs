//! Checks of the hot path: each is a comparison and a branch that is not expected to be taken.
//!
//! Processors compare and branch in one operation and predict that nothing fails, so that merging checks into one value
//! costs more than it saves. Failing branches leave for the exit of their group, see [`failure`](super::failure).

use crate::ir::{Binary, Block, Builder, Cond, Value};

/// Where failing checks go, and when they apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checks {
    /// Where a failing check goes.
    pub(crate) fail: Block,
    /// A `Bool`: what is required from now on is required only if this is true.
    pub(crate) mask: Option<Value>,
}

impl Checks {
    /// The same checks with another way out.
    pub(crate) fn or_go_to(self, fail: Block) -> Checks {
        Checks { fail, ..self }
    }

    /// Requires a number or an address to be what is expected. What was loaded comes second: there Cranelift
    /// compares with memory.
    pub(crate) fn equal(self, b: &mut Builder<'_>, found: Value, expected: Value) {
        let differ = b.compare(Cond::Ne, expected, found);
        self.never(b, differ);
    }

    /// Requires an integer to be this one.
    pub(crate) fn equal_const(self, b: &mut Builder<'_>, value: Value, known: i64) {
        let differ = b.compare_const(Cond::Ne, value, known);
        self.never(b, differ);
    }

    /// Requires a pointer not to be NULL.
    pub(crate) fn non_null(self, b: &mut Builder<'_>, pointer: Value) {
        let null = b.compare_const(Cond::Eq, pointer, 0);
        self.never(b, null);
    }

    /// Requires an `I64` not to be negative.
    pub(crate) fn non_negative(self, b: &mut Builder<'_>, value: Value) {
        let negative = b.compare_const(Cond::Slt, value, 0);
        self.never(b, negative);
    }

    /// Requires an address, an `I64`, to be a multiple of a power of two.
    pub(crate) fn aligned(self, b: &mut Builder<'_>, address: Value, align: u64) {
        let remainder = b.binary_const(Binary::And, address, align as i64 - 1);
        self.equal_const(b, remainder, 0);
    }

    /// Requires a condition to hold.
    pub(crate) fn always(self, b: &mut Builder<'_>, condition: Value) {
        if self.mask.is_none() {
            return b.guard(condition, self.fail);
        }
        let violated = b.not(condition);
        self.never(b, violated);
    }

    /// Requires a condition to be false.
    pub(crate) fn never(self, b: &mut Builder<'_>, condition: Value) {
        let condition = self.mask.map_or(condition, |mask| b.and(mask, condition));
        let next = b.block("next");
        b.branch(condition, self.fail, next);
        b.switch_to(next);
    }
}
