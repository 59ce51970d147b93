//! Optional tensors. A branch skips the checks of a tensor that is None, so that the checks need no mask.
//!
//! After the branch, loads from a tensor that is None read a header of zeros.

use abi_spec::layout::DL_TENSOR;

use crate::ir::{Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{scope, steps};
use crate::lower::emitter::presence::absent;
use crate::lower::emitter::state::{TensorState, ValueState};
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

/// Returns true if a branch skips the checks of a value that is None.
fn is_branched(c: &Checker<'_, '_>, value: ValueId) -> bool {
    let declared = &c.e.function.values[value];
    declared.optional && declared.ty.tensor().is_some()
}

/// Emits the checks of an optional tensor if the steps start with one. Returns the number of steps that it has
/// emitted.
pub(super) fn optional_tensor<'a>(c: &mut Checker<'a, '_>, steps: &'a [Step<'a>]) -> usize {
    let Some(value) = steps.first().and_then(Step::opens).filter(|&at| is_branched(c, at)) else {
        return 0;
    };
    let count = steps.iter().take_while(|step| about(step) == Some(value)).count();
    branched_tensor(c, value, &steps[..count]);
    count
}

/// Emits the branch around the steps of an optional tensor.
fn branched_tensor<'a>(c: &mut Checker<'a, '_>, value: ValueId, steps: &'a [Step<'a>]) {
    c.e.enter(value);
    c.checks.mask = None;
    let there = c.e.there(value);
    let shape = c.e.function.tensor(value).map(|tensor| &tensor.shape);
    let dims = shape.map_or(0, |shape| shape.dims().len());
    let symbols = scope::unbound_in(c, steps);
    let join = c.e.b.block("next");
    let has_extents = shape.is_some_and(|shape| shape.rank() != Some(0));
    let words = 1 + usize::from(has_extents);
    let hints = ["", "shape"].map(|part| c.e.hint(value, part, None));
    let params: Vec<Value> =
        hints[..words].iter().map(|hint| c.e.b.block_param(join, Type::Ptr, *hint)).collect();
    let states = scope::carried_to(c, join, &symbols);
    let zeros = absent(&mut c.e.b, (DL_TENSOR.size as usize).max(8 * dims));
    let mut nothing = vec![zeros; words];
    nothing.extend(scope::carry(c, &symbols));
    c.e.b.go_unless(there, join, &nothing);
    let outside = c.e.mark_where_there(value);
    c.branched = Some(value);
    steps::check_step(c, &steps[0]);
    steps::check_steps(c, &steps[1..]);
    c.branched = None;
    let mut found = vec![c.e.tensor(value).dl()];
    found.extend(has_extents.then(|| c.e.tensor(value).shape()));
    found.extend(scope::carry(c, &symbols));
    c.e.b.jump(join, &found);
    c.e.b.switch_to(join);
    c.e.known.go_back(outside);
    scope::set_symbols(c, &symbols, &states);
    let state = TensorState::new(Some(params[0]), params.get(1).copied(), dims);
    c.e.known.load(value, ValueState::Tensor(state));
}

/// Returns the value that a step checks; `None` for steps that concern several values.
pub(super) fn about(step: &Step<'_>) -> Option<ValueId> {
    match step {
        Step::Scalar { value, .. }
        | Step::Header { value, .. }
        | Step::Value { value }
        | Step::Folded { value }
        | Step::Compact { value }
        | Step::Data { value, .. }
        | Step::Each { value, .. }
        | Step::OneOf { value, .. } => Some(*value),
        Step::Occurrence { place, .. } => Some(place.value()),
        Step::BindCompact { .. } | Step::Require(_) => None,
    }
}
