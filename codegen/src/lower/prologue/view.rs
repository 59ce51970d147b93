//! Leading dims of tensors of which only the last dims are declared.

use abi_spec::layout::dl_tensor;

use crate::declaration::{Strides, Tensor};
use crate::ir::{Cond, Hint, Target, Type, Value};
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;

impl Wrapper<'_, '_> {
    /// Checks the leading dims of a tensor, and records the numbers that the declared dims see. A tensor that has as
    /// many dims as are declared passes by one comparison.
    pub(crate) fn view(&mut self, value: ValueId, tensor: &Tensor) {
        let mut fields = vec![dl_tensor::SHAPE];
        let has_strides = matches!(tensor.strides, Strides::List(_));
        if has_strides {
            fields.push(dl_tensor::STRIDES);
        }
        let asks_leading = has_strides || tensor.checks_fold();
        let ndim = self.ndim32(value);
        let shape = self.shape(value);
        let own: Vec<Value> = fields
            .iter()
            .map(|&of| if of == dl_tensor::SHAPE { shape } else { self.own_dims(value, of) })
            .collect();
        let [leading, next] = ["leading", "next"].map(|label| self.b.block(label));
        let hints = ["shape", "strides"].map(|part| self.hint(value, part, None));
        let seen: Vec<Value> =
            own.iter().zip(hints).map(|(_, h)| self.b.block_param(next, Type::Ptr, h)).collect();
        let told = asks_leading.then(|| self.b.block_param(next, Type::I64, Hint::default()));
        let mut args = own.clone();
        args.extend(told.map(|_| self.b.i64(1)));
        let passes = self.is_own_view(ndim, tensor);
        self.b.branch(passes, Target { block: next, args }, leading);
        self.b.switch_to(leading);
        self.without_dominating(|w| {
            let found = w.look_at_leading(value);
            let exit = w.leading_exit(value);
            let wrong = w.b.compare_const(Cond::Slt, found, 0);
            let right = w.b.block("next");
            w.b.branch(wrong, exit, right);
            w.b.switch_to(right);
            let pairs = own.iter().zip(&fields);
            let mut args: Vec<Value> =
                pairs.map(|(&own, &of)| w.viewed(value, ndim, own, of)).collect();
            args.extend(told.map(|_| found));
            w.b.jump(next, &args);
        });
        self.b.switch_to(next);
        let shape = self.readable(value, seen[0], 8 * tensor.shape.dims().len());
        let state = self.tensor_state(value);
        (state.shape, state.strides_pointer) = (Some(shape), seen.get(1).copied());
        state.leading = told;
    }

    /// Fills the view of folded dims for a tensor that has passed its checks before.
    pub(super) fn fill_view(&mut self, value: ValueId) {
        let folds = |tensor: &Tensor| tensor.shape.folds();
        if !self.function.tensor(value).is_some_and(folds) {
            return;
        }
        let Some(there) = self.mask(value) else {
            self.look_at_leading(value);
            return;
        };
        let [some, next] = ["some", "next"].map(|label| self.b.block(label));
        self.b.branch(there, some, next);
        self.b.switch_to(some);
        self.without_dominating(|w| w.look_at_leading(value));
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }

    /// Returns a `Bool`: true if a tensor has as many dims as are declared, or is absent.
    fn is_own_view(&mut self, ndim: Value, tensor: &Tensor) -> Value {
        let dims = tensor.shape.dims().len() as i64;
        let same = self.b.compare_const(Cond::Eq, ndim, dims);
        let Some(mask) = self.checks.mask else { return same };
        let absent = self.b.not(mask);
        self.b.or(same, absent)
    }

    /// Checks that the leading dims of a tensor are one dim in memory.
    pub(crate) fn folded(&mut self, value: ValueId) {
        let found = self.leading(value);
        let exit = self.leading_exit(value);
        let apart = self.b.compare_const(Cond::Eq, found, 0);
        self.checks.or_go_to(exit).never(&mut self.b, apart);
    }
}
