//! One operation of an expression of a descriptor, and what it does to the operands.

use crate::ir::{Binary, Block, Builder, Convert, Type, Value};
use crate::lower::explain::codes::{Rpn, Used};

/// One operation while it runs. Operands that are not there are read all the same, below the stack, where
/// other parts of the state are; the check of the depth finds it out.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) s: Value,
    pub(crate) used: Used,
    /// The operation's code.
    pub(crate) op: Value,
    /// The last operand, and the one before it.
    pub(crate) top: Value,
    pub(crate) below: Value,
    /// The number of operands.
    pub(crate) depth: Value,
    /// Goes on with a last operand and their number.
    pub(crate) push: Block,
    /// Goes on with so many operands.
    pub(crate) next: Block,
}

impl Machine {
    /// An operation that ends its block itself.
    pub(crate) fn case(self, b: &mut Builder<'_>, op: Rpn, body: impl FnOnce(&mut Builder<'_>)) {
        b.when(self.used, self.op, op, self.next, |b| {
            body(b);
            []
        });
    }

    /// An operation that replaces so many operands by a value.
    fn replace(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        operands: i64,
        body: impl FnOnce(&mut Builder<'_>) -> Value,
    ) {
        self.case(b, op, |b| {
            let value = body(b);
            let value = b.as_word(value);
            let depth = b.binary_const(Binary::Add, self.depth, 1 - operands);
            b.jump(self.push, &[value, depth]);
        });
    }

    /// An operation without operands.
    pub(crate) fn load(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        body: impl FnOnce(&mut Builder<'_>) -> Value,
    ) {
        self.replace(b, op, 0, body);
    }

    /// An operation that only checks something.
    pub(crate) fn check(self, b: &mut Builder<'_>, op: Rpn, body: impl FnOnce(&mut Builder<'_>)) {
        self.case(b, op, |b| {
            body(b);
            b.jump(self.next, &[self.depth]);
        });
    }

    pub(crate) fn unary(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        f: impl FnOnce(&mut Builder<'_>, Value) -> Value,
    ) {
        self.replace(b, op, 1, |b| f(b, self.top));
    }

    pub(crate) fn binary(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        f: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value,
    ) {
        self.replace(b, op, 2, |b| f(b, self.below, self.top));
    }

    pub(crate) fn float(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        f: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value,
    ) {
        self.binary(b, op, |b, x, y| {
            let [x, y] = [x, y].map(|bits| b.convert(Convert::Bitcast, bits, Type::F64));
            f(b, x, y)
        });
    }
}
