//! Merging checks: what must not differ and what must not hold, gathered until one branch tests all.

use crate::ir::{Binary, Block, Builder, Cond, Convert, Type, Value};

/// Checks that have been computed but not yet branched on.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Nonzero if some pair of integers differs.
    difference: Option<Value>,
    /// True if some condition is violated.
    violated: Option<Value>,
    /// A `Bool`: what is required from now on is required only if this is true.
    pub(super) mask: Option<Value>,
}

impl Checks {
    /// Requires two `I64` to be equal.
    pub(super) fn equal(&mut self, b: &mut Builder<'_>, lhs: Value, rhs: Value) {
        let difference = b.binary(Binary::Xor, lhs, rhs);
        self.zero(b, difference);
    }

    /// Requires an `I64` to be zero.
    pub(super) fn zero(&mut self, b: &mut Builder<'_>, value: Value) {
        let value = match self.mask {
            Some(mask) => {
                let zero = b.i64(0);
                b.select(mask, value, zero)
            }
            None => value,
        };
        self.difference = Some(match self.difference {
            Some(difference) => b.or(difference, value),
            None => value,
        });
    }

    /// Requires an `I64` not to be negative.
    pub(super) fn non_negative(&mut self, b: &mut Builder<'_>, value: Value) {
        let sign = b.binary_const(Binary::Lshr, value, 63);
        self.zero(b, sign);
    }

    /// Requires a condition to be false.
    pub(super) fn never(&mut self, b: &mut Builder<'_>, condition: Value) {
        let condition = self.mask.map_or(condition, |mask| b.and(mask, condition));
        self.violated = Some(match self.violated {
            Some(violated) => b.or(violated, condition),
            None => condition,
        });
    }

    /// A `Bool` that is true if some check fails; forgets them all.
    pub(super) fn take(&mut self, b: &mut Builder<'_>) -> Option<Value> {
        match (self.difference.take(), self.violated.take()) {
            (None, violated) => violated,
            (Some(difference), None) => Some(b.compare_const(Cond::Ne, difference, 0)),
            (Some(difference), Some(violated)) => {
                let violated = b.convert(Convert::Zext, violated, Type::I64);
                let any = b.or(difference, violated);
                Some(b.compare_const(Cond::Ne, any, 0))
            }
        }
    }

    /// Leaves for `fail` if some check fails, else goes on in a new block.
    pub(super) fn flush(&mut self, b: &mut Builder<'_>, fail: Block) {
        if let Some(failed) = self.take(b) {
            let next = b.block("next");
            b.branch(failed, fail, next);
            b.switch_to(next);
        }
    }
}
