//! Handlers of XLA: functions of the call frame of a custom call. A handler makes tensors of the buffers and values of
//! the attributes, and calls the wrapper. For a function that returns a closure one handler calls the wrapper, when XLA
//! makes a program ready, and another the closure, which is the state of that program.

use abi_spec::layout::{ANY, DL_TENSOR, Field, any};
use abi_spec::runtime::FUNCTION_CALL;
use abi_spec::symbol::function_symbol;
use abi_spec::xla::{self, inner};
use abi_spec::{DeviceType, TypeIndex};

use crate::ir::{
    Binary, Block, Builder, Cond, Linkage, Module, Pointee, Signature, Symbol, SymbolKind, Type,
    Value,
};
use crate::language::spelled;
use crate::lower::body::{entry_linkage, entry_symbol};
use crate::lower::entries::raising::Raising;
use crate::lower::failure::records::{self, Reporter};
use crate::lower::failure::site::Failed;
use crate::lower::prologue::store_literal;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::place::{PLACE_DEVICE, PLACE_SIZE, PLACE_STREAM};
use crate::lower::routines::xla::{ABSENT, FOUND, LARGE, RAISED, dtypes, form};
use crate::lower::value::{constant_bytes, ffi_function, safe_call, write_any, write_none};
use crate::resolve::xla::{Attribute, Form, Handler, HandlerArgument, Stage};

/// A handler under construction.
struct Handling<'m, 'a> {
    b: Builder<'m>,
    handler: &'m Handler<'a>,
    raising: Raising<'m>,
    /// The address of the call frame.
    frame: Value,
    /// The address of the arguments of the wrapper.
    args: Value,
    /// The address of the device and the stream of the call; none on the cpu.
    place: Option<Value>,
    /// The record of the memory that XLA has lent; none if the function allocates nothing but results, or on the cpu.
    lending: Option<Value>,
    /// The number of attributes that were found.
    seen: Value,
    /// The block that failures jump to once the call has begun.
    leave: Block,
    /// The block that makes an error of XLA of the one in the thread's slot.
    refuse: Block,
}

/// Adds the handler of a function, and a function of the FFI that returns its address.
pub(crate) fn handler(module: &mut Module, handler: &Handler<'_>, reporter: Reporter<'_>) {
    let kind = SymbolKind::Function(safe_call());
    let symbol = entry_symbol(handler.name, handler.entry);
    let wrapper = module.declare(&symbol, entry_linkage(handler.entry), kind);
    let mut h = start(module, handler, reporter);
    h.answer();
    let (callee, closure, given) = match handler.stage {
        Stage::Instantiate(given) => (wrapper, None, given),
        Stage::Call => {
            h.count();
            (wrapper, None, handler.args.len())
        }
        Stage::Execute => {
            h.count();
            let closure = h.state();
            (crate::lower::runtime(h.b.module, &FUNCTION_CALL), Some(closure), handler.args.len())
        }
    };
    h.enter();
    for (index, argument) in handler.args.iter().enumerate() {
        h.argument(index as i32 * ANY.size as i32, *argument);
    }
    if closure.is_none() {
        h.count_attributes();
    }
    let result = h.call(callee, closure, given);
    let answer = match handler.stage {
        Stage::Instantiate(_) => Some(h.keep(result)),
        Stage::Call | Stage::Execute => None,
    };
    h.finish(answer);
    let function = h.b.finish();
    let symbol = function.symbol;
    module.functions.push(function);
    getter(module, &handler.getter(), symbol);
}

fn start<'m, 'a>(
    module: &'m mut Module,
    handler: &'m Handler<'a>,
    reporter: Reporter<'m>,
) -> Handling<'m, 'a> {
    let signature = Signature::new(&[Type::Ptr], Some(Type::Ptr));
    let mut b = Builder::function(module, &handler.symbol, Linkage::Export, signature);
    let frame = b.param(0);
    b.hint(frame, "frame");
    b.points_to(frame, Pointee::Struct(&xla::CALL_FRAME));
    let (leave, refuse) = (b.cold_block("leave"), b.cold_block("refuse"));
    let args = b.stack_slot(ANY.size * handler.args.len().max(1) as u32, ANY.align);
    let is_elsewhere = handler.device != DeviceType::CPU;
    let place = is_elsewhere.then(|| b.stack_slot(PLACE_SIZE, 8));
    let (raising, seen) = (Raising::new(reporter), b.i64(0));
    let lending = None;
    Handling { b, handler, raising, frame, args, place, lending, seen, leave, refuse }
}

impl Handling<'_, '_> {
    /// Answers a call that asks for metadata, and checks that the frame has what is read of it.
    fn answer(&mut self) {
        let (asked, told, run) =
            (self.b.cold_block("asked"), self.b.cold_block("told"), self.b.block("run"));
        let extensions =
            self.b.load(Type::Ptr, self.frame, xla::call_frame::EXTENSION_START.offset);
        let is_extended = self.b.compare_const(Cond::Ne, extensions, 0);
        self.b.branch(is_extended, asked, run);
        self.b.switch_to(asked);
        let answered = self.routine_value(Routine::XlaDescribe, &[extensions]);
        let answered = self.b.compare_const(Cond::Ne, answered, 0);
        self.b.branch(answered, told, run);
        self.b.switch_to(told);
        let null = self.b.null();
        self.b.ret(Some(null));
        self.b.switch_to(run);
        let size = self.b.load(Type::I64, self.frame, xla::call_frame::STRUCT_SIZE.offset);
        self.at_least(Complaint::FrameSize, size, xla::size(xla::CALL_FRAME).into());
    }

    /// Checks the numbers of operands and results.
    fn count(&mut self) {
        let operands = self.frame_word(xla::call_frame::ARGS, xla::args::SIZE);
        self.exactly(Complaint::Operands, operands, self.handler.operands.into());
        let results = self.frame_word(xla::call_frame::RETS, xla::args::SIZE);
        self.exactly(Complaint::Results, results, self.handler.results.into());
    }

    /// Finds the device and the stream of the call, and makes the stream the thread's, and XLA's memory of that device.
    fn enter(&mut self) {
        if let Some(place) = self.place {
            let ty = self.b.i32(self.handler.device.0);
            let error = self.routine_value(Routine::XlaEnter, &[self.frame, ty, place]);
            self.return_if_error(error);
            let allocates = self.handler.allocates;
            self.lending =
                allocates.then(|| self.routine_value(Routine::XlaLend, &[self.frame, place]));
        }
        if self.handler.has_attributes() {
            self.clear();
        }
    }

    /// Writes None to every argument, so that they can be released.
    fn clear(&mut self) {
        for index in 0..self.handler.args.len() {
            let to = self.b.ptr_offset(self.args, index as i64 * i64::from(ANY.size));
            write_none(&mut self.b, to);
        }
    }

    /// Writes an argument at an offset.
    fn argument(&mut self, at: i32, argument: HandlerArgument<'_>) {
        match argument {
            HandlerArgument::Operand(number) => self.buffer(at, xla::call_frame::ARGS, number),
            HandlerArgument::Result(number) => self.buffer(at, xla::call_frame::RETS, number),
            HandlerArgument::Stream => {
                let stream = match self.place {
                    Some(place) => self.b.load(Type::I64, place, PLACE_STREAM),
                    None => self.b.i64(0),
                };
                self.write(at, TypeIndex::OPAQUE_PTR, stream);
            }
            HandlerArgument::Attribute(attribute) => self.attribute(at, attribute),
        }
    }

    /// Writes the tensor of a buffer, the operand or result of this number.
    fn buffer(&mut self, at: i32, list: Field, number: u32) {
        let list = self.b.load(Type::Ptr, self.frame, inner(list, xla::args::ARGS));
        let buffer = self.b.load(Type::Ptr, list, 8 * number as i32);
        let tensor = self.b.stack_slot(DL_TENSOR.size, DL_TENSOR.align);
        let device = match self.place {
            Some(place) => self.b.load(Type::I64, place, PLACE_DEVICE),
            None => self.b.i64(self.handler.device.0.into()),
        };
        let dtypes = constant_bytes(&mut self.b, dtypes());
        self.routine(Routine::XlaView, &[tensor, buffer, device, dtypes]);
        let address = self.b.as_word(tensor);
        self.write(at, TypeIndex::DL_TENSOR_PTR, address);
    }

    /// Writes the value of an attribute.
    fn attribute(&mut self, at: i32, attribute: Attribute<'_>) {
        let Attribute { name, form, default } = attribute;
        let subject = format!("attribute {}", spelled(name));
        let data = constant_bytes(&mut self.b, name.as_bytes().to_vec());
        let (len, number) = (self.b.i64(name.len() as i64), self.b.i32(number_of(form)));
        let to = self.b.ptr_offset(self.args, at.into());
        let host = records::address(&mut self.b, self.raising.reporter.record);
        let args = [host, self.frame, data, len, number, to];
        let answer = self.routine_value(Routine::XlaAttribute, &args);
        let (other, next) = (self.b.block("other"), self.b.block("attribute"));
        let seen = self.b.block_param(next, Type::I64, "seen");
        let more = self.b.binary_const(Binary::Add, self.seen, 1);
        let found = self.b.compare_const(Cond::Eq, answer, FOUND.into());
        self.b.branch(found, (next, [more]), other);
        self.b.switch_to(other);
        let (absent, refused) = (self.b.block("absent"), self.b.cold_block("refused"));
        let is_absent = self.b.compare_const(Cond::Eq, answer, ABSENT.into());
        self.b.branch(is_absent, absent, refused);
        self.b.switch_to(absent);
        match default {
            Some(default) => {
                store_literal(&mut self.b, default, self.args, at);
                self.b.jump(next, &[self.seen]);
            }
            None => self.fail(&Failed::of(Complaint::NoAttribute, &subject), &[], self.leave),
        }
        self.b.switch_to(refused);
        let foreign = self.b.cold_block("foreign");
        let is_raised = self.b.compare_const(Cond::Eq, answer, RAISED.into());
        self.b.branch(is_raised, self.leave, foreign);
        self.b.switch_to(foreign);
        let (large, other) = (self.b.cold_block("large"), self.b.cold_block("unknown"));
        let is_large = self.b.compare_const(Cond::Eq, answer, LARGE.into());
        self.b.branch(is_large, large, other);
        self.b.switch_to(large);
        let number = self.b.load(Type::I64, to, any::PAYLOAD.offset);
        self.fail(&Failed::of(Complaint::WideArgument, &subject), &[number], self.leave);
        self.b.switch_to(other);
        let complaint = match form {
            Form::Plain | Form::Bytes => Complaint::ForeignAttribute,
            Form::Array | Form::Shape => Complaint::NoArray,
        };
        self.fail(&Failed::of(complaint, &subject), &[], self.leave);
        self.b.switch_to(next);
        self.seen = seen;
    }

    /// Checks that the call has no attributes but those that were found: a name that is misspelled is not lost.
    fn count_attributes(&mut self) {
        let count = self.frame_word(xla::call_frame::ATTRS, xla::attrs::SIZE);
        let same = self.b.compare(Cond::Eq, count, self.seen);
        self.require(same, Complaint::Attributes, &[self.seen, count], self.leave);
    }

    /// Calls the wrapper, or the runtime's function that calls a closure, with the first arguments. Returns the address
    /// of the result.
    fn call(&mut self, callee: Symbol, closure: Option<Value>, given: usize) -> Value {
        let result = self.b.stack_slot(ANY.size, ANY.align);
        write_none(&mut self.b, result);
        let handle = closure.unwrap_or_else(|| self.b.null());
        let count = self.b.i32(given as i32);
        let status = self.b.call_value(callee, &[handle, self.args, count, result]);
        let done = self.b.block("done");
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        self.b.branch(failed, self.leave, done);
        self.b.switch_to(done);
        result
    }

    /// Returns the closure that is the state of the program; ends the handler with XLA's error if there is none.
    fn state(&mut self) -> Value {
        let state = self.b.stack_slot(8, 8);
        let error = self.routine_value(Routine::XlaGetState, &[self.frame, state]);
        self.return_if_error(error);
        self.b.load(Type::Ptr, state, 0)
    }

    /// Makes a closure the state of the program. Returns NULL, or an error of XLA.
    fn keep(&mut self, made: Value) -> Value {
        let closure = self.b.load(Type::Ptr, made, any::PAYLOAD.offset);
        self.routine_value(Routine::XlaSetState, &[self.frame, closure])
    }

    /// Ends the handler unless an error of XLA is NULL.
    fn return_if_error(&mut self, error: Value) {
        let is_error = self.b.compare_const(Cond::Ne, error, 0);
        let next = self.b.enter_cold_if(is_error, "failed");
        self.b.ret(Some(error));
        self.b.switch_to(next);
    }

    /// Ends the handler: with an answer, else without an error, and the blocks that failures jump to.
    fn finish(&mut self, answer: Option<Value>) {
        self.end();
        let answer = answer.unwrap_or_else(|| self.b.null());
        self.b.ret(Some(answer));
        self.b.switch_to(self.leave);
        self.end();
        self.b.jump(self.refuse, &[]);
        self.b.switch_to(self.refuse);
        let error = self.routine_value(Routine::XlaError, &[self.frame]);
        self.b.ret(Some(error));
    }

    /// Releases the arguments, of which texts are owned, and gives the thread its stream and its allocator back.
    fn end(&mut self) {
        if self.handler.has_attributes() {
            let count = self.b.i64(self.handler.args.len() as i64);
            self.routine(Routine::Release, &[self.args, count]);
        }
        if let Some(lending) = self.lending {
            self.routine(Routine::XlaTakeBack, &[lending]);
        }
        if let Some(place) = self.place {
            self.routine(Routine::LeaveStream, &[place]);
        }
    }

    /// Loads a word of a struct in the call frame.
    fn frame_word(&mut self, of: Field, field: Field) -> Value {
        self.b.load(Type::I64, self.frame, inner(of, field))
    }

    /// Checks a number of the call before it begins.
    fn exactly(&mut self, complaint: Complaint, found: Value, expected: i64) {
        let (same, expected) =
            (self.b.compare_const(Cond::Eq, found, expected), self.b.i64(expected));
        self.require(same, complaint, &[expected, found], self.refuse);
    }

    /// Checks a size before the call begins.
    fn at_least(&mut self, complaint: Complaint, found: Value, expected: i64) {
        let (enough, expected) =
            (self.b.compare_const(Cond::Uge, found, expected), self.b.i64(expected));
        self.require(enough, complaint, &[expected, found], self.refuse);
    }

    /// Raises a complaint and jumps to `out` unless a condition holds.
    fn require(&mut self, ok: Value, complaint: Complaint, values: &[Value], out: Block) {
        let next = self.b.enter_cold_unless(ok, "refused");
        self.fail(&Failed::of(complaint, ""), values, out);
        self.b.switch_to(next);
    }

    /// Raises a failure, with two values at most, and jumps to `out`.
    fn fail(&mut self, failed: &Failed, values: &[Value], out: Block) {
        self.raising.raise(&mut self.b, failed, values);
        self.b.jump(out, &[]);
    }

    /// Writes a value of the FFI as the argument at an offset.
    fn write(&mut self, at: i32, index: TypeIndex, payload: Value) {
        let to = self.b.ptr_offset(self.args, at.into());
        write_any(&mut self.b, to, index, payload);
    }

    fn routine(&mut self, routine: Routine, args: &[Value]) {
        self.raising.call(&mut self.b, routine, args);
    }

    fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        self.raising.call_value(&mut self.b, routine, args)
    }
}

/// Returns the form of an attribute as the routine gets it.
fn number_of(form: Form) -> i32 {
    match form {
        Form::Plain => form::PLAIN,
        Form::Bytes => form::BYTES,
        Form::Array => form::ARRAY,
        Form::Shape => form::SHAPE,
    }
}

/// Adds the function of the FFI that returns the address of a handler. Its callers are programs that register handlers,
/// so it does not check the number of arguments.
fn getter(module: &mut Module, name: &str, handler: Symbol) {
    let mut b = ffi_function(module, &function_symbol(name), Linkage::Export);
    b.set_cold();
    let result = b.param(3);
    let address = b.address(handler);
    let address = b.as_word(address);
    write_any(&mut b, result, TypeIndex::OPAQUE_PTR, address);
    b.return_code(0);
    let function = b.finish();
    module.functions.push(function);
}
