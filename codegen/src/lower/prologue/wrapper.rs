//! The wrapper of one function.

use abi_spec::layout::{ANY, any};
use abi_spec::symbol;

use crate::declaration::{Device, ParamType};
use crate::ir::{
    Block, Builder, Cond, Data, Hint, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value,
};
use crate::lower::body::call;
use crate::lower::explain::codes::Used;
use crate::lower::explain::descriptor;
use crate::lower::explain::routines::Routine;
use crate::lower::prologue::check::Checks;
use crate::lower::prologue::registry::Held;
use crate::lower::prologue::{arguments, outline, scope};
use crate::resolve::steps::{Resolved, Step};
use crate::resolve::values::{self, Source};

use crate::lower::body::allocate::OutputState;
use crate::lower::prologue::scalar::ScalarState;
use crate::lower::prologue::tensor::{Soft, TensorState};

/// How many parameters are checked together: more share a branch, but their values stay live longer.
const GROUP: usize = 2;

/// A wrapper under construction.
pub(crate) struct Wrapper<'a, 'm> {
    pub(crate) b: Builder<'m>,
    pub(crate) resolved: &'a Resolved<'a>,
    /// The arguments, those that were left out filled in.
    pub(crate) args: Value,
    /// How many there are; `None` for the number that is declared.
    num_args: Option<Value>,
    /// What has been loaded of each value.
    pub(crate) values: Vec<ValueState>,
    /// For each optional value a `Bool`: it is there, and so is what contains it.
    pub(crate) present: Vec<Option<Value>>,
    /// The value of each symbol.
    pub(crate) symbols: Vec<SymbolState>,
    /// Which symbols are known not to be negative, since an extent equal to them is not.
    pub(crate) known_sign: Vec<bool>,
    /// The tensors that are allocated for the kernel.
    pub(crate) outputs: Vec<OutputState>,
    /// Checks to be tested before the kernel is called.
    pub(crate) checks: Checks,
    /// Checks that the common case passes.
    pub(crate) soft: Soft,
    /// The device of the first tensor whose device index matters, and how it was declared.
    pub(crate) first_device: Option<(Value, Device)>,
    /// The tensors so far.
    pub(crate) tensors: Vec<usize>,
    /// The table of devices that must agree, where only the call knows which do.
    pub(crate) devices: Option<Value>,
    /// Where the value is that a loop or a union is at: the address of each that is in one.
    pub(crate) places: Vec<Option<Value>>,
    /// What is owned at this point.
    pub(crate) held: Vec<Held>,
    /// What fails here may be right for another type of a union.
    pub(crate) in_union: bool,
    /// Where a failing check goes.
    pub(crate) fail: Block,
    /// What was declared, for the routines.
    pub(crate) descriptor: Symbol,
    /// Linkage of the shared routines.
    linkage: Linkage,
    /// The name hint of each value.
    names: Vec<u32>,
    /// What a routine is to check of each value that is left to it.
    pub(crate) outlined: Vec<Option<Vec<u8>>>,
}

/// What has been loaded of a value.
#[derive(Clone, Debug)]
pub(crate) enum ValueState {
    /// Nothing yet.
    Pending,
    /// A scalar.
    Scalar(ScalarState),
    /// A tensor.
    Tensor(TensorState),
    /// One word: an object or another address, or the bits of an element type or a device, `I64`.
    Word(Value),
    /// An address and how many bytes or numbers are there.
    Pair(Value, Value),
    /// The address of the elements of a tuple.
    Tuple(Value),
}

/// The value of a symbol at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SymbolState {
    /// No occurrence so far.
    Unbound,
    /// Bound if a stride counted: the value, and a `Bool` that says whether it is bound.
    Maybe(Value, Value),
    /// Bound.
    Bound(Value),
}

/// The safe-call signature, `int32_t (void*, const TVMFFIAny*, int32_t, TVMFFIAny*)`.
pub(crate) fn safe_call() -> Signature {
    Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32))
}

/// Adds the wrapper of one function, and its descriptor, to the module.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    resolved: &'a Resolved<'a>,
    linkage: Linkage,
    used: &mut Used,
) {
    let signature = &resolved.scope.function.signature;
    let descriptor = declare_descriptor(module, resolved, used);
    let name = symbol::function_symbol(&signature.name);
    let mut b = Builder::function(module, &name, Linkage::Export, safe_call());
    for (i, name) in ["handle", "args", "num_args", "result"].into_iter().enumerate() {
        let param = b.param(i);
        b.hint(param, name);
    }
    let values = &resolved.scope.values;
    let names = values.iter().map(|value| b.name(&scope::printable(&value.path))).collect();
    let (miscounted, fail) = (b.cold_block("miscounted"), b.cold_block("fail"));
    let given = b.param(2);
    let (args, num_args) = arguments::count(&mut b, signature, miscounted);
    let mut w = Wrapper {
        b,
        resolved,
        args,
        num_args,
        values: vec![ValueState::Pending; values.len()],
        present: vec![None; values.len()],
        symbols: vec![SymbolState::Unbound; resolved.scope.symbols.len()],
        known_sign: vec![false; resolved.scope.symbols.len()],
        outputs: Vec::new(),
        checks: Checks::default(),
        soft: Soft::default(),
        first_device: None,
        tensors: Vec::new(),
        devices: None,
        places: vec![None; values.len()],
        held: Vec::new(),
        in_union: false,
        fail,
        descriptor,
        linkage,
        names,
        outlined: outline::outlined(resolved),
    };
    w.device_table();
    w.check_steps(&resolved.steps);
    w.settle_tensors();
    call::call(&mut w);
    w.b.switch_to(miscounted);
    let args = w.b.param(1);
    w.explain(args, given);
    w.b.switch_to(fail);
    let (args, num_args) = (w.args, w.num_args());
    w.explain(args, num_args);
    let function = w.b.finish();
    module.functions.push(function);
}

fn declare_descriptor(module: &mut Module, resolved: &Resolved<'_>, used: &mut Used) -> Symbol {
    let name = format!("tvm_ffi_codegen.descriptor.{}", resolved.scope.function.signature.name);
    let symbol = module.declare(&name, Linkage::Local, SymbolKind::Data);
    let bytes = descriptor::encode(resolved, used);
    module.data.push(Data { symbol, bytes, align: 8, writable: false, large: false });
    symbol
}

impl<'a> Wrapper<'a, '_> {
    /// Checks and binds, a group of values at a time.
    pub(crate) fn check_steps(&mut self, steps: &'a [Step<'a>]) {
        let mut start = 0;
        while start < steps.len() {
            let end = self.end_of_group(steps, start);
            start += self.optional_tensor(&steps[start..end]);
            let group = &steps[start..end];
            group.iter().filter_map(Step::opens).for_each(|value| self.enter(value));
            self.check_group(group);
            start = end;
        }
    }

    /// Checks types, then headers, then the rest, since each makes the loads of the next legal.
    pub(crate) fn check_group(&mut self, group: &'a [Step<'a>]) {
        group.iter().for_each(|step| self.check_type(step));
        self.flush();
        group.iter().for_each(|step| self.check_header(step));
        self.flush();
        group.iter().for_each(|step| self.check_rest(step));
    }

    /// How many arguments there are, those that were left out included.
    pub(crate) fn num_args(&mut self) -> Value {
        let declared = self.resolved.scope.function.signature.required();
        self.num_args.unwrap_or_else(|| self.b.i32(declared as i32))
    }

    pub(crate) fn flush(&mut self) {
        self.checks.flush(&mut self.b, self.fail);
    }

    fn check_type(&mut self, step: &Step<'_>) {
        let Some(value) = step.opens() else { return };
        self.only_if_there(value);
        if let Step::Scalar { scalar, .. } = step {
            self.scalar(value, *scalar);
        } else if let Step::Header { .. } = step {
            self.tensor_type(value);
        } else {
            self.value_type(value);
        }
    }

    fn check_header(&mut self, step: &Step<'_>) {
        let Some(value) = step.opens() else { return };
        self.only_if_there(value);
        if let Step::Header { tensor, device, .. } = step {
            self.tensor_header(value, tensor, *device);
        } else if let Step::Value { .. } = step {
            self.value_header(value);
        }
    }

    fn check_rest(&mut self, step: &'a Step<'a>) {
        self.checks.mask = None;
        match step {
            Step::Scalar { .. } | Step::Value { .. } | Step::Header { device: false, .. } => {}
            Step::Header { value, tensor, device: true } => self.note_device(*value, tensor.device),
            Step::Extent(_) | Step::Argument(_) => {}
            Step::Occurrence { place, rule } => {
                self.only_if_there(place.value());
                self.occurrence(*place, rule);
            }
            Step::Compact { value } | Step::Data { value, .. } if self.is_outlined(*value) => {}
            Step::Compact { value } => {
                self.only_if_there(*value);
                self.compact(*value);
            }
            Step::Data { value, align } => {
                self.only_if_there(*value);
                self.data(*value, *align);
            }
            Step::Settle { symbol, place, linear } => self.settle_symbol(*symbol, *place, linear),
            Step::Each { value, steps } => self.each(*value, steps),
            Step::OneOf { value, types } => self.one_of(*value, types),
            Step::Constraint(index) => self.constraint(*index),
        }
        self.checks.mask = None;
    }

    /// Raises the first fault of these arguments and returns.
    fn explain(&mut self, args: Value, num_args: Value) {
        let has_self = self.resolved.scope.function.signature.has_self();
        let handle = if has_self { self.b.param(0) } else { self.b.null() };
        let descriptor = self.b.address(self.descriptor);
        let raised = self.routine(Routine::Explain, &[handle, args, num_args, descriptor]);
        self.b.ret(raised);
    }

    /// One past the last step of the group that starts at `start`: the steps of [`GROUP`] values. What is
    /// in a tuple can be read once the tuple has been checked; what is branched around is alone.
    fn end_of_group(&self, steps: &[Step<'_>], start: usize) -> usize {
        let mut count = 0;
        for (at, step) in steps.iter().enumerate().skip(start) {
            let Some(value) = step.opens() else { continue };
            let alone = self.is_branched(value);
            if count == GROUP || (count > 0 && alone) {
                return at;
            }
            count = if alone { GROUP } else { count + 1 };
            if let ParamType::Tuple(_) = self.resolved.scope.values[value].ty {
                return at + 1;
            }
        }
        steps.len()
    }
}

/// What is there, and where.
impl Wrapper<'_, '_> {
    /// The address of a value: a base and an offset in bytes. That of the context is its handle.
    pub(crate) fn address_of(&mut self, value: usize) -> (Value, i32) {
        match self.resolved.scope.values[value].source {
            Source::Context => (self.b.param(0), 0),
            Source::Argument(index) | Source::Rest(index) => {
                (self.args, index as i32 * ANY.size as i32)
            }
            Source::Element { of, index } => {
                let ValueState::Tuple(elements) = self.values[of] else {
                    unreachable!("tuples are loaded before their elements")
                };
                (elements, index as i32 * ANY.size as i32)
            }
            Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. } => match self.places[value] {
                Some(place) => (place, 0),
                None => unreachable!("a loop or a union knows where it is"),
            },
        }
    }

    /// Finds out whether a value is there.
    pub(crate) fn enter(&mut self, value: usize) {
        let declared = &self.resolved.scope.values[value];
        if declared.optional {
            let outer = declared.source.parent().and_then(|of| self.mask(of));
            let (base, offset) = self.address_of(value);
            let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
            let none = abi_spec::TypeIndex::NONE.0.into();
            let some = self.b.compare_const(Cond::Ne, index, none);
            let hint = self.hint(value, "is_some", None);
            self.b.hint(some, hint);
            let there = outer.map_or(some, |outer| self.b.and(outer, some));
            self.present[value] = Some(there);
        }
    }

    /// Checks from now on apply only where a value is there.
    fn only_if_there(&mut self, value: usize) {
        let mask = self.mask(value);
        self.checks.mask = mask;
        self.soft.checks.mask = mask;
    }

    /// A `Bool` that says whether a value is there; `None` if it always is.
    pub(crate) fn mask(&self, value: usize) -> Option<Value> {
        let nearest = values::optionals(&self.resolved.scope.values, value).next();
        nearest.and_then(|optional| self.present[optional])
    }

    /// An address that can be read where the value is not there: then all is zero for `size` bytes.
    pub(crate) fn readable(&mut self, value: usize, address: Value, size: usize) -> Value {
        let Some(mask) = self.mask(value) else { return address };
        let absent = self.absent(size);
        self.b.select(mask, address, absent)
    }

    /// The address of zeros.
    pub(crate) fn absent(&mut self, size: usize) -> Value {
        const NAME: &str = "tvm_ffi_codegen.absent";
        let module = &mut *self.b.module;
        let symbol = module.declare(NAME, Linkage::Local, SymbolKind::Data);
        match module.data.iter_mut().find(|data| data.symbol == symbol) {
            Some(data) => data.bytes.resize(size.max(data.bytes.len()), 0),
            None => {
                module.data.push(Data {
                    symbol,
                    bytes: vec![0; size],
                    align: 8,
                    writable: false,
                    large: false,
                });
            }
        }
        self.b.address(symbol)
    }

    /// A word of a value, or zero where it is not there.
    pub(crate) fn or_zero(&mut self, value: usize, word: Value) -> Value {
        let Some(mask) = self.mask(value) else { return word };
        let zero = self.b.constant(self.b.ty(word), 0);
        self.b.select(mask, word, zero)
    }

    /// Calls a shared routine.
    pub(crate) fn routine(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call(symbol, args)
    }

    /// Calls a shared routine that has a result.
    pub(crate) fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call_value(symbol, args)
    }

    /// A name hint below a value.
    pub(crate) fn hint(&self, value: usize, part: &'static str, index: Option<usize>) -> Hint {
        let index = index.map(|index| index as u32);
        Hint { name: Some(self.names[value]), part, index }
    }
}
