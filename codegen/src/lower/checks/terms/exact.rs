//! Arithmetic whose results must be `int64`: the flags of an expression are collected, and tested before a branch or a
//! call.

use abi_spec::layout::dl_tensor;

use crate::declaration::Comparison;
use crate::ir::{self, Cond, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{evaluate, range};
use crate::lower::failure::message::Message;
use crate::lower::failure::overflow::{Flag, Overflow};
use crate::lower::operators;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::resolve::ids::ValueId;
use crate::resolve::operator::{self, Exact};
use crate::resolve::range::Range;
use crate::resolve::term::{Kind, Node, OfTensor, Property, Term};
use crate::trace::explain;

/// Returns the result of an operation. Its flag is still to be tested.
pub(super) fn exact(c: &mut Checker<'_, '_>, op: Exact, operands: &[Term; 2], text: &str) -> Value {
    let range = range::range_of_result(c, op, operands);
    let [lhs, rhs] = operands.each_ref().map(|operand| evaluate::eval_operand(c, operand));
    if range.fits() && !text.is_empty() {
        let of = &c.e.function.declared.signature.name;
        explain!("{of}: `{text}` has no flag: it is in the range {range}");
    }
    if range.fits() || c.checks.passed {
        return operators::wrapping(&mut c.e.b, op, lhs, rhs);
    }
    let (result, flag) = if range.is_within_uint64() {
        // Modulo 2^64, what is above `int64` is negative.
        let result = operators::wrapping(&mut c.e.b, op, lhs, rhs);
        (result, Flag::Sign(result))
    } else {
        let (result, flag) = c.e.b.checked(operators::checked(op), lhs, rhs);
        (result, Flag::Truth(flag))
    };
    c.overflows.push(Overflow { flag, op, operands: [lhs, rhs], text: text.to_owned() });
    result
}

/// Notes that a quotient is still to be tested for being that of the least `int64` and -1.
pub(super) fn note_quotient(c: &mut Checker<'_, '_>, [x, y]: [Value; 2], text: &str) {
    if c.checks.passed {
        return;
    }
    let is_minus_one = c.e.b.compare_const(Cond::Eq, y, -1);
    let is_least = c.e.b.compare_const(Cond::Eq, x, i64::MIN);
    let flag = Flag::Truth(c.e.b.and(is_minus_one, is_least));
    let zero = c.e.b.i64(0);
    let text = text.to_owned();
    c.overflows.push(Overflow { flag, op: Exact::Sub, operands: [zero, x], text });
}

/// Leaves with an error if one of the flags so far is set.
pub(super) fn settle_overflows(c: &mut Checker<'_, '_>) {
    let all = std::mem::take(&mut c.overflows);
    let (mut truths, mut signs) = (Vec::new(), Vec::new());
    for one in &all {
        match one.flag {
            Flag::Truth(flag) => truths.push(flag),
            Flag::Sign(number) => signs.push(number),
        }
    }
    let signs = signs.into_iter().reduce(|a, b| c.e.b.binary(ir::Binary::Or, a, b));
    truths.extend(signs.map(|signs| c.e.b.compare_const(Cond::Slt, signs, 0)));
    let any = truths.into_iter().reduce(|a, b| c.e.b.or(a, b));
    let Some(any) = any else { return };
    let exit = match c.overflow_exit {
        Some(exit) => exit,
        None => c.exits.overflow(&mut c.e, &all),
    };
    c.checks.or_go_to(exit).never(&mut c.e.b, any);
}

/// Compares a `uint64` and an `int64`.
pub(super) fn mixed(c: &mut Checker<'_, '_>, op: Comparison, operands: &[Term; 2]) -> Value {
    let [first, second] = operands.each_ref().map(|operand| evaluate::eval_operand(c, operand));
    let (op, lhs, rhs) = match operands[0].kind == Kind::Unsigned {
        true => (op, first, second),
        false => (op.turned(), second, first),
    };
    let holds = operators::binary(&mut c.e.b, operator::unsigned(op), lhs, rhs);
    // A negative number is less than any `uint64`.
    match op {
        Comparison::Eq | Comparison::Lt | Comparison::Le => {
            let is_natural = c.e.b.compare_const(Cond::Sge, rhs, 0);
            c.e.b.and(holds, is_natural)
        }
        Comparison::Ne | Comparison::Gt | Comparison::Ge => {
            let is_negative = c.e.b.compare_const(Cond::Slt, rhs, 0);
            c.e.b.or(holds, is_negative)
        }
    }
}

/// Returns the product of the extents of a tensor of fixed rank from a declared dim on. Leaves with the message if it
/// is no `int64`.
pub(super) fn exact_product(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    first: usize,
    message: impl FnOnce(&mut Checker<'_, '_>) -> Message,
) -> Value {
    let (product, flags) = checked_product(c, value, first);
    let Some(flags) = flags else { return product };
    let overflows = c.e.known.mask(value).map_or(flags, |there| c.e.b.and(flags, there));
    let fail = c.failing(message);
    let next = c.e.b.enter_cold_if(overflows, "large");
    let is_empty = is_any_zero(c, value, first);
    c.e.b.branch(is_empty, next, fail);
    c.e.b.switch_to(next);
    product
}

/// Returns the product of the extents of a tensor of fixed rank from a declared dim on, modulo 2^64, and a `Bool`:
/// false if it is exact. It is exact too if an extent is 0. No routine is called: what is live across a call that
/// returns to the hot path costs every call of the wrapper.
pub(in crate::lower::checks) fn checked_product(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    first: usize,
) -> (Value, Option<Value>) {
    let mut product: Option<(Value, Range)> = None;
    let mut flags: Option<Value> = None;
    for dim in first..c.e.tensor(value).rank() {
        let (extent, range) = (c.e.tensor(value).extent(dim), range::range(c, &extent(value, dim)));
        let Some((before, known)) = product else {
            product = Some((extent, range));
            continue;
        };
        let range = Range::exact(Exact::Mul, known, range);
        let result = if range.fits() || c.checks.passed {
            c.e.b.binary(ir::Binary::Mul, before, extent)
        } else {
            let (result, flag) = c.e.b.checked(ir::Checked::CheckedMul, before, extent);
            flags = Some(flags.map_or(flag, |flags| c.e.b.or(flags, flag)));
            result
        };
        product = Some((result, range.and(Range::INT64)));
    }
    (product.map_or_else(|| c.e.b.i64(1), |(product, _)| product), flags)
}

/// Returns a `Bool`: true if an extent of a tensor of fixed rank from a declared dim on is 0.
fn is_any_zero(c: &mut Checker<'_, '_>, value: ValueId, first: usize) -> Value {
    let mut any = c.e.b.constant(Type::Bool, 0);
    for dim in first..c.e.tensor(value).rank() {
        let extent = c.e.tensor(value).extent(dim);
        let zero = c.e.b.compare_const(Cond::Eq, extent, 0);
        any = if dim == first { zero } else { c.e.b.or(any, zero) };
    }
    any
}

/// Returns the stride of a declared dim. Leaves with an error if it is compact, since the strides are NULL, and no
/// `int64`. `shown` is the index that the error names.
pub(super) fn exact_stride(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    dim: usize,
    shown: i32,
) -> Value {
    if c.e.tensor(value).rank() - dim <= 2 || c.checks.passed {
        return c.e.tensor(value).stride(dim);
    }
    let strides = c.e.tensor(value).strides_pointer();
    let some = c.e.b.compare_const(Cond::Ne, strides, 0);
    let (known, compact) = (c.e.b.block("strides"), c.e.b.cold_block("compact"));
    let next = c.e.b.block("next");
    let hint = c.e.hint(value, "strides", Some(dim));
    let result = c.e.b.block_param(next, Type::I64, hint);
    c.e.b.branch(some, known, compact);
    c.e.b.switch_to(known);
    let loaded = c.e.b.load(Type::I64, strides, 8 * dim as i32);
    c.e.b.jump(next, &[loaded]);
    c.e.b.switch_to(compact);
    let message = |c: &mut Checker<'_, '_>| large_property(c, value, &format!(".strides[{shown}]"));
    let product = c.without_dominating(|c| exact_product(c, value, dim + 1, message));
    c.e.b.jump(next, &[product]);
    c.e.b.switch_to(next);
    result
}

/// Returns a stride of a tensor of any rank, which has the dim. Leaves with an error if it is compact, since the
/// strides are NULL, and no `int64`.
pub(super) fn exact_stride_at(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    at: Value,
    shown: i32,
) -> Value {
    settle_overflows(c);
    let dl = c.e.tensor(value).dl();
    let strides = c.e.b.load(Type::Ptr, dl, dl_tensor::STRIDES.offset);
    let some = c.e.b.compare_const(Cond::Ne, strides, 0);
    let (known, compact) = (c.e.b.block("strides"), c.e.b.cold_block("compact"));
    let next = c.e.b.block("next");
    let result = c.e.b.block_param(next, Type::I64, ir::Hint::default());
    let fail = c.failing(|c| large_property(c, value, &format!(".strides[{shown}]")));
    c.e.b.branch(some, known, compact);
    c.e.b.switch_to(known);
    let bytes = c.e.b.binary_const(ir::Binary::Shl, at, 3);
    let stride = c.e.b.ptr_add(strides, bytes);
    let loaded = c.e.b.load(Type::I64, stride, 0);
    c.e.b.jump(next, &[loaded]);
    c.e.b.switch_to(compact);
    let after = c.e.b.binary_const(ir::Binary::Add, at, 1);
    let exact = product_after(c, dl, after);
    let is_large = c.e.b.compare_const(Cond::Slt, exact, 0);
    c.e.b.branch(is_large, fail, (next, [exact]));
    c.e.b.switch_to(next);
    result
}

/// Returns the number of elements of a tensor of any rank. Leaves with an error if it is no `int64`.
pub(super) fn exact_numel(c: &mut Checker<'_, '_>, value: ValueId) -> Value {
    let dl = c.e.tensor(value).dl();
    let first = c.e.b.i64(0);
    let numel = product_after(c, dl, first);
    let fits = c.e.b.compare_const(Cond::Sge, numel, 0);
    let fail = c.failing(|c| large_property(c, value, ".numel"));
    c.e.b.guard(fits, fail);
    numel
}

/// Calls the routine that multiplies the extents of a tensor from a dim on. The product is negative if it is no
/// `int64`.
fn product_after(c: &mut Checker<'_, '_>, dl: Value, first: Value) -> Value {
    c.e.routine_value(Routine::ExtentsFrom, &[dl, first])
}

/// Returns the message for a property of a tensor that is no `int64`. The product that it would be may have more
/// digits than messages show.
pub(super) fn large_property(c: &mut Checker<'_, '_>, value: ValueId, property: &str) -> Message {
    let path = &c.e.function.values[value].path;
    Message::of(Complaint::LargeNumber, &format!("{path}{property}"))
}

/// Returns the term of an extent of a declared dim.
fn extent(value: ValueId, dim: usize) -> Term {
    let extent = OfTensor::Extent { dim: dim as i32, checked: false };
    Term::new(Kind::Int, Node::Property(value, Property::Tensor(extent)))
}
