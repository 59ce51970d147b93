//! Compact strides and data of tensors. Usual tensors pass inline; a routine judges the others in a cold block.
//!
//! After the routine, extents and data are loaded again from the tensor: a value that is live across its call would
//! take a callee-saved register, which costs every call of the wrapper.

use abi_spec::layout::dl_tensor;

use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::checks::check::Checks;
use crate::lower::checks::checker::Checker;
use crate::lower::checks::outline;
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::routines::Routine;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Topic;

/// Notes that a tensor must have compact strides, which are checked together with its data.
pub(super) fn compact(c: &mut Checker<'_, '_>, value: ValueId) {
    let scalar = c.e.tensor(value).rank() == 0 && !c.e.function.any_rank(value);
    c.e.known.tensor(value).compact = !scalar;
}

/// Checks the data pointer of a tensor, its alignment and, if noted, its compact strides.
pub(super) fn data(c: &mut Checker<'_, '_>, value: ValueId, align: u64) {
    if outline::is_outlined(c, value) {
        settle(c, value, align);
        return;
    }
    if c.e.function.any_rank(value) && !c.e.tensor(value).trailing() {
        return data_of_any_rank(c, value, align);
    }
    let unusual = c.e.b.cold_block("unusual");
    let next = c.e.b.block("next");
    let hint = c.e.hint(value, "address", None);
    let known = c.e.b.block_param(next, Type::Ptr, hint);
    let mut found = vec![usual(c, value, align, unusual)];
    found.extend(extents_again(c, value, next));
    c.e.b.jump(next, &found);
    c.e.b.switch_to(unusual);
    let dl = settle(c, value, align);
    let found = read_again(c, value, dl);
    c.e.b.jump(next, &found);
    c.e.b.switch_to(next);
    c.e.known.remember(value, |state| state.address = Some(known));
}

/// Rebinds each symbol that equals an extent of a tensor to a new parameter of `next`. Returns the arguments for
/// these parameters. Leaves symbols alone if the tensor is an element or may be absent.
fn extents_again(c: &mut Checker<'_, '_>, value: ValueId, next: Block) -> Vec<Value> {
    if !c.e.is_once(value) || !c.e.known.dominates_uses(value) {
        c.e.known.tensor(value).symbols.clear();
    }
    let mut before = Vec::new();
    for (dim, symbol) in c.e.known.tensor(value).symbols.clone() {
        let hint = c.e.hint(value, "shape", Some(dim));
        let param = c.e.b.block_param(next, Type::I64, hint);
        before.push(c.e.tensor(value).extent(dim));
        let origin = match c.e.known.symbol(symbol) {
            SymbolState::Bound(_, origin) => origin,
            SymbolState::Unbound | SymbolState::Maybe(..) => Origin::UNNAMED,
        };
        c.e.known.set_symbol(symbol, SymbolState::Bound(param, origin));
        c.e.known.tensor(value).extents[dim] = Some(param);
    }
    before
}

/// Loads the address of the data and the extents of the rebound symbols from a tensor that the routine has
/// accepted.
fn read_again(c: &mut Checker<'_, '_>, value: ValueId, dl: Value) -> Vec<Value> {
    let data = c.e.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let offset = c.e.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
    let mut found = vec![c.e.b.ptr_add(data, offset)];
    let symbols = c.e.known.tensor(value).symbols.clone();
    if !symbols.is_empty() {
        let shape = c.e.tensor(value).declared_dims_of(dl, dl_tensor::SHAPE);
        let extents = symbols.iter().map(|(dim, _)| c.e.b.load(Type::I64, shape, 8 * *dim as i32));
        found.extend(extents);
    }
    found
}

/// Emits the call of the routine for a tensor of any rank.
fn data_of_any_rank(c: &mut Checker<'_, '_>, value: ValueId, align: u64) {
    let [some, next] = ["some", "next"].map(|label| c.e.b.block(label));
    let there = c.e.there(value);
    c.e.b.branch(there, some, next);
    c.e.b.switch_to(some);
    settle(c, value, align);
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}

/// Branches to `unusual` unless the data pointer is not NULL, it is aligned, and the strides are compact; returns the
/// address of the data.
///
/// Extents that stay in registers are loaded before the first branch. One other load stands between any two
/// branches; otherwise LLVM would merge the conditions.
fn usual(c: &mut Checker<'_, '_>, value: ValueId, align: u64, unusual: Block) -> Value {
    let checks = c.checks.or_go_to(unusual);
    let compact = c.e.known.tensor(value).compact;
    if compact && c.e.tensor(value).trailing() {
        // The routine judges the strides of a tensor that is not its own view.
        let (ndim, dims) = (c.e.tensor(value).ndim32(), c.e.tensor(value).rank() as i64);
        checks.equal_const(&mut c.e.b, ndim, dims);
    }
    let extents = (1..c.e.tensor(value).rank()).filter(|_| compact);
    let extents: Vec<Value> = extents.map(|dim| c.e.tensor(value).extent(dim)).collect();
    let data = c.e.tensor(value).data_pointer();
    checks.non_null(&mut c.e.b, data);
    let address = c.e.tensor(value).address();
    if align > 1 {
        let word = c.e.b.convert(Convert::PtrToInt, address, Type::I64);
        checks.aligned(&mut c.e.b, word, align);
    }
    if compact {
        let outside = c.e.begin_topic(Topic::strides(value));
        usual_strides(c, value, &extents, unusual);
        c.e.b.set_topic(outside);
    }
    address
}

/// Branches to `unusual` unless the strides are NULL or compact. `extents` are those of all dims but the first.
fn usual_strides(c: &mut Checker<'_, '_>, value: ValueId, extents: &[Value], unusual: Block) {
    let strides = c.e.tensor(value).field(Type::Ptr, dl_tensor::STRIDES.offset, "strides");
    let strides = c.e.or_zero(value, strides);
    let [some, done] = ["strides", "next"].map(|label| c.e.b.block(label));
    let absent = c.e.b.compare_const(Cond::Eq, strides, 0);
    c.e.b.branch(absent, done, some);
    c.e.b.switch_to(some);
    let checks = Checks { fail: unusual, mask: None, passed: false };
    let mut compact = None;
    for dim in (0..=extents.len()).rev() {
        let stride = c.e.b.load(Type::I64, strides, 8 * dim as i32);
        let hint = c.e.hint(value, "strides", Some(dim));
        c.e.b.hint(stride, hint);
        match compact {
            None => checks.equal_const(&mut c.e.b, stride, 1),
            Some(compact) => checks.equal(&mut c.e.b, stride, compact),
        }
        if let Some(&extent) = dim.checked_sub(1).map(|right| &extents[right]) {
            let product = compact.map(|compact| c.e.b.binary(Binary::Mul, compact, extent));
            compact = product.or(Some(extent));
        }
    }
    c.e.b.jump(done, &[]);
    c.e.b.switch_to(done);
}

/// Emits the call of the routine that judges data and strides. Leaves with an error if the routine refuses the
/// tensor. Returns the `DLTensor*` that the routine returns.
fn settle(c: &mut Checker<'_, '_>, value: ValueId, align: u64) -> Value {
    let (dl, compact) = (c.e.tensor(value).dl(), c.e.known.tensor(value).compact);
    let mask = c.e.b.i64((align - 1) as i64);
    let compact = c.e.b.i32(i32::from(compact));
    let settled = c.e.routine_value(Routine::Settle, &[dl, mask, compact]);
    let exit = c.exits.layout(&mut c.e, value, settled);
    let word = c.e.b.convert(Convert::PtrToInt, settled, Type::I64);
    let refused = c.e.b.binary_const(Binary::And, word, 1);
    c.checks.or_go_to(exit).equal_const(&mut c.e.b, refused, 0);
    settled
}
