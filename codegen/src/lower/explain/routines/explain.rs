//! Redoing the checks of a call one by one, and raising the first fault.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Header, Op, Received, Text, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::{DEVICE_SIZE, Field};
use crate::lower::explain::schema::{At, Part};

/// Bytes of arrays for an ordinary function: 48 slots, say, half of them of symbols, 4 loops, 8 operands, and
/// 4 devices.
pub(crate) const ORDINARY: u32 = 16 * 48 + 8 * (24 + 4 + 8) + 16 * 4;

/// Bytes for any function.
const EVERY: u32 = {
    use crate::language::{MAX_NESTING, MAX_VALUES};
    use crate::resolve::names::MAX_SYMBOLS;
    let slots = 16 * (MAX_VALUES + MAX_SYMBOLS);
    let words = 8 * (MAX_SYMBOLS + MAX_NESTING + 1 + 2 * MAX_NESTING);
    (slots + words) as u32 + 16 * 64
};

/// `(handle, args, num_args, descriptor)`: for arguments that have a fault.
pub(crate) fn explain(b: &mut Builder<'_>, _: Used) {
    entry(b, ORDINARY);
}

/// The same for functions that take more room.
pub(crate) fn explain_large(b: &mut Builder<'_>, _: Used) {
    entry(b, EVERY);
}

/// Replays in a frame with so much room for arrays.
fn entry(b: &mut Builder<'_>, room: u32) {
    let [handle, args, num_args, descriptor] = [0, 1, 2, 3].map(|i| b.param(i));
    let s = b.state_slot(room);
    b.set_field(s, Field::Handle, handle);
    b.set_field(s, Field::Args, args);
    let num_args = b.convert(Convert::Sext, num_args, Type::I64);
    b.set_field(s, Field::NumArgs, num_args);
    let room = b.i64(room.into());
    let raised = b.routine_value(Routine::Replay, &[s, descriptor, room]);
    let some = b.compare_const(Cond::Ne, raised, 0);
    b.return_if(some, -1);
    unexplained(b, s);
}

/// `(state, descriptor)`: the fields that messages need.
pub(crate) fn open(b: &mut Builder<'_>, _: Used) {
    let [s, descriptor] = [0, 1].map(|i| b.param(i));
    let header = At::<Header>::new(descriptor);
    b.set_field(s, Field::Descriptor, descriptor);
    let (texts, size) = (header.texts(b), header.size(b));
    // Without texts there are neither steps nor words in a message.
    let sound = b.compare(Cond::Ule, texts, size);
    let nothing = b.i64(i64::from(4 * Header::WORDS));
    let [texts, size] = [texts, size].map(|end| b.select(sound, end, nothing));
    let address = b.ptr_add(descriptor, texts);
    b.set_field(s, Field::Texts, address);
    b.set_field(s, Field::End, address);
    let size = b.binary(Binary::Sub, size, texts);
    b.set_field(s, Field::TextSize, size);
    let frame = header.backtrace(b).address(b);
    b.set_field(s, Field::Frame, frame);
    let zero = b.i64(0);
    b.set_field(s, Field::Quiet, zero);
    b.ret(None);
}

/// `(descriptor, section, any, values, count)`: raises the first fault of a value that somebody else has made.
pub(crate) fn explain_received(b: &mut Builder<'_>, _: Used) {
    received(b, ORDINARY);
}

/// The same for functions that take more room.
pub(crate) fn explain_received_large(b: &mut Builder<'_>, _: Used) {
    received(b, EVERY);
}

fn received(b: &mut Builder<'_>, room: u32) {
    let [descriptor, section, any, values, count] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let s = b.state_slot(room);
    let (null, zero) = (b.null(), b.i64(0));
    b.set_field(s, Field::Handle, null);
    b.set_field(s, Field::Args, null);
    b.set_field(s, Field::NumArgs, zero);
    let room = b.i64(room.into());
    let args = [s, descriptor, room, section, any, values, count];
    let raised = b.routine_value(Routine::ReplayReceived, &args);
    let some = b.compare_const(Cond::Ne, raised, 0);
    b.return_if(some, -1);
    unexplained(b, s);
}

/// `(state, descriptor, room, section, any, values, count)`: the steps of a value, once its symbols are known.
pub(crate) fn replay_received(b: &mut Builder<'_>, _: Used) {
    let [s, descriptor, room, section, any, values, count] =
        [0, 1, 2, 3, 4, 5, 6].map(|i| b.param(i));
    b.routine(Routine::Open, &[s, descriptor]);
    let header = At::<Header>::new(descriptor);
    arrays(b, s, header, room);
    let texts = header.texts(b);
    let inside = b.compare(Cond::Ult, section, texts);
    b.intact(s, inside);
    let start = b.ptr_add(descriptor, section);
    b.set_field(s, Field::Pc, start);
    let received = b.take::<Received>(s);
    let frame = received.frame(b);
    b.set_frame(s, frame);
    let known = received.known(b);
    let given = b.eq(known, count);
    b.intact(s, given);
    b.count_to(known, |b, at| {
        let symbol = b.take_word(s);
        let origin = b.origin(s, symbol);
        let unnamed = b.i64(1);
        b.store(unnamed, origin, 0);
        let value = b.load_element(values, at);
        b.set_slot(s, symbol, value);
    });
    let slot = received.slot(b);
    b.locate(s, slot, any);
    let raised = b.routine_value(Routine::Interpret, &[s]);
    b.ret(Some(raised));
}

/// Reached only if the wrapper saw a fault that is none: a bug in lowering.
fn unexplained(b: &mut Builder<'_>, s: Value) {
    let complaint = b.i64(Complaint::Unexplained as i64);
    let zero = b.i64(0);
    b.routine(Routine::Broken, &[s, complaint, zero]);
    b.return_code(-1);
}

impl Builder<'_> {
    /// The backtrace of an error, if it has one of its own.
    pub(crate) fn set_frame(&mut self, s: Value, frame: At<Text>) {
        let length = frame.span().length(self);
        let own = self.compare_const(Cond::Ne, length, 0);
        let (known, frame) = (self.field(s, Field::Frame), frame.address(self));
        let frame = self.select(own, frame, known);
        self.set_field(s, Field::Frame, frame);
    }
}

/// `(state, descriptor, room)`: all steps; 0 if they pass.
pub(crate) fn replay(b: &mut Builder<'_>, _: Used) {
    let [s, descriptor, room] = [0, 1, 2].map(|i| b.param(i));
    b.routine(Routine::Open, &[s, descriptor]);
    let header = At::<Header>::new(descriptor);
    count(b, s, header);
    arrays(b, s, header, room);
    let first = header.end(b);
    b.set_field(s, Field::Pc, first);
    let raised = b.routine_value(Routine::Interpret, &[s]);
    b.ret(Some(raised));
}

/// The number of arguments.
fn count(b: &mut Builder<'_>, s: Value, header: At<Header>) {
    let (least, most) = (header.least(b), header.most(b));
    let found = b.field(s, Field::NumArgs);
    let few = b.compare(Cond::Slt, found, least);
    let many = b.compare(Cond::Sgt, found, most);
    let limited = b.compare_const(Cond::Ne, most, -1);
    let many = b.and(many, limited);
    let wrong = b.or(few, many);
    b.if_then(wrong, |b| {
        let range = b.compare(Cond::Ne, least, most);
        let range = b.and(range, limited);
        b.refuse(s, range, Complaint::CountRange, &[least, most, found]);
        let complaint = b.either(limited, Complaint::Count, Complaint::CountLeast);
        b.complain_of(s, complaint, &[least, found]);
    });
}

/// Lays out the arrays as the counts of the descriptor say, and fills them with zeros.
fn arrays(b: &mut Builder<'_>, s: Value, header: At<Header>, room: Value) {
    let symbols = header.symbols(b);
    let slots = header.slots(b);
    let all = [
        (Field::Operands, header.operands(b), Some(Field::OperandCount), 8),
        (Field::Devices, header.devices(b), Some(Field::DeviceRoom), DEVICE_SIZE),
        (Field::Loops, header.loops(b), Some(Field::LoopCount), 8),
        (Field::Origins, symbols, Some(Field::Symbols), 8),
        (Field::Slots, slots, Some(Field::SlotCount), 8),
        (Field::Anys, slots, None, 8),
    ];
    let zero = b.i64(0);
    let start = b.arrays(s);
    let mut end = zero;
    for (array, count, field, size) in all {
        let at = b.ptr_add(start, end);
        b.set_field(s, array, at);
        field.into_iter().for_each(|field| b.set_field(s, field, count));
        let bytes = b.binary_const(Binary::Mul, count, size);
        end = b.binary(Binary::Add, end, bytes);
    }
    let fits = b.compare(Cond::Sle, end, room);
    let named = b.compare(Cond::Sle, symbols, slots);
    let fits = b.and(fits, named);
    b.intact(s, fits);
    b.set_field(s, Field::DeviceCount, zero);
    // Operations read two operands, also where there are fewer.
    [-16, -8].into_iter().for_each(|below| b.store(zero, start, below));
    let words = b.binary_const(Binary::Lshr, end, 3);
    b.count_to(words, |b, at| {
        let at = b.element(start, at);
        b.store(zero, at, 0);
    });
}

/// The routine for each step, which takes the state.
fn routine(op: Op) -> Option<Routine> {
    Some(match op {
        Op::End => return None,
        Op::Argument => Routine::Argument,
        Op::Element => Routine::Element,
        Op::Present => Routine::Present,
        Op::Bound => Routine::Bound,
        Op::Context => Routine::Context,
        Op::Scalar => Routine::Scalar,
        Op::Tensor => Routine::Tensor,
        Op::Occurrence => Routine::Occurrence,
        Op::Compact => Routine::Compact,
        Op::Data => Routine::Data,
        Op::Settle => Routine::SettleSymbol,
        Op::Owned => Routine::Owned,
        Op::Type => Routine::Type,
        Op::Instance => Routine::Instance,
        Op::Size => Routine::Size,
        Op::Dtype => Routine::Dtype,
        Op::Device => Routine::Device,
        Op::Numbers => Routine::CheckNumbers,
        Op::Literal => Routine::Literal,
        Op::Each => Routine::Each,
        Op::Entries => Routine::Entries,
        Op::OneOf => Routine::OneOf,
        Op::Constraint => Routine::Constraint,
        Op::Evaluate => Routine::Evaluate,
    })
}

/// `(state)`: steps from the program counter to their end.
pub(crate) fn interpret(b: &mut Builder<'_>, used: Used) {
    let s = b.param(0);
    let (next, ran, stop) = (b.block("step"), b.block("ran"), b.block("stop"));
    let raised = b.block_param(ran, Type::I32, "raised");
    b.jump(next, &[]);
    b.switch_to(next);
    let op = b.take_word(s);
    for &code in Op::ALL.iter().filter(|&&code| used.has(code)) {
        b.case(op, code as u32, ran, |b| {
            let Some(routine) = routine(code) else {
                let passed = b.i32(0);
                b.ret(Some(passed));
                return [passed];
            };
            [b.routine_value(routine, &[s])]
        });
    }
    b.unknown(s, op);
    b.switch_to(ran);
    let some = b.compare_const(Cond::Ne, raised, 0);
    b.branch(some, stop, next);
    b.switch_to(stop);
    b.ret(Some(raised));
}

/// `(state)`: a condition of the `where` clause.
pub(crate) fn constraint(b: &mut Builder<'_>, _: Used) {
    use crate::lower::explain::codes::step;
    let (s, step) = b.step::<step::Constraint>();
    let leaves = step.end(b);
    let words = b.take_word(s);
    b.skip(s, words);
    let holds = b.evaluate_or_stop(s);
    let violated = b.compare_const(Cond::Eq, holds, 0);
    b.if_then(violated, |b| {
        let [before, subject] = [step.before(b), step.subject(b)].map(|text| text.address(b));
        b.complain(s, Complaint::Violated, &[before, subject, leaves]);
    });
    b.return_code(0);
}

// A descriptor is no larger than the frame that the largest function takes.
const _: () = assert!(Header::WORDS < 32 && ORDINARY < EVERY);
