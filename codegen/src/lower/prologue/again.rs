//! Values that have passed their checks: they are unpacked where they are used, and nothing is checked again.

use abi_spec::layout::{DL_TENSOR, dl_tensor};

use crate::ir::{Type, Value};
use crate::lower::emitter::state::{Origin, SymbolState, TensorState, ValueState};
use crate::lower::wrapper::Wrapper;
use crate::resolve::body::Received;
use crate::resolve::ids::{LocalId, SymbolId, ValueId};
use crate::resolve::step::{Place, Rule, Step};

impl<'a> Wrapper<'a, '_> {
    /// Emits code that unpacks values and binds symbols as steps do that have succeeded for the same values. If lists may
    /// have changed since then, those that stand for shapes are checked again.
    pub(crate) fn unpack_steps(&mut self, steps: &'a [Step<'a>], changed: bool) {
        for step in steps {
            if changed && self.is_of_shape(step) || self.parses(step) {
                self.check_step(step);
            } else {
                self.unpack_step(step);
            }
        }
    }

    /// Returns true for a check of a shape, which may have been given as a list.
    fn is_of_shape(&self, step: &Step<'_>) -> bool {
        match step {
            Step::Value { value } => self.function.values[*value].ty.shape().is_some(),
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
    fn parses(&self, step: &Step<'_>) -> bool {
        matches!(step, Step::Value { value } if self.may_parse(*value))
    }

    /// Checks that a value at an address, which code outside of this function has written, conforms to its declared type.
    /// The checks are those of arguments; `first` emits those that come before.
    pub(crate) fn conform(
        &mut self,
        received: &'a Received<'a>,
        at: Value,
        first: impl FnOnce(&mut Self),
    ) {
        self.addresses[received.value] = Some(at);
        let devices = std::mem::take(&mut self.devices);
        self.device_table(&received.steps);
        self.note_requirements(&received.steps);
        for &symbol in &received.known {
            self.know_symbol(symbol, self.function.symbols[symbol].local);
        }
        first(self);
        self.check_steps(&received.steps);
        self.devices = devices;
    }

    /// Binds an unbound symbol to the number of the body, or the captured one, that it stands for, if any.
    pub(crate) fn know_symbol(&mut self, symbol: SymbolId, local: Option<LocalId>) {
        if let SymbolState::Unbound = self.symbols[symbol]
            && let Some(local) = local
        {
            let known = self.local(local);
            self.symbols[symbol] = SymbolState::Bound(known, Origin::UNNAMED);
        }
    }

    fn unpack_step(&mut self, step: &'a Step<'a>) {
        match step {
            Step::Scalar { value, scalar } => {
                self.enter(*value);
                self.assuming_passed(*value, |w| w.scalar(*value, *scalar));
            }
            Step::Header { value, .. } => {
                self.enter(*value);
                self.unpack_tensor(*value);
            }
            Step::Value { value } => {
                self.enter(*value);
                self.assuming_passed(*value, |w| {
                    w.value_type(*value);
                    w.value_header(*value);
                });
            }
            Step::Occurrence {
                place,
                rule: rule @ (Rule::Symbol(symbol) | Rule::Solve { symbol, .. }),
            } => {
                let is_local = self.function.symbols[*symbol].local.is_some();
                if !is_local && !self.symbols[*symbol].is_bound() {
                    self.bind_again(*place, rule);
                }
            }
            Step::BindCompact { symbol, place, linear } => {
                if let SymbolState::Maybe(..) = self.symbols[*symbol] {
                    self.settle_symbol(*symbol, *place, linear);
                }
            }
            Step::OneOf { value, types } if self.function.values[*value].matched => {
                let devices = std::mem::take(&mut self.devices);
                self.device_table(std::slice::from_ref(step));
                self.one_of(*value, types);
                self.devices = devices;
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
    fn bind_again(&mut self, place: Place, rule: &Rule) {
        self.assuming_passed(place.value(), |w| w.occurrence(place, rule));
    }

    /// Sets the state of a tensor. Of one that is always present nothing is loaded yet; an absent one is read as zeros.
    fn unpack_tensor(&mut self, value: ValueId) {
        let dims = self.function.tensor(value).map_or(0, |tensor| tensor.shape.dims().len());
        let (mut dl, mut shape) = (None, None);
        if self.mask(value).is_some() {
            let (index, payload) = self.words(value, Type::Ptr);
            let tensor = self.tensor_of(index, payload);
            let tensor = self.readable(value, tensor, DL_TENSOR.size as usize);
            let extents = self.declared_dims_of(value, tensor, dl_tensor::SHAPE);
            dl = Some(tensor);
            shape = Some(self.readable(value, extents, 8 * dims.max(1)));
        }
        self.set_state(value, ValueState::Tensor(TensorState::new(dl, shape, dims)));
        self.fill_view(value);
    }

    /// Runs `body`, whose checks of a value have succeeded before.
    fn assuming_passed(&mut self, value: ValueId, body: impl FnOnce(&mut Self)) {
        self.only_if_there(value);
        let here = self.b.current();
        let outer = std::mem::replace(&mut self.checks.passed, true);
        // No exit is made: none is branched to.
        self.or_other(here, body);
        self.checks.passed = outer;
        self.checks.mask = None;
    }
}
