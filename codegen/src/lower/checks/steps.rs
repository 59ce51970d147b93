//! Steps of a prologue, in order: each step makes the loads of the next ones safe.

use crate::declaration::{Leaf, ParamType};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{
    binding, layout, optional, outline, runs, scalar, sequence, strides, tensor, terms, union,
    value, view,
};
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;
use crate::resolve::value::Source;

/// Emits steps in order.
pub(in crate::lower) fn check_steps<'a>(c: &mut Checker<'a, '_>, steps: &'a [Step<'a>]) {
    let mut rest = steps;
    while let Some((first, others)) = rest.split_first() {
        let outside = c.e.begin_topic(first.topic());
        let count = check_group(c, rest);
        if count == 0 {
            check_step(c, first);
            rest = others;
        } else {
            rest = &rest[count..];
        }
        c.e.b.set_topic(outside);
    }
}

/// Emits the first steps together if they are those of an optional tensor, a run or declared strides. Returns their
/// number, which is 0 otherwise.
fn check_group<'a>(c: &mut Checker<'a, '_>, steps: &'a [Step<'a>]) -> usize {
    let optional = optional::optional_tensor(c, steps);
    if optional > 0 {
        return optional;
    }
    let run = runs::run(c, steps);
    if run > 0 {
        return run;
    }
    strides::declared_strides(c, steps)
}

/// Emits one step.
pub(super) fn check_step<'a>(c: &mut Checker<'a, '_>, step: &'a Step<'a>) {
    let outside = c.e.begin_topic(step.topic());
    match step {
        Step::Scalar { value, scalar } => {
            open(c, *value);
            scalar::scalar(c, *value, *scalar);
        }
        Step::Header { value, tensor, device } => {
            open(c, *value);
            tensor::tensor_type(c, *value);
            c.settle(*value);
            tensor::tensor_header(c, *value, tensor, *device);
        }
        Step::Value { value } => {
            open(c, *value);
            value::value_type(c, *value);
            c.settle(*value);
            value::value_header(c, *value);
        }
        Step::Occurrence { place, rule } => {
            c.only_if_there(place.value());
            binding::occurrence(c, *place, rule);
        }
        Step::Folded { value } => {
            c.only_if_there(*value);
            view::folded(c, *value);
        }
        Step::Compact { value } => {
            c.only_if_there(*value);
            layout::compact(c, *value);
        }
        Step::Data { value, align } => {
            c.only_if_there(*value);
            layout::data(c, *value, *align);
        }
        Step::BindCompact { symbol, place, linear } => {
            binding::settle_symbol(c, *symbol, *place, linear)
        }
        Step::Each { value, steps } => sequence::each(c, *value, steps),
        Step::OneOf { value, types } => union::one_of(c, *value, types),
        Step::Require(condition) => terms::require(c, condition),
    }
    c.checks.mask = None;
    c.e.b.set_topic(outside);
}

/// Begins the checks of a value at its first step: sets the exit and the mask.
fn open(c: &mut Checker<'_, '_>, value: ValueId) {
    // A branch around the value has computed whether it is present.
    if c.branched != Some(value) {
        c.e.enter(value);
    }
    c.only_if_there(value);
    let declared = &c.e.function.values[value];
    let is_free = matches!(declared.ty, ParamType::Leaf(Leaf::Any) | ParamType::Union(_))
        || matches!(declared.source, Source::Rest(_) | Source::Context);
    if !is_free && !outline::is_outlined(c, value) {
        c.set_exit(value);
    }
}
