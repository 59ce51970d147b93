//! Leading dims of tensors of which only the last dims are declared.

use abi_spec::layout::dl_tensor;

use crate::declaration::{Strides, Tensor};
use crate::ir::{Cond, Hint, Target, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::resolve::ids::ValueId;

/// Checks the leading dims of a tensor, and records the numbers that the declared dims see. A tensor that has as
/// many dims as are declared passes by one comparison.
pub(super) fn view(c: &mut Checker<'_, '_>, value: ValueId, tensor: &Tensor) {
    let mut fields = vec![dl_tensor::SHAPE];
    let has_strides = matches!(tensor.strides, Strides::List(_));
    if has_strides {
        fields.push(dl_tensor::STRIDES);
    }
    let asks_leading = has_strides || tensor.checks_fold();
    let ndim = c.e.tensor(value).ndim32();
    let shape = c.e.tensor(value).shape();
    let own: Vec<Value> = fields
        .iter()
        .map(|&of| if of == dl_tensor::SHAPE { shape } else { c.e.tensor(value).own_dims(of) })
        .collect();
    let [leading, next] = ["leading", "next"].map(|label| c.e.b.block(label));
    let hints = ["shape", "strides"].map(|part| c.e.hint(value, part, None));
    let seen: Vec<Value> =
        own.iter().zip(hints).map(|(_, h)| c.e.b.block_param(next, Type::Ptr, h)).collect();
    let told = asks_leading.then(|| c.e.b.block_param(next, Type::I64, Hint::default()));
    let mut args = own.clone();
    args.extend(told.map(|_| c.e.b.i64(1)));
    let is_own = c.e.b.compare_const(Cond::Eq, ndim, tensor.shape.dims().len() as i64);
    let passes = c.e.or_absent(value, is_own);
    c.e.b.branch(passes, Target { block: next, args }, leading);
    c.e.b.switch_to(leading);
    c.without_dominating(|c| {
        let found = c.e.tensor(value).look_at_leading();
        let exit = c.exits.leading(&mut c.e, value);
        let wrong = c.e.b.compare_const(Cond::Slt, found, 0);
        let right = c.e.b.block("next");
        c.e.b.branch(wrong, exit, right);
        c.e.b.switch_to(right);
        let pairs = own.iter().zip(&fields);
        let mut args: Vec<Value> =
            pairs.map(|(&own, &of)| c.e.tensor(value).viewed(ndim, own, of)).collect();
        args.extend(told.map(|_| found));
        c.e.b.jump(next, &args);
    });
    c.e.b.switch_to(next);
    let shape = c.e.readable(value, seen[0], 8 * tensor.shape.dims().len());
    let state = c.e.known.tensor(value);
    (state.shape, state.strides_pointer) = (Some(shape), seen.get(1).copied());
    state.leading = told;
}

/// Fills the view of folded dims for a tensor that has passed its checks before.
pub(super) fn fill_view(c: &mut Checker<'_, '_>, value: ValueId) {
    let folds = |tensor: &Tensor| tensor.shape.folds();
    if !c.e.function.tensor(value).is_some_and(folds) {
        return;
    }
    let Some(there) = c.e.known.mask(value) else {
        c.e.tensor(value).look_at_leading();
        return;
    };
    let [some, next] = ["some", "next"].map(|label| c.e.b.block(label));
    c.e.b.branch(there, some, next);
    c.e.b.switch_to(some);
    c.without_dominating(|c| c.e.tensor(value).look_at_leading());
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}

/// Checks that the leading dims of a tensor are one dim in memory.
pub(super) fn folded(c: &mut Checker<'_, '_>, value: ValueId) {
    let found = c.e.tensor(value).leading();
    let exit = c.exits.leading(&mut c.e, value);
    let apart = c.e.b.compare_const(Cond::Eq, found, 0);
    c.checks.or_go_to(exit).never(&mut c.e.b, apart);
}
