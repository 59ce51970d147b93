//! Runs: consecutive tensor arguments that are declared alike. A loop checks them.
//!
//! The tensor before a run is declared alike too. It binds the symbols, so that the loop only compares with them. The
//! loop stores the address of the data of each tensor; other fields are loaded again where they are needed.

use abi_spec::layout::ANY;

use crate::declaration::{Device, Tensor};
use crate::ir::{Cond, Hint, Target, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::optional::about;
use crate::lower::checks::outline::INLINE;
use crate::lower::checks::steps;
use crate::lower::emitter::state::{TensorState, ValueState};
use crate::lower::failure::Run;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::print::path;
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::value::Source;
use crate::trace::explain;

/// Smallest number of tensors that a loop checks.
const SHORTEST: usize = 4;

/// Bytes of an address.
const WORD: u32 = 8;

/// Returns for each tensor of a run the number of tensors from it to the end of the run, and 0 for other values.
pub(super) fn runs(function: &Function<'_>) -> Table<ValueId, usize> {
    let mut left = Table::like(&function.values, 0);
    let is_tensor = |step: &&Step<'_>| matches!(step, Step::Data { .. });
    if function.steps.iter().filter(is_tensor).count() <= INLINE {
        return left;
    }
    let values: Vec<&[Step<'_>]> = function.steps.chunk_by(|a, b| about(a) == about(b)).collect();
    for alike in values.chunk_by(|a, b| follows(function, a, b)) {
        let run = &alike[1..];
        for (nth, steps) in run.iter().enumerate().filter(|_| run.len() >= SHORTEST) {
            if let Some(value) = steps.first().and_then(Step::opens) {
                left[value] = run.len() - nth;
            }
        }
    }
    left
}

/// Returns true if steps check an argument exactly as the steps `before` check the argument before it, and solve no
/// expression.
fn follows(function: &Function<'_>, before: &[Step<'_>], steps: &[Step<'_>]) -> bool {
    let (Some(first), Some(second)) = (plain(function, before), plain(function, steps)) else {
        return false;
    };
    let only_compares = |step: &Step<'_>| {
        let Step::Occurrence { rule, .. } = step else { return true };
        match rule {
            Rule::Any | Rule::Symbol(_) => true,
            Rule::Equal { uncertain, .. } => uncertain.is_empty(),
            Rule::Solve { .. } => false,
        }
    };
    first.0 + 1 == second.0 && first.1 == second.1 && steps.iter().all(only_compares)
}

/// Returns the index and the type of the tensor argument that steps check; `None` if it may be absent, or if there are
/// steps other than header, extents, compact strides and data.
fn plain<'a>(function: &Function<'_>, steps: &[Step<'a>]) -> Option<(usize, &'a Tensor)> {
    let [Step::Header { value, tensor, device: true }, rest @ .., Step::Data { .. }] = steps else {
        return None;
    };
    let declared = &function.values[*value];
    let (Source::Argument(index), None) = (declared.source, declared.guard) else { return None };
    let extent =
        |step: &&Step<'_>| matches!(step, Step::Occurrence { place: Place::Extent { .. }, .. });
    let extents = rest.iter().take_while(extent).count();
    let complete = tensor.rank() == Some(extents) && tensor.device != Device::Any;
    let rest_is_known = matches!(rest[extents..], [] | [Step::Compact { .. }]);
    (complete && rest_is_known).then_some((index, *tensor))
}

/// Emits the checks of a run if the steps start with one. Returns the number of steps that it has emitted.
pub(super) fn run<'a>(c: &mut Checker<'a, '_>, steps: &'a [Step<'a>]) -> usize {
    let first = steps.first().and_then(Step::opens).filter(|&value| c.forms.runs[value] > 0);
    let Some(first) = first else { return 0 };
    let count = c.forms.runs[first];
    let each = steps.iter().take_while(|step| about(step) == Some(first)).count();
    let function = c.e.function;
    explain!(
        "{}: a loop checks {count} tensors from {} on, which are declared like the one before",
        function.declared.signature.name,
        path(&function.values[first].path),
    );
    let addresses = c.e.b.stack_slot(WORD * count as u32, WORD);
    let values: Vec<ValueId> =
        steps.chunks(each).take(count).filter_map(|steps| steps[0].opens()).collect();
    c.exits.subjects.add_in_a_row(&values);
    turns(c, first, &steps[..each], addresses);
    for (nth, steps) in steps.chunks(each).take(count).enumerate() {
        if let Some(value) = steps[0].opens() {
            of_run(c, value, steps, addresses, nth);
        }
    }
    each * count
}

/// Emits the loop, with the steps of the first tensor as its body.
fn turns<'a>(c: &mut Checker<'a, '_>, first: ValueId, steps: &'a [Step<'a>], addresses: Value) {
    let [turn, done] = ["tensors", "next"].map(|label| c.e.b.block(label));
    let [at, to] = [(); 2].map(|()| c.e.b.block_param(turn, Type::Ptr, Hint::default()));
    let start = c.e.any_address(first);
    let size = c.forms.runs[first] as u32 * ANY.size;
    let end = c.e.b.ptr_offset(start, size.into());
    c.e.b.jump(turn, &[start, addresses]);
    c.e.b.switch_to(turn);
    let (outside, devices) = (c.e.mark_where_there(first), c.devices.tensors.len());
    c.e.known.set_address(first, Some(at));
    c.in_run(Run { first: start, current: at }, |c| {
        steps.iter().for_each(|step| steps::check_step(c, step))
    });
    let address = c.e.tensor(first).address();
    c.e.b.store(address, to, 0);
    let at = c.e.b.ptr_offset(at, ANY.size.into());
    let to = c.e.b.ptr_offset(to, WORD.into());
    let more = c.e.b.compare(Cond::Ult, at, end);
    c.e.b.branch(more, Target { block: turn, args: vec![at, to] }, done);
    c.e.b.switch_to(done);
    c.e.known.set_address(first, None);
    // All tensors of the run are on the device of the tensor before it, so later tensors are compared with that one
    // only.
    c.devices.tensors.truncate(devices);
    c.e.known.go_back(outside);
}

/// Records the state of a tensor of the run after the loop.
fn of_run(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    steps: &[Step<'_>],
    addresses: Value,
    nth: usize,
) {
    let mut state = TensorState::new(None, None, 0);
    state.extents = steps.iter().filter_map(|step| known_extent(c, step)).collect();
    let address = c.e.b.load(Type::Ptr, addresses, (nth as u32 * WORD) as i32);
    let hint = c.e.hint(value, "address", None);
    c.e.b.hint(address, hint);
    state.address = Some(address);
    c.e.known.load(value, ValueState::Tensor(state));
}

/// Returns the value of the symbol that an extent equals, `Some(None)` if there is no symbol. The outer `None` is
/// for other steps.
fn known_extent(c: &Checker<'_, '_>, step: &Step<'_>) -> Option<Option<Value>> {
    let Step::Occurrence { rule, .. } = step else { return None };
    let Rule::Symbol(symbol) = rule else { return Some(None) };
    Some(c.e.known.symbol(*symbol).value())
}
