//! Merging checks: what must not differ and what must not hold, gathered until one branch tests all.

use crate::ir::{Binary, Block, Builder, Cond, Convert, Type, Value};

/// Checks that have been computed but not yet branched on.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    /// An `I64`, nonzero if some pair of integers differs.
    difference: Option<Value>,
    /// An `I64`, negative if some integer is that must not be.
    negative: Option<Value>,
    /// An `I64`, nonzero if some 32-bit integer is or some pointer is NULL: a sum of numbers below
    /// 2^32, which cannot wrap. Processors add a comparison with NULL in one instruction.
    sum: Option<Value>,
    /// True if some condition is violated.
    violated: Option<Value>,
    /// Alignments, and an `I64` that is no multiple of it if some address is none.
    addresses: Vec<(u64, Value)>,
    /// A `Bool`: what is required from now on is required only if this is true.
    pub(crate) mask: Option<Value>,
}

impl Checks {
    /// Requires two `I64` to be equal.
    pub(crate) fn equal(&mut self, b: &mut Builder<'_>, lhs: Value, rhs: Value) {
        let difference = b.binary(Binary::Sub, lhs, rhs);
        self.zero(b, difference);
    }

    /// Requires an `I64` to be zero.
    pub(crate) fn zero(&mut self, b: &mut Builder<'_>, value: Value) {
        let value = self.masked(b, value);
        self.difference = Some(match self.difference {
            Some(difference) => b.or(difference, value),
            None => value,
        });
    }

    /// Requires an `I32` to be zero.
    pub(crate) fn zero32(&mut self, b: &mut Builder<'_>, value: Value) {
        let wide = b.convert(Convert::Zext, value, Type::I64);
        self.add(b, wide);
    }

    /// Requires a pointer not to be NULL.
    pub(crate) fn non_null(&mut self, b: &mut Builder<'_>, pointer: Value) {
        let null = b.compare_const(Cond::Eq, pointer, 0);
        let null = b.widen_bool(null, Type::I64);
        self.add(b, null);
    }

    /// An `I64`, or zero where nothing is required.
    fn masked(&self, b: &mut Builder<'_>, value: Value) -> Value {
        let Some(mask) = self.mask else { return value };
        let zero = b.i64(0);
        b.select(mask, value, zero)
    }

    fn add(&mut self, b: &mut Builder<'_>, small: Value) {
        let small = self.masked(b, small);
        self.sum = Some(match self.sum {
            Some(sum) => b.binary(Binary::Add, sum, small),
            None => small,
        });
    }

    /// Requires an `I64` not to be negative.
    pub(crate) fn non_negative(&mut self, b: &mut Builder<'_>, value: Value) {
        let value = self.masked(b, value);
        self.negative = Some(match self.negative {
            Some(negative) => b.or(negative, value),
            None => value,
        });
    }

    /// Requires an address, an `I64`, to be a multiple of a power of two.
    pub(crate) fn aligned(&mut self, b: &mut Builder<'_>, address: Value, align: u64) {
        let address = self.masked(b, address);
        match self.addresses.iter_mut().find(|(of, _)| *of == align) {
            Some((_, all)) => *all = b.or(*all, address),
            None => self.addresses.push((align, address)),
        }
    }

    /// Requires integers to be equal, as `body` says, unless `skip`.
    pub(crate) fn unless(
        &mut self,
        b: &mut Builder<'_>,
        skip: Value,
        body: impl FnOnce(&mut Checks, &mut Builder<'_>),
    ) {
        let before = self.difference.unwrap_or_else(|| b.i64(0));
        let after = b.if_else(
            skip,
            Type::I64,
            |_| before,
            |b| {
                let mut inner = Checks { difference: Some(before), ..Checks::default() };
                body(&mut inner, b);
                inner.difference.unwrap_or(before)
            },
        );
        self.difference = Some(after);
    }

    /// Requires a condition to be false.
    pub(crate) fn never(&mut self, b: &mut Builder<'_>, condition: Value) {
        let condition = self.mask.map_or(condition, |mask| b.and(mask, condition));
        self.violated = Some(match self.violated {
            Some(violated) => b.or(violated, condition),
            None => condition,
        });
    }

    /// An `I64` that is not zero if some check fails; forgets them all.
    pub(crate) fn take(&mut self, b: &mut Builder<'_>) -> Option<Value> {
        let Checks { difference, negative, sum, violated, addresses, mask: _ } =
            std::mem::take(self);
        let mut words: Vec<Value> = difference.into_iter().chain(sum).collect();
        words.extend(negative.map(|negative| b.binary_const(Binary::Lshr, negative, 63)));
        words.extend(violated.map(|violated| b.widen_bool(violated, Type::I64)));
        for (align, all) in addresses {
            words.push(b.binary_const(Binary::And, all, align as i64 - 1));
        }
        words.into_iter().reduce(|all, word| b.or(all, word))
    }

    /// Leaves for `fail` if some check fails, else goes on in a new block.
    pub(crate) fn flush(&mut self, b: &mut Builder<'_>, fail: Block) {
        if let Some(failed) = self.take(b) {
            let failed = b.compare_const(Cond::Ne, failed, 0);
            let next = b.block("next");
            b.branch(failed, fail, next);
            b.switch_to(next);
        }
    }
}
