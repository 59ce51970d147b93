//! The wrapper of one function.

use abi_spec::symbol;

use super::check::Checks;
use super::routines::Routine;
use super::{descriptor, kernel};
use crate::declaration::Device;
use crate::ir::{
    Block, Builder, Cond, Data, Hint, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value,
};
use crate::resolve::{Resolved, Step};

use super::allocate::OutputState;
use super::scalar::ScalarState;
use super::tensor::{Soft, TensorState};

/// How many parameters are checked together: more share a branch, but their values stay live longer.
const GROUP: usize = 2;

/// A wrapper under construction.
pub(super) struct Wrapper<'a, 'm> {
    pub(super) b: Builder<'m>,
    pub(super) resolved: &'a Resolved<'a>,
    /// What has been loaded of each parameter.
    pub(super) params: Vec<ParamState>,
    /// The value of each symbol.
    pub(super) symbols: Vec<SymbolState>,
    /// Which symbols are known not to be negative, since an extent equal to them is not.
    pub(super) known_sign: Vec<bool>,
    /// The tensors that are allocated for the kernel.
    pub(super) outputs: Vec<OutputState>,
    /// Checks to be tested before the kernel is called.
    pub(super) checks: Checks,
    /// Checks that the common case passes.
    pub(super) soft: Soft,
    /// The device of the first tensor whose device index matters, and how it was declared.
    pub(super) first_device: Option<(Value, Device)>,
    /// Where a failing check goes.
    pub(super) fail: Block,
    /// What was declared, for the routines.
    pub(super) descriptor: Symbol,
    /// Linkage of the shared routines.
    linkage: Linkage,
    /// The name hint of each parameter.
    names: Vec<u32>,
}

/// What has been loaded of a parameter.
#[derive(Clone, Debug)]
pub(super) enum ParamState {
    /// Nothing yet.
    Pending,
    /// A scalar.
    Scalar(ScalarState),
    /// A tensor.
    Tensor(TensorState),
}

/// The value of a symbol at run time.
#[derive(Clone, Copy, Debug)]
pub(super) enum SymbolState {
    /// No occurrence so far.
    Unbound,
    /// Bound if a stride counted: the value, and a `Bool` that says whether it is bound.
    Maybe(Value, Value),
    /// Bound.
    Bound(Value),
}

/// The safe-call signature, `int32_t (void*, const TVMFFIAny*, int32_t, TVMFFIAny*)`.
pub(super) fn safe_call() -> Signature {
    Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32))
}

/// Adds the wrapper of one function, and its descriptor, to the module.
pub(super) fn wrapper(module: &mut Module, resolved: &Resolved<'_>, linkage: Linkage) {
    let signature = &resolved.scope.function.signature;
    let descriptor = declare_descriptor(module, resolved);
    let name = symbol::function_symbol(&signature.name);
    let mut b = Builder::function(module, &name, Linkage::Export, safe_call());
    for (i, name) in ["handle", "args", "num_args", "result"].into_iter().enumerate() {
        let param = b.param(i);
        b.hint(param, name);
    }
    let names = signature.params.iter().map(|param| b.name(&param.name)).collect();
    let (miscounted, fail) = (b.cold_block("miscounted"), b.cold_block("fail"));
    let mut w = Wrapper {
        b,
        resolved,
        params: vec![ParamState::Pending; signature.params.len()],
        symbols: vec![SymbolState::Unbound; resolved.scope.symbols.len()],
        known_sign: vec![false; resolved.scope.symbols.len()],
        outputs: Vec::new(),
        checks: Checks::default(),
        soft: Soft::default(),
        first_device: None,
        fail,
        descriptor,
        linkage,
        names,
    };
    let count = signature.arguments().len() as i64;
    let num_args = w.b.param(2);
    let counted = w.b.compare_const(Cond::Eq, num_args, count);
    w.b.guard(counted, miscounted);
    w.steps();
    kernel::call(&mut w);
    w.b.switch_to(miscounted);
    w.explain(num_args);
    w.b.switch_to(fail);
    let num_args = w.b.i32(count as i32);
    w.explain(num_args);
    let function = w.b.finish();
    module.functions.push(function);
}

fn declare_descriptor(module: &mut Module, resolved: &Resolved<'_>) -> Symbol {
    let name = format!("tvm_ffi_codegen.descriptor.{}", resolved.scope.function.signature.name);
    let symbol = module.declare(&name, Linkage::Local, SymbolKind::Data);
    let bytes = descriptor::encode(resolved);
    module.data.push(Data { symbol, bytes, align: 8, writable: false, large: false });
    symbol
}

impl Wrapper<'_, '_> {
    /// Checks and binds, a group of parameters at a time: types, then headers, then the rest, since
    /// each makes the loads of the next legal.
    fn steps(&mut self) {
        let resolved = self.resolved;
        let steps = &resolved.steps[..];
        let mut start = 0;
        while start < steps.len() {
            let end = end_of_group(steps, start);
            let group = &steps[start..end];
            group.iter().for_each(|step| self.check_type(step));
            self.checks.flush(&mut self.b, self.fail);
            group.iter().for_each(|step| self.check_header(step));
            self.checks.flush(&mut self.b, self.fail);
            group.iter().for_each(|step| self.check_rest(step));
            start = end;
        }
        self.settle_tensors();
    }

    fn check_type(&mut self, step: &Step<'_>) {
        match step {
            Step::Scalar { param, scalar } => self.scalar(*param, *scalar),
            Step::Header { param, .. } => self.tensor_type(*param),
            Step::Occurrence { .. }
            | Step::Compact { .. }
            | Step::Data { .. }
            | Step::Settle { .. }
            | Step::Constraint(_)
            | Step::Extent(_)
            | Step::Argument(_) => {}
        }
    }

    fn check_header(&mut self, step: &Step<'_>) {
        if let Step::Header { param, tensor } = step {
            self.tensor_header(*param, tensor);
        }
    }

    fn check_rest(&mut self, step: &Step<'_>) {
        match step {
            Step::Scalar { .. } | Step::Header { .. } | Step::Extent(_) | Step::Argument(_) => {}
            Step::Occurrence { place, rule } => self.occurrence(*place, rule),
            Step::Compact { param } => self.compact(*param),
            Step::Data { param, align } => self.data(*param, *align),
            Step::Settle { symbol, place, linear } => self.settle_symbol(*symbol, *place, linear),
            Step::Constraint(index) => self.constraint(*index),
        }
    }

    /// Raises the first fault of these arguments and returns.
    fn explain(&mut self, num_args: Value) {
        let has_self = self.resolved.scope.function.signature.has_self();
        let handle = if has_self { self.b.param(0) } else { self.b.null() };
        let args = self.b.param(1);
        let descriptor = self.b.address(self.descriptor);
        let status = self.routine(Routine::Explain, &[handle, args, num_args, descriptor]);
        self.b.ret(status);
    }

    /// Calls a shared routine.
    pub(super) fn routine(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call(symbol, args)
    }

    /// Calls a shared routine that has a result.
    pub(super) fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call_value(symbol, args)
    }

    /// The position of a parameter among the arguments; `None` for `self`.
    pub(super) fn argument(&self, param: usize) -> Option<usize> {
        self.resolved.scope.argument(param)
    }

    /// A name hint below a parameter.
    pub(super) fn hint(&self, param: usize, part: &'static str, index: Option<usize>) -> Hint {
        let index = index.map(|index| index as u32);
        Hint { name: Some(self.names[param]), part, index }
    }
}

/// One past the last step of the group that starts at `start`: the steps of [`GROUP`] parameters.
fn end_of_group(steps: &[Step<'_>], start: usize) -> usize {
    let is_param = |step: &Step<'_>| matches!(step, Step::Scalar { .. } | Step::Header { .. });
    let mut params = (start..steps.len()).filter(|&at| is_param(&steps[at]));
    params.nth(GROUP).unwrap_or(steps.len())
}
