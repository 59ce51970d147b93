//! Operators of PyTorch: kernels that PyTorch calls with a stack of words, and their registration. A kernel makes
//! tensors and values of the words, calls the wrapper, and puts the results where the words were.

mod argument;
mod register;

pub(crate) use register::register;

use argument::form_of;

use abi_spec::layout::{ANY, any, dl_tensor};
use abi_spec::{DeviceType, TypeIndex};

use crate::ir::{
    Block, Builder, Cond, Convert, Linkage, Module, Pointee, Signature, Symbol, SymbolKind, Type,
    Value,
};
use crate::language::spelled;
use crate::lower::body::{entry_linkage, entry_symbol};
use crate::lower::entries::raising::Raising;
use crate::lower::failure::records::{self, Reporter};
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::place::{PLACE_SIZE, PLACE_STREAM};
use crate::lower::routines::torch::form;
use crate::lower::torch::{LENT_HANDLE, LENT_SIZE, allocator_symbol};
use crate::lower::value::{constant_bytes, safe_call, write_any, write_none};
use crate::resolve::torch::{ResultForm, TorchOperator, TorchResult, TorchType};

/// A kernel under construction.
struct OperatorKernel<'m, 'a> {
    b: Builder<'m>,
    operator: &'m TorchOperator<'a>,
    raising: Raising<'m>,
    /// The address of the words of the call.
    stack: Value,
    /// The address of the arguments of the wrapper.
    args: Value,
    /// The address of the handles that the kernel owns: one word for each input, then one for each result.
    owned: Value,
    /// The address of the results that the function allocates.
    lent: Value,
    /// The address of the device and the stream of the call; none if all tensors are on the cpu.
    place: Option<Value>,
    /// The address of a word that is not 0 once the thread has PyTorch's allocator; none if the function allocates
    /// nothing but results.
    lent_allocator: Option<Value>,
    /// Views of the tensors that may be elsewhere, each with a condition that it is there.
    elsewhere: Vec<(Value, Option<Value>)>,
    /// The block that failures jump to once the call has begun.
    leave: Block,
    /// The block that throws the error in the thread's slot.
    throw: Block,
}

/// An input of a call.
#[derive(Clone, Copy)]
struct Input {
    /// The byte offset of its word among those that the kernel owns.
    at: i32,
    word: Value,
    /// A condition that an optional input is there.
    there: Option<Value>,
}

/// Adds the kernel of an operator; returns its symbol.
pub(crate) fn kernel(
    module: &mut Module,
    operator: &TorchOperator<'_>,
    reporter: Reporter<'_>,
) -> Symbol {
    let kind = SymbolKind::Function(safe_call());
    let entry = operator.entry();
    let callee = entry_symbol(operator.name, entry);
    let callee = module.declare(&callee, entry_linkage(entry), kind.clone());
    let allocator = (operator.outputs > 0)
        .then(|| module.declare(&allocator_symbol(operator.name), Linkage::Local, kind));
    let mut k = start(module, operator, reporter);
    k.count();
    let inputs = k.take();
    let arguments = operator.args.iter().enumerate();
    let with_inputs = arguments.filter(|(_, argument)| argument.given != TorchType::Stream);
    for ((index, argument), input) in with_inputs.zip(inputs) {
        k.argument(index, argument, input);
    }
    k.enter();
    k.streams();
    k.lend_allocator();
    allocator.into_iter().for_each(|allocator| k.allocate(allocator));
    let result = k.call(callee);
    k.finish(result);
    let function = k.b.finish();
    let symbol = function.symbol;
    module.functions.push(function);
    symbol
}

fn start<'m, 'a>(
    module: &'m mut Module,
    operator: &'m TorchOperator<'a>,
    reporter: Reporter<'m>,
) -> OperatorKernel<'m, 'a> {
    let signature = Signature::new(&[Type::Ptr, Type::I64, Type::I64], None);
    let name = format!("tvm_ffi_codegen.operator.{}", operator.name);
    let mut b = Builder::function(module, &name, Linkage::Local, signature);
    b.about(operator.schema.clone());
    for (index, name) in ["stack", "inputs", "outputs"].into_iter().enumerate() {
        let param = b.param(index);
        b.hint(param, name);
    }
    let stack = b.param(0);
    let (leave, throw) = (b.cold_block("leave"), b.cold_block("throw"));
    let (count, outputs) = (operator.arguments() as u32, operator.outputs);
    let args = b.stack_slot(ANY.size * count.max(1), ANY.align);
    b.points_to(args, Pointee::Struct(&ANY));
    let owned = b.stack_slot(8 * (operator.inputs().count() as u32 + outputs).max(1), 8);
    let lent = b.stack_slot(LENT_SIZE * outputs.max(1), 8);
    let place = operator.devices.may_be_elsewhere.then(|| b.stack_slot(PLACE_SIZE, 8));
    let lent_allocator = operator.allocates.then(|| b.stack_slot(8, 8));
    let raising = Raising::new(reporter);
    let elsewhere = Vec::new();
    OperatorKernel {
        b,
        operator,
        raising,
        stack,
        args,
        owned,
        lent,
        place,
        lent_allocator,
        elsewhere,
        leave,
        throw,
    }
}

impl OperatorKernel<'_, '_> {
    /// Checks the numbers of inputs and outputs, which are those of the schema.
    fn count(&mut self) {
        let inputs = self.operator.inputs().count() as i64;
        let expected = [
            ("arguments of the operator", inputs),
            ("results of the operator", i64::from(self.operator.results())),
        ];
        for (index, (subject, expected)) in expected.into_iter().enumerate() {
            let found = self.b.param(index + 1);
            let (same, expected) =
                (self.b.compare_const(Cond::Eq, found, expected), self.b.i64(expected));
            let values = [expected, found];
            self.require(same, &Failed::of(Complaint::TorchCount, subject), &values, self.throw);
        }
    }

    /// Takes over the inputs, and prepares what failures release.
    fn take(&mut self) -> Vec<Input> {
        let operator = self.operator;
        let mut all = Vec::new();
        for (index, argument) in operator.inputs().enumerate() {
            let at = 8 * index as i32;
            let input = if argument.optional {
                let boxed = self.b.load(Type::Ptr, self.stack, at);
                let value = self.b.ptr_offset(self.owned, at.into());
                let some = self.routine_value(Routine::TorchUnbox, &[boxed, value]);
                let there = Some(self.b.compare_const(Cond::Ne, some, 0));
                Input { at, word: self.b.load(Type::I64, value, 0), there }
            } else {
                let word = self.b.load(Type::I64, self.stack, at);
                self.b.store(word, self.owned, at);
                Input { at, word, there: None }
            };
            all.push(input);
        }
        let zero = self.b.i64(0);
        for output in 0..operator.outputs {
            self.b.store(zero, self.lent, (output * LENT_SIZE) as i32 + LENT_HANDLE);
        }
        if let Some(place) = self.place {
            self.b.store(zero, place, 0);
        }
        if let Some(word) = self.lent_allocator {
            self.b.store(zero, word, 0);
        }
        if operator.makes_objects() {
            for index in 0..operator.arguments() {
                self.write(index, TypeIndex::NONE, zero);
            }
        }
        all
    }

    /// Finds the device and the stream of the call, and makes the stream the thread's.
    fn enter(&mut self) {
        let Some(place) = self.place else { return };
        // Without a tensor the device is the first accelerator, as that of what a function allocates.
        let has_tensor = self.elsewhere.iter().any(|(_, there)| there.is_none());
        let ty = if self.operator.devices.is_accelerated && !has_tensor {
            self.operator.devices.accelerator
        } else {
            DeviceType::CPU
        };
        let mut device = self.b.i64(ty.0.into());
        // A tensor on the cpu, such as a number in one, does not say where the others are.
        for (view, there) in self.elsewhere.clone().into_iter().rev() {
            let own = self.b.load(Type::I64, view, dl_tensor::DEVICE_TYPE.offset);
            let ty = self.b.convert(Convert::Trunc, own, Type::I32);
            let mut is_it = self.b.compare_const(Cond::Ne, ty, DeviceType::CPU.0.into());
            if let Some(there) = there {
                is_it = self.b.and(there, is_it);
            }
            device = self.b.select(is_it, own, device);
        }
        let status = self.routine_value(Routine::TorchEnter, &[place, device]);
        let entered = self.b.compare_const(Cond::Eq, status, 0);
        let name = spelled(self.operator.name).to_string();
        self.require(entered, &Failed::of(Complaint::TorchStream, &name), &[], self.leave);
    }

    /// Gives the thread PyTorch's allocator if it has none.
    fn lend_allocator(&mut self) {
        if let Some(word) = self.lent_allocator {
            let lent = self.routine_value(Routine::TorchLendAllocator, &[]);
            self.b.store(lent, word, 0);
        }
    }

    /// Writes the arguments that are streams.
    fn streams(&mut self) {
        let operator = self.operator;
        for (index, argument) in operator.args.iter().enumerate() {
            if argument.given == TorchType::Stream {
                let stream = match self.place {
                    Some(place) => self.b.load(Type::I64, place, PLACE_STREAM),
                    None => self.b.i64(0),
                };
                self.write(index, TypeIndex::OPAQUE_PTR, stream);
            }
        }
    }

    /// Checks the arguments and allocates the results, which become further arguments.
    fn allocate(&mut self, allocator: Symbol) {
        let (handle, count) = (self.b.null(), self.b.i32(self.operator.args.len() as i32));
        let status = self.b.call_value(allocator, &[handle, self.args, count, self.lent]);
        self.go_on(status);
        for output in 0..self.operator.outputs {
            let index = self.operator.args.len() + output as usize;
            if self.operator.keeps_outputs {
                let handle = (output * LENT_SIZE) as i32 + LENT_HANDLE;
                let handle = self.b.load(Type::Ptr, self.lent, handle);
                self.share(index, handle, true);
            } else {
                let tensor = self.b.ptr_offset(self.lent, (output * LENT_SIZE).into());
                let tensor = self.b.as_word(tensor);
                self.write(index, TypeIndex::DL_TENSOR_PTR, tensor);
            }
        }
    }

    /// Calls the wrapper. Returns the address of its result.
    fn call(&mut self, callee: Symbol) -> Value {
        let result = self.b.stack_slot(ANY.size, ANY.align);
        write_none(&mut self.b, result);
        let count = self.operator.arguments() as i32;
        let (handle, count) = (self.b.null(), self.b.i32(count));
        let status = self.b.call_value(callee, &[handle, self.args, count, result]);
        self.go_on(status);
        result
    }

    /// Ends the kernel: with its results, and the blocks that failures jump to.
    fn finish(&mut self, result: Value) {
        match &self.operator.yielded {
            TorchResult::None => {}
            TorchResult::Word(_) => {
                let word = self.b.load(Type::I64, result, any::PAYLOAD.offset);
                self.b.store(word, self.stack, 0);
            }
            TorchResult::One(answer) => self.give(result, false, std::slice::from_ref(answer)),
            TorchResult::Tuple(answers) => self.give(result, true, answers),
        }
        self.end(false);
        for output in 0..self.operator.outputs {
            let at = (output * LENT_SIZE) as i32 + LENT_HANDLE;
            let handle = self.b.load(Type::I64, self.lent, at);
            self.b.store(handle, self.stack, 8 * output as i32);
        }
        self.b.ret(None);
        self.b.switch_to(self.leave);
        self.end(true);
        self.b.jump(self.throw, &[]);
        self.b.switch_to(self.throw);
        let name = constant_bytes(&mut self.b, terminated(self.operator.name));
        self.routine(Routine::TorchThrow, &[name]);
        self.b.ret(None);
    }

    /// Puts results that are no words, or several, on the stack.
    fn give(&mut self, result: Value, is_tuple: bool, answers: &[ResultForm]) {
        let optional = |answer: &ResultForm| if answer.optional { form::OPTIONAL } else { 0 };
        let forms = answers.iter().map(|answer| form_of(answer.given) | optional(answer));
        let forms = constant_bytes(&mut self.b, forms.collect());
        let host = records::address(&mut self.b, self.raising.reporter.record);
        let (is_tuple, count) = (self.b.i32(is_tuple.into()), self.b.i64(answers.len() as i64));
        let args = [host, result, is_tuple, forms, count, self.stack];
        let status = self.routine_value(Routine::TorchGive, &args);
        self.go_on(status);
    }

    /// Releases the arguments and the inputs, and the results of a call that has `failed`, and gives the thread its
    /// stream back.
    fn end(&mut self, failed: bool) {
        let operator = self.operator;
        if operator.makes_objects() {
            let count = self.b.i64(operator.arguments() as i64);
            self.routine(Routine::Release, &[self.args, count]);
        }
        let mut forms: Vec<u8> = operator.inputs().map(|input| form_of(input.given)).collect();
        if failed {
            for output in 0..operator.outputs {
                let at = (output * LENT_SIZE) as i32 + LENT_HANDLE;
                let handle = self.b.load(Type::I64, self.lent, at);
                self.b.store(handle, self.owned, 8 * forms.len() as i32);
                forms.push(form::TENSOR);
            }
        }
        if forms.iter().any(|&form| form >= form::TEXT) {
            let count = self.b.i64(forms.len() as i64);
            let forms = constant_bytes(&mut self.b, forms);
            self.routine(Routine::TorchDrop, &[self.owned, forms, count]);
        }
        if let Some(word) = self.lent_allocator {
            let lent = self.b.load(Type::I32, word, 0);
            self.routine(Routine::TorchTakeAllocator, &[lent]);
        }
        if let Some(place) = self.place {
            self.routine(Routine::LeaveStream, &[place]);
        }
    }

    /// Jumps to where failures leave unless a status is 0.
    fn go_on(&mut self, status: Value) {
        let next = self.b.block("next");
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        self.b.branch(failed, self.leave, next);
        self.b.switch_to(next);
    }

    /// Raises a failure and jumps to `out` unless a condition holds.
    fn require(&mut self, ok: Value, failed: &Failed, values: &[Value], out: Block) {
        let next = self.b.enter_cold_unless(ok, "refused");
        self.raising.raise(&mut self.b, failed, values);
        self.b.jump(out, &[]);
        self.b.switch_to(next);
    }

    /// Writes a value of the FFI as an argument.
    fn write(&mut self, index: usize, ty: TypeIndex, payload: Value) {
        let to = self.slot(index);
        write_any(&mut self.b, to, ty, payload);
    }

    /// Returns the address of an argument of the wrapper.
    fn slot(&mut self, index: usize) -> Value {
        self.b.ptr_offset(self.args, index as i64 * i64::from(ANY.size))
    }

    fn routine(&mut self, routine: Routine, args: &[Value]) {
        self.raising.call(&mut self.b, routine, args);
    }

    fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        self.raising.call_value(&mut self.b, routine, args)
    }
}

/// Returns the bytes of a text and a NUL.
fn terminated(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}
