//! Control flow: values that differ between predecessors become block parameters.

use super::{Bool, Compare, Handle, Int, Integer, Make, Single, words};
use crate::ir::{Block, Builder, Cond, Hint, Target, Type, Value};

/// The end of an arm: its last block, and the values that it passes on.
#[derive(Debug)]
pub struct Arm {
    block: Block,
    values: Vec<Value>,
}

/// Ends an arm at the current block; [`join`] adds the jump.
pub fn arm(b: &mut Builder<'_>, handle: impl Handle) -> Arm {
    let values = words(b, handle);
    Arm { block: b.current(), values }
}

/// Joins two arms in a new block. Values that differ become its parameters.
pub fn join<H: Handle>(b: &mut Builder<'_>, arms: [Arm; 2], _: impl FnOnce() -> H) -> H {
    let block = b.block("join");
    let [one, other] = arms;
    let mut merged = Vec::with_capacity(one.values.len());
    let mut args = [Vec::new(), Vec::new()];
    for (&value, &another) in one.values.iter().zip(&other.values) {
        if value == another {
            merged.push(value);
            continue;
        }
        merged.push(b.block_param(block, b.ty(value), Hint::default()));
        args[0].push(value);
        args[1].push(another);
    }
    for (arm, args) in [one, other].into_iter().zip(args) {
        b.switch_to(arm.block);
        b.jump(block, &args);
    }
    b.switch_to(block);
    H::take(&mut merged.into_iter())
}

/// Adds parameters of the types of a handle to a block, with hints.
pub fn params<H: Handle>(b: &mut Builder<'_>, block: Block, names: &[&'static str]) -> H {
    let mut types = Vec::new();
    H::types(&mut types);
    let mut names = names.iter().copied();
    let values: Vec<_> =
        types.into_iter().map(|ty| b.block_param(block, ty, names.next().unwrap_or(""))).collect();
    H::take(&mut values.into_iter())
}

/// Adds parameters of the type of another handle to a block.
pub fn params_like<H: Handle>(
    b: &mut Builder<'_>,
    block: Block,
    names: &[&'static str],
    _: H,
) -> H {
    params(b, block, names)
}

/// Ends the block with a jump, unless it has ended.
pub fn jump(b: &mut Builder<'_>, block: Block, handle: impl Handle) {
    if !b.ended() {
        let values = words(b, handle);
        b.jump(block, &values);
    }
}

/// Ends the block with a branch.
pub fn branch(b: &mut Builder<'_>, cond: Bool, yes: &Target, no: &Target) {
    let cond = cond.value(b);
    b.branch(cond, yes.clone(), no.clone());
}

/// Continues if a code is 0, and calls `leave` with it otherwise. Predecessors that pass a constant code, as those of
/// inline functions do, are redirected without a comparison. `None` is the code of a step that there is not.
pub fn tried(
    b: &mut Builder<'_>,
    code: impl Into<Option<Int<i32>>>,
    mut leave: impl FnMut(&mut Builder<'_>, Int<i32>),
) {
    let Some(code) = code.into() else { return };
    let (here, next, code_value) = (b.current(), b.block("next"), code.value(b));
    for (way, constant) in b.constant_ways(code_value) {
        b.reopen(way);
        if constant == 0 {
            b.jump(next, &[]);
        } else {
            let code = b.constant(Type::I32, constant);
            leave(b, Int::new(code));
        }
    }
    b.switch_to(here);
    let failed = b.compare_const(Cond::Ne, code_value, 0);
    let failure = b.block("failed");
    b.branch(failed, failure, next);
    b.switch_to(failure);
    leave(b, code);
    b.switch_to(next);
}

/// Selects one of two handles, value by value.
pub fn select<H: Handle>(b: &mut Builder<'_>, cond: Bool, then: H, otherwise: impl Make<H>) -> H {
    let cond = cond.value(b);
    let otherwise = otherwise.make(b);
    let mut values = Vec::with_capacity(2);
    then.push(b, &mut values);
    let count = values.len();
    otherwise.push(b, &mut values);
    for at in 0..count {
        let (one, other) = (values[at], values[count + at]);
        if one != other {
            values[at] = b.select(cond, one, other);
        }
    }
    H::take(&mut values.into_iter())
}

/// Compares a counter with its bound.
pub fn is_less<T: Integer>(b: &mut Builder<'_>, at: Int<T>, end: Int<T>) -> Bool {
    let (at, end) = (at.value(b), end.value(b));
    Bool::new(b.compare(<Int<T> as Compare>::CONDS.lt, at, end))
}
