//! Structured control flow: bodies are closures that append to blocks of their own.

use super::build::Builder;
use super::entity::{Block, Value};
use super::module::Hint;
use super::signature::Type;

/// The values that a body takes or returns: none, one, or several.
pub trait Values: Clone {
    /// The types of the values.
    type Types;

    /// Makes a value for each type.
    fn make(types: Self::Types, value: impl FnMut(Type) -> Value) -> Self;

    /// Replaces each value.
    fn map(&self, value: impl FnMut(Value) -> Value) -> Self;

    /// Returns all values, in order.
    fn list(&self) -> &[Value];
}

impl Values for () {
    type Types = ();

    fn make((): (), _: impl FnMut(Type) -> Value) {}

    fn map(&self, _: impl FnMut(Value) -> Value) {}

    fn list(&self) -> &[Value] {
        &[]
    }
}

impl Values for Value {
    type Types = Type;

    fn make(ty: Type, mut value: impl FnMut(Type) -> Value) -> Self {
        value(ty)
    }

    fn map(&self, mut value: impl FnMut(Value) -> Value) -> Self {
        value(*self)
    }

    fn list(&self) -> &[Value] {
        std::slice::from_ref(self)
    }
}

impl<const N: usize> Values for [Value; N] {
    type Types = [Type; N];

    fn make(types: [Type; N], value: impl FnMut(Type) -> Value) -> Self {
        types.map(value)
    }

    fn map(&self, value: impl FnMut(Value) -> Value) -> Self {
        <[Value; N]>::map(*self, value)
    }

    fn list(&self) -> &[Value] {
        self
    }
}

impl Values for Vec<Value> {
    type Types = Vec<Type>;

    fn make(types: Vec<Type>, value: impl FnMut(Type) -> Value) -> Self {
        types.into_iter().map(value).collect()
    }

    fn map(&self, value: impl FnMut(Value) -> Value) -> Self {
        self.iter().copied().map(value).collect()
    }

    fn list(&self) -> &[Value] {
        self
    }
}

impl Builder<'_> {
    /// Branches to a new block if `ok`, and to `fail` if not. The new block becomes the current one.
    pub fn guard(&mut self, ok: Value, fail: Block) {
        let next = self.block("next");
        self.branch(ok, next, fail);
        self.switch_to(next);
    }

    /// Emits `if cond { body }`. The body may end its block itself.
    pub fn if_then(&mut self, cond: Value, body: impl FnOnce(&mut Self)) {
        let (then, join) = (self.block("then"), self.block("join"));
        self.branch(cond, then, join);
        self.switch_to(then);
        body(self);
        self.leave_for(join, &[]);
        self.switch_to(join);
    }

    /// Emits an `if` with two bodies and returns the values of the body that ran. A body may end its block itself; its
    /// values are then ignored.
    ///
    /// ```
    /// # use tvm_ffi_codegen::ir::{Builder, Cond, Linkage, Module, Signature, Type};
    /// # let mut module = Module::default();
    /// # let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    /// # let mut b = Builder::function(&mut module, "f", Linkage::Export, signature);
    /// let (x, y) = (b.param(0), b.param(1));
    /// let less = b.compare(Cond::Slt, x, y);
    /// let [low, high] = b.if_else(less, [Type::I64; 2], |_| [x, y], |_| [y, x]);
    /// ```
    pub fn if_else<V: Values>(
        &mut self,
        cond: Value,
        types: V::Types,
        then: impl FnOnce(&mut Self) -> V,
        otherwise: impl FnOnce(&mut Self) -> V,
    ) -> V {
        let (yes, no, join) = (self.block("then"), self.block("else"), self.block("join"));
        let result = V::make(types, |ty| self.block_param(join, ty, Hint::default()));
        self.branch(cond, yes, no);
        self.switch_to(yes);
        let values = then(self);
        self.leave_for(join, values.list());
        self.switch_to(no);
        let values = otherwise(self);
        self.leave_for(join, values.list());
        self.switch_to(join);
        result
    }

    /// Emits a loop that runs `body` while `cond` is true.
    pub fn while_loop(
        &mut self,
        cond: impl FnOnce(&mut Self) -> Value,
        body: impl FnOnce(&mut Self),
    ) {
        self.loop_with((), |b, ()| cond(b), |b, ()| body(b));
    }

    /// Emits a loop that carries values: while `cond` of the values is true, `body` computes the next ones. Returns the
    /// values for which `cond` was false. The body may end its block itself.
    ///
    /// ```
    /// # use tvm_ffi_codegen::ir::{Binary, Builder, Cond, Linkage, Module, Signature, Type};
    /// # let mut module = Module::default();
    /// # let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    /// # let mut b = Builder::function(&mut module, "f", Linkage::Export, signature);
    /// let (x, y) = (b.param(0), b.param(1));
    /// let [divisor, _] = b.loop_with(
    ///     [x, y],
    ///     |b, [_, rest]| b.compare_const(Cond::Ne, rest, 0),
    ///     |b, [x, y]| [y, b.binary(Binary::Urem, x, y)],
    /// );
    /// ```
    pub fn loop_with<V: Values>(
        &mut self,
        initial: V,
        cond: impl FnOnce(&mut Self, V) -> Value,
        body: impl FnOnce(&mut Self, V) -> V,
    ) -> V {
        let (head, inner, done) = (self.block("loop"), self.block("body"), self.block("done"));
        let state = initial.map(|value| self.block_param(head, self.ty(value), Hint::default()));
        self.jump(head, initial.list());
        self.switch_to(head);
        let again = cond(self, state.clone());
        self.branch(again, inner, done);
        self.switch_to(inner);
        let next = body(self, state.clone());
        self.leave_for(head, next.list());
        self.switch_to(done);
        state
    }

    /// Ends the block with a jump, unless it has ended.
    fn leave_for(&mut self, block: Block, args: &[Value]) {
        if !self.ended() {
            self.jump(block, args);
        }
    }
}
