//! Arithmetic whose results must be `int64`: the flags of an expression are collected, and tested before a branch or a
//! call.

use abi_spec::layout::dl_tensor;

use crate::declaration::Comparison;
use crate::ir::{self, Cond, Convert, Type, Value};
use crate::lower::failure::message::Message;
use crate::lower::failure::overflow::{Flag, Overflow};
use crate::lower::operators;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::operator::{self, Exact};
use crate::resolve::range::Range;
use crate::resolve::term::{Kind, Node, OfTensor, Property, Term};

impl Wrapper<'_, '_> {
    /// Returns the result of an operation. Its flag is still to be tested.
    pub(super) fn exact(&mut self, op: Exact, operands: &[Term; 2], text: &str) -> Value {
        let range = self.range_of_result(op, operands);
        let [lhs, rhs] = operands.each_ref().map(|operand| self.operand(operand));
        if range.fits() || self.checks.passed {
            return operators::wrapping(&mut self.b, op, lhs, rhs);
        }
        let (result, flag) = if range.is_within_uint64() {
            // Modulo 2^64, what is above `int64` is negative.
            let result = operators::wrapping(&mut self.b, op, lhs, rhs);
            (result, Flag::Sign(result))
        } else {
            let (result, flag) = self.b.checked(operators::checked(op), lhs, rhs);
            (result, Flag::Truth(flag))
        };
        self.overflows.push(Overflow { flag, op, operands: [lhs, rhs], text: text.to_owned() });
        result
    }

    /// Notes that a quotient is still to be tested for being that of the least `int64` and -1.
    pub(super) fn note_quotient(&mut self, [x, y]: [Value; 2], text: &str) {
        if self.checks.passed {
            return;
        }
        let is_minus_one = self.b.compare_const(Cond::Eq, y, -1);
        let is_least = self.b.compare_const(Cond::Eq, x, i64::MIN);
        let flag = Flag::Truth(self.b.and(is_minus_one, is_least));
        let zero = self.b.i64(0);
        let text = text.to_owned();
        self.overflows.push(Overflow { flag, op: Exact::Sub, operands: [zero, x], text });
    }

    /// Leaves with an error if one of the flags so far is set.
    pub(crate) fn settle_overflows(&mut self) {
        let all = std::mem::take(&mut self.overflows);
        let (mut truths, mut signs) = (Vec::new(), Vec::new());
        for one in &all {
            match one.flag {
                Flag::Truth(flag) => truths.push(flag),
                Flag::Sign(number) => signs.push(number),
            }
        }
        let signs = signs.into_iter().reduce(|a, b| self.b.binary(ir::Binary::Or, a, b));
        truths.extend(signs.map(|signs| self.b.compare_const(Cond::Slt, signs, 0)));
        let any = truths.into_iter().reduce(|a, b| self.b.or(a, b));
        let Some(any) = any else { return };
        let exit = match self.overflow_exit {
            Some(exit) => exit,
            None => self.exit_of_overflows(&all),
        };
        self.checks.or_go_to(exit).never(&mut self.b, any);
    }

    /// Compares a `uint64` and an `int64`.
    pub(super) fn mixed(&mut self, op: Comparison, operands: &[Term; 2]) -> Value {
        let [first, second] = operands.each_ref().map(|operand| self.operand(operand));
        let (op, lhs, rhs) = match operands[0].kind == Kind::Unsigned {
            true => (op, first, second),
            false => (op.turned(), second, first),
        };
        let holds = operators::binary(&mut self.b, operator::unsigned(op), lhs, rhs);
        // A negative number is less than any `uint64`.
        match op {
            Comparison::Eq | Comparison::Lt | Comparison::Le => {
                let is_natural = self.b.compare_const(Cond::Sge, rhs, 0);
                self.b.and(holds, is_natural)
            }
            Comparison::Ne | Comparison::Gt | Comparison::Ge => {
                let is_negative = self.b.compare_const(Cond::Slt, rhs, 0);
                self.b.or(holds, is_negative)
            }
        }
    }

    /// Returns the product of the extents of a tensor of fixed rank from a declared dim on. Leaves with the message if it
    /// is no `int64`.
    pub(crate) fn exact_product(
        &mut self,
        value: ValueId,
        first: usize,
        message: impl FnOnce(&mut Self) -> Message,
    ) -> Value {
        let (product, flags) = self.checked_product(value, first);
        let Some(flags) = flags else { return product };
        let overflows = self.mask(value).map_or(flags, |there| self.b.and(flags, there));
        let fail = self.failing(message);
        let (large, next) = (self.b.cold_block("large"), self.b.block("next"));
        self.b.branch(overflows, large, next);
        self.b.switch_to(large);
        let is_empty = self.is_any_zero(value, first);
        self.b.branch(is_empty, next, fail);
        self.b.switch_to(next);
        product
    }

    /// Returns the product of the extents of a tensor of fixed rank from a declared dim on, modulo 2^64, and a `Bool`:
    /// false if it is exact. It is exact too if an extent is 0. No routine is called: what is live across a call that
    /// returns to the hot path costs every call of the wrapper.
    pub(crate) fn checked_product(
        &mut self,
        value: ValueId,
        first: usize,
    ) -> (Value, Option<Value>) {
        let mut product: Option<(Value, Range)> = None;
        let mut flags: Option<Value> = None;
        for dim in first..self.rank(value) {
            let (extent, range) = (self.extent(value, dim), self.range(&extent(value, dim)));
            let Some((before, known)) = product else {
                product = Some((extent, range));
                continue;
            };
            let range = Range::exact(Exact::Mul, known, range);
            let result = if range.fits() || self.checks.passed {
                self.b.binary(ir::Binary::Mul, before, extent)
            } else {
                let (result, flag) = self.b.checked(ir::Checked::CheckedMul, before, extent);
                flags = Some(flags.map_or(flag, |flags| self.b.or(flags, flag)));
                result
            };
            product = Some((result, range.and(Range::INT64)));
        }
        (product.map_or_else(|| self.b.i64(1), |(product, _)| product), flags)
    }

    /// Returns a `Bool`: true if an extent of a tensor of fixed rank from a declared dim on is 0.
    pub(crate) fn is_any_zero(&mut self, value: ValueId, first: usize) -> Value {
        let mut any = self.b.constant(Type::Bool, 0);
        for dim in first..self.rank(value) {
            let extent = self.extent(value, dim);
            let zero = self.b.compare_const(Cond::Eq, extent, 0);
            any = if dim == first { zero } else { self.b.or(any, zero) };
        }
        any
    }

    /// Returns the stride of a declared dim. Leaves with an error if it is compact, since the strides are NULL, and no
    /// `int64`. `shown` is the index that the error names.
    pub(super) fn exact_stride(&mut self, value: ValueId, dim: usize, shown: i32) -> Value {
        if self.rank(value) - dim <= 2 || self.checks.passed {
            return self.stride(value, dim);
        }
        let strides = self.strides_pointer(value);
        let some = self.b.compare_const(Cond::Ne, strides, 0);
        let (known, compact) = (self.b.block("strides"), self.b.cold_block("compact"));
        let next = self.b.block("next");
        let hint = self.hint(value, "strides", Some(dim));
        let result = self.b.block_param(next, Type::I64, hint);
        self.b.branch(some, known, compact);
        self.b.switch_to(known);
        let loaded = self.b.load(Type::I64, strides, 8 * dim as i32);
        self.b.jump(next, &[loaded]);
        self.b.switch_to(compact);
        let message = |w: &mut Self| w.large_property(value, &format!(".strides[{shown}]"));
        let product = self.without_dominating(|w| w.exact_product(value, dim + 1, message));
        self.b.jump(next, &[product]);
        self.b.switch_to(next);
        result
    }

    /// Returns a stride of a tensor of any rank, which has the dim. Leaves with an error if it is compact, since the
    /// strides are NULL, and no `int64`.
    pub(super) fn exact_stride_at(&mut self, value: ValueId, at: Value, shown: i32) -> Value {
        self.settle_overflows();
        let dl = self.dl(value);
        let strides = self.b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
        let some = self.b.compare_const(Cond::Ne, strides, 0);
        let (known, compact) = (self.b.block("strides"), self.b.cold_block("compact"));
        let next = self.b.block("next");
        let result = self.b.block_param(next, Type::I64, ir::Hint::default());
        let fail = self.failing(|w| w.large_property(value, &format!(".strides[{shown}]")));
        self.b.branch(some, known, compact);
        self.b.switch_to(known);
        let bytes = self.b.binary_const(ir::Binary::Shl, at, 3);
        let stride = self.b.ptr_add(strides, bytes);
        let loaded = self.b.load(Type::I64, stride, 0);
        self.b.jump(next, &[loaded]);
        self.b.switch_to(compact);
        let after = self.b.binary_const(ir::Binary::Add, at, 1);
        let exact = self.product_after(dl, after);
        let is_large = self.b.compare_const(Cond::Slt, exact, 0);
        self.b.branch(is_large, fail, (next, [exact]));
        self.b.switch_to(next);
        result
    }

    /// Returns the number of elements of a tensor of any rank. Leaves with an error if it is no `int64`.
    pub(super) fn exact_numel(&mut self, value: ValueId) -> Value {
        let dl = self.dl(value);
        let first = self.b.i64(0);
        let numel = self.product_after(dl, first);
        let fits = self.b.compare_const(Cond::Sge, numel, 0);
        let fail = self.failing(|w| w.large_property(value, ".numel"));
        self.b.guard(fits, fail);
        numel
    }

    /// Calls the routine that multiplies the extents of a tensor from a dim on. The product is negative if it is no
    /// `int64`.
    fn product_after(&mut self, dl: Value, first: Value) -> Value {
        let shape = self.b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
        let bytes = self.b.binary_const(ir::Binary::Shl, first, 3);
        let shape = self.b.ptr_add(shape, bytes);
        let ndim = self.b.load(Type::I32, dl, dl_tensor::NDIM.offset);
        let ndim = self.b.convert(Convert::Sext, ndim, Type::I64);
        let count = self.b.binary(ir::Binary::Sub, ndim, first);
        self.routine_value(Routine::FoldedExtent, &[shape, count])
    }

    /// Returns the message for a property of a tensor that is no `int64`. The product that it would be may have more
    /// digits than messages show.
    pub(super) fn large_property(&mut self, value: ValueId, property: &str) -> Message {
        let path = &self.function.values[value].path;
        Message::of(Complaint::LargeNumber, &format!("{path}{property}"))
    }
}

/// Returns the term of an extent of a declared dim.
fn extent(value: ValueId, dim: usize) -> Term {
    let extent = OfTensor::Extent { dim: dim as i32, checked: false };
    Term::new(Kind::Int, Node::Property(value, Property::Tensor(extent)))
}
