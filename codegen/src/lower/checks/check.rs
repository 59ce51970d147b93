//! Checks of the hot path: each is a comparison and a branch to a cold exit.
//!
//! Processors fuse comparison and branch into one operation and predict the branch, so that merging checks into one
//! condition costs more than it saves. Exits are emitted in [`failure`](crate::lower::failure).

use crate::ir::{Binary, Block, Builder, Cond, Value};

/// The exit to which checks branch if they fail, and the condition under which they apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checks {
    /// Exit block.
    pub(crate) fail: Block,
    /// A `Bool`: checks apply only if it is true; `None` if they always apply.
    pub(crate) mask: Option<Value>,
    /// True where values have passed their checks before: they are read again, and nothing is checked.
    pub(crate) passed: bool,
}

impl Checks {
    /// Returns the same checks with another exit.
    pub(crate) fn or_go_to(self, fail: Block) -> Checks {
        Checks { fail, ..self }
    }

    /// Checks that a number or an address is the expected one. The loaded operand comes second, where Cranelift folds
    /// the load into the comparison.
    pub(crate) fn equal(self, b: &mut Builder<'_>, found: Value, expected: Value) {
        let differ = b.compare(Cond::Ne, expected, found);
        self.never(b, differ);
    }

    /// Checks that an integer is a constant.
    pub(crate) fn equal_const(self, b: &mut Builder<'_>, value: Value, known: i64) {
        let differ = b.compare_const(Cond::Ne, value, known);
        self.never(b, differ);
    }

    /// Checks that a pointer is not NULL.
    pub(crate) fn non_null(self, b: &mut Builder<'_>, pointer: Value) {
        let null = b.compare_const(Cond::Eq, pointer, 0);
        self.never(b, null);
    }

    /// Checks that an `I64` is not negative.
    pub(crate) fn non_negative(self, b: &mut Builder<'_>, value: Value) {
        let negative = b.compare_const(Cond::Slt, value, 0);
        self.never(b, negative);
    }

    /// Checks that an address, an `I64`, is a multiple of `align`, a power of two.
    pub(crate) fn aligned(self, b: &mut Builder<'_>, address: Value, align: u64) {
        let remainder = b.binary_const(Binary::And, address, (align - 1) as i64);
        self.equal_const(b, remainder, 0);
    }

    /// Checks that a condition is true.
    pub(crate) fn always(self, b: &mut Builder<'_>, condition: Value) {
        if self.passed {
            return;
        }
        if self.mask.is_none() {
            return b.guard(condition, self.fail);
        }
        let violated = b.not(condition);
        self.never(b, violated);
    }

    /// Checks that a condition is false.
    pub(crate) fn never(self, b: &mut Builder<'_>, condition: Value) {
        if self.passed {
            return;
        }
        let condition = self.mask.map_or(condition, |mask| b.and(mask, condition));
        let next = b.block("next");
        b.branch(condition, self.fail, next);
        b.switch_to(next);
    }
}
