//! Values that have passed their checks: they are unpacked where they are used, and nothing is checked again.

use abi_spec::layout::{DL_TENSOR, any, dl_tensor};

use crate::ir::{Cond, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{binding, devices, scalar, steps, union, value, view};
use crate::lower::emitter::state::{Origin, SymbolState, TensorState, ValueState};
use crate::lower::emitter::tensor::dl_of;
use crate::lower::routines::Routine;
use crate::resolve::body::Received;
use crate::resolve::ids::{LocalId, SymbolId, ValueId};
use crate::resolve::step::{Place, Rule, Step};

/// Emits code that unpacks values and binds symbols as steps do that have succeeded for the same values. If lists may
/// have changed since then, those that stand for shapes are checked again.
pub(in crate::lower) fn unpack_steps<'a>(
    c: &mut Checker<'a, '_>,
    steps: &'a [Step<'a>],
    changed: bool,
) {
    for step in steps {
        if changed && is_of_shape(c, step) || parses(c, step) {
            steps::check_step(c, step);
        } else {
            unpack_step(c, step);
        }
    }
}

/// Returns true for a check of a shape, which may have been given as a list.
fn is_of_shape(c: &Checker<'_, '_>, step: &Step<'_>) -> bool {
    match step {
        Step::Value { value } => c.e.function.values[*value].ty.shape().is_some(),
        Step::Occurrence { place, .. } => matches!(place, Place::Number { .. }),
        Step::Scalar { .. }
        | Step::Header { .. }
        | Step::Folded { .. }
        | Step::Compact { .. }
        | Step::Data { .. }
        | Step::BindCompact { .. }
        | Step::Each { .. }
        | Step::OneOf { .. }
        | Step::Require(_) => false,
    }
}

/// Returns true for a check of text that the runtime parses again, for which it may lack memory.
fn parses(c: &Checker<'_, '_>, step: &Step<'_>) -> bool {
    matches!(step, Step::Value { value } if union::may_parse(c, *value))
}

/// Checks that a value at an address, which code outside of this function has written, conforms to its declared type.
/// The checks are those of arguments; `first` emits those that come before.
pub(super) fn conform<'a>(
    c: &mut Checker<'a, '_>,
    received: &'a Received<'a>,
    at: Value,
    first: impl FnOnce(&mut Checker<'a, '_>),
) {
    c.e.known.set_address(received.value, Some(at));
    let devices = std::mem::take(&mut c.devices);
    devices::device_table(c, &received.steps);
    c.exits.subjects.note_requirements(&received.steps);
    for &symbol in &received.known {
        know_symbol(c, symbol, c.e.function.symbols[symbol].local);
    }
    first(c);
    steps::check_steps(c, &received.steps);
    c.devices = devices;
}

/// Checks that a value that a call has written is owned and conforms to its declared type. The checks are those of
/// arguments.
pub(in crate::lower) fn receive<'a>(
    c: &mut Checker<'a, '_>,
    received: &'a Received<'a>,
    at: Value,
) {
    conform(c, received, at, |c| {
        c.checks.fail = c.exits.owned(&mut c.e, received.value);
        require_owned(c, received.value, at);
    });
}

/// Checks that a value is owned. For a type that is never an object, only the padding is checked.
fn require_owned(c: &mut Checker<'_, '_>, value: ValueId, at: Value) {
    let wrong = if c.e.function.is_plain(value) {
        let length = c.e.b.load(Type::I32, at, any::SMALL_LEN.offset);
        c.e.b.compare_const(Cond::Ne, length, 0)
    } else {
        let owned = c.e.routine_value(Routine::IsOwned, &[at]);
        c.e.b.compare_const(Cond::Eq, owned, 0)
    };
    c.checks.never(&mut c.e.b, wrong);
}

/// Binds an unbound symbol to the number of the body, or the captured one, that it stands for, if any.
pub(in crate::lower) fn know_symbol(
    c: &mut Checker<'_, '_>,
    symbol: SymbolId,
    local: Option<LocalId>,
) {
    if let SymbolState::Unbound = c.e.known.symbol(symbol)
        && let Some(local) = local
    {
        let known = c.e.local(local);
        c.e.known.set_symbol(symbol, SymbolState::Bound(known, Origin::UNNAMED));
    }
}

fn unpack_step<'a>(c: &mut Checker<'a, '_>, step: &'a Step<'a>) {
    match step {
        Step::Scalar { value, scalar } => {
            c.e.enter(*value);
            assuming_passed(c, *value, |c| scalar::scalar(c, *value, *scalar));
        }
        Step::Header { value, .. } => {
            c.e.enter(*value);
            unpack_tensor(c, *value);
        }
        Step::Value { value } => {
            c.e.enter(*value);
            assuming_passed(c, *value, |c| {
                value::value_type(c, *value);
                value::value_header(c, *value);
            });
        }
        Step::Occurrence {
            place,
            rule: rule @ (Rule::Symbol(symbol) | Rule::Solve { symbol, .. }),
        } => {
            let is_local = c.e.function.symbols[*symbol].local.is_some();
            if !is_local && !c.e.known.symbol(*symbol).is_bound() {
                bind_again(c, *place, rule);
            }
        }
        Step::BindCompact { symbol, place, linear } => {
            if let SymbolState::Maybe(..) = c.e.known.symbol(*symbol) {
                binding::settle_symbol(c, *symbol, *place, linear);
            }
        }
        Step::OneOf { value, types } if c.e.function.values[*value].matched => {
            let devices = std::mem::take(&mut c.devices);
            devices::device_table(c, std::slice::from_ref(step));
            union::one_of(c, *value, types);
            c.devices = devices;
        }
        Step::Occurrence { rule: Rule::Any | Rule::Equal { .. }, .. }
        | Step::Folded { .. }
        | Step::Compact { .. }
        | Step::Data { .. }
        | Step::Each { .. }
        | Step::OneOf { .. }
        | Step::Require(_) => {}
    }
}

/// Binds a symbol to the number at a place.
fn bind_again(c: &mut Checker<'_, '_>, place: Place, rule: &Rule) {
    assuming_passed(c, place.value(), |c| binding::occurrence(c, place, rule));
}

/// Sets the state of a tensor. Of one that is always present nothing is loaded yet; an absent one is read as zeros.
fn unpack_tensor(c: &mut Checker<'_, '_>, value: ValueId) {
    let dims = c.e.function.tensor(value).map_or(0, |tensor| tensor.shape.dims().len());
    let (mut dl, mut shape) = (None, None);
    if c.e.known.mask(value).is_some() {
        let (index, payload) = c.e.words(value, Type::Ptr);
        let tensor = dl_of(&mut c.e.b, index, payload);
        let tensor = c.e.readable(value, tensor, DL_TENSOR.size as usize);
        let extents = c.e.tensor(value).declared_dims_of(tensor, dl_tensor::SHAPE);
        dl = Some(tensor);
        shape = Some(c.e.readable(value, extents, 8 * dims.max(1)));
    }
    c.e.known.load(value, ValueState::Tensor(TensorState::new(dl, shape, dims)));
    view::fill_view(c, value);
}

/// Runs `body`, whose checks of a value have succeeded before.
fn assuming_passed(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    body: impl FnOnce(&mut Checker<'_, '_>),
) {
    c.only_if_there(value);
    let here = c.e.b.current();
    let outer = std::mem::replace(&mut c.checks.passed, true);
    // No exit is made: none is branched to.
    c.or_other(here, body);
    c.checks.passed = outer;
    c.checks.mask = None;
}
