//! Runs: consecutive tensor arguments that are declared alike. A loop checks them.
//!
//! The tensor before a run is declared alike too. It binds the symbols, so that the loop only compares with them. The
//! loop stores the address of the data of each tensor; other fields are loaded again where they are needed.

use abi_spec::layout::ANY;

use crate::declaration::{Device, Tensor};
use crate::ir::{Cond, Hint, Target, Type, Value};
use crate::lower::emitter::state::{TensorState, ValueState};
use crate::lower::failure::Run;
use crate::lower::prologue::optional::about;
use crate::lower::prologue::outline::INLINE;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::value::Source;

/// Smallest number of tensors that a loop checks.
const SHORTEST: usize = 4;

/// Bytes of an address.
const WORD: u32 = 8;

/// Returns for each tensor of a run the number of tensors from it to the end of the run, and 0 for other values.
pub(crate) fn runs(function: &Function<'_>) -> Table<ValueId, usize> {
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

impl<'a> Wrapper<'a, '_> {
    /// Emits the checks of a run if the steps start with one. Returns the number of steps that it has emitted.
    pub(crate) fn run(&mut self, steps: &'a [Step<'a>]) -> usize {
        let first = steps.first().and_then(Step::opens).filter(|&value| self.forms.runs[value] > 0);
        let Some(first) = first else { return 0 };
        let count = self.forms.runs[first];
        let each = steps.iter().take_while(|step| about(step) == Some(first)).count();
        let addresses = self.b.stack_slot(WORD * count as u32, WORD);
        let values: Vec<ValueId> =
            steps.chunks(each).take(count).filter_map(|steps| steps[0].opens()).collect();
        self.subjects_in_a_row(&values);
        self.turns(first, &steps[..each], addresses);
        for (nth, steps) in steps.chunks(each).take(count).enumerate() {
            if let Some(value) = steps[0].opens() {
                self.of_run(value, steps, addresses, nth);
            }
        }
        each * count
    }

    /// Emits the loop, with the steps of the first tensor as its body.
    fn turns(&mut self, first: ValueId, steps: &'a [Step<'a>], addresses: Value) {
        let [turn, done] = ["tensors", "next"].map(|label| self.b.block(label));
        let [at, to] = [(); 2].map(|()| self.b.block_param(turn, Type::Ptr, Hint::default()));
        let start = self.any_address(first);
        let size = self.forms.runs[first] as u32 * ANY.size;
        let end = self.b.ptr_offset(start, size.into());
        self.b.jump(turn, &[start, addresses]);
        self.b.switch_to(turn);
        let (outside, devices) = (self.mark_where_there(first), self.devices.tensors.len());
        self.addresses[first] = Some(at);
        self.in_run(Run { first: start, current: at }, |w| {
            steps.iter().for_each(|step| w.check_step(step))
        });
        let address = self.address(first);
        self.b.store(address, to, 0);
        let at = self.b.ptr_offset(at, ANY.size.into());
        let to = self.b.ptr_offset(to, WORD.into());
        let more = self.b.compare(Cond::Ult, at, end);
        self.b.branch(more, Target { block: turn, args: vec![at, to] }, done);
        self.b.switch_to(done);
        self.addresses[first] = None;
        // All tensors of the run are on the device of the tensor before it, so later tensors are compared with that one
        // only.
        self.devices.tensors.truncate(devices);
        self.go_back(outside);
    }

    /// Records the state of a tensor of the run after the loop.
    fn of_run(&mut self, value: ValueId, steps: &[Step<'_>], addresses: Value, nth: usize) {
        let mut state = TensorState::new(None, None, 0);
        state.extents = steps.iter().filter_map(|step| self.known_extent(step)).collect();
        let address = self.b.load(Type::Ptr, addresses, (nth as u32 * WORD) as i32);
        let hint = self.hint(value, "address", None);
        self.b.hint(address, hint);
        state.address = Some(address);
        self.set_state(value, ValueState::Tensor(state));
    }

    /// Returns the value of the symbol that an extent equals, `Some(None)` if there is no symbol. The outer `None` is
    /// for other steps.
    fn known_extent(&self, step: &Step<'_>) -> Option<Option<Value>> {
        let Step::Occurrence { rule, .. } = step else { return None };
        let Rule::Symbol(symbol) = rule else { return Some(None) };
        Some(self.known(*symbol))
    }
}
