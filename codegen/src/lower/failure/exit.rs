//! Exits: cold blocks to which failing checks branch, one for each group of checks.
//!
//! An exit passes a record and values of the call to a fail routine. Then it jumps to a block that releases what the
//! function holds and returns. Each exit calls its fail routine itself: exits that jumped to one common call would be
//! merged by LLVM, which then computes the addresses of the records before the checks.

mod leave;

pub(crate) use leave::take_error;

use abi_spec::layout::{ANY, any};
use rustc_hash::FxHashMap;

use crate::ir::{Binary, Block, Convert, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::frame::{Held, Slot};
use crate::lower::emitter::state::Origin;
use crate::lower::failure::message::Message;
use crate::lower::failure::records;
use crate::lower::failure::site::Failed;
use crate::lower::failure::subject::{Run, Subjects};
use crate::lower::routines::Routine;
use crate::lower::routines::records::{NumberRule, Subject, place};
use crate::lower::routines::schema::FieldType as _;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Place;

/// The exits of a function.
pub(crate) struct Exits<'a, 'm> {
    /// The records that exits pass to routines.
    pub(crate) subjects: Subjects<'a, 'm>,
    /// The block to which failing checks branch instead of an exit: the checks of the next alternative of a union.
    /// `None` outside of unions.
    other: Option<Block>,
    /// The enclosing loops, the outermost first.
    loops: Vec<Turn>,
    /// The run that the current loop checks.
    run: Option<Run>,
    /// The blocks that leave the function once a routine has raised, each with the number of exits that jump to it.
    raised: FxHashMap<ExitState, (Block, u32)>,
    /// For each held reference, in order, the block that releases it and all references that were held before it.
    releasing: Vec<(Held, Block)>,
}

/// Position of a loop, from which its index is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// The addresses of the first element and of the current one.
    At { start: Value, at: Value },
    /// The number of all elements, and of those left, the current one included.
    Left { size: Value, left: Value },
}

/// A check of a number: an integer argument, an extent, a stride or an integer of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberCheck<'s> {
    pub(crate) place: Place,
    /// The value of the number.
    pub(crate) found: Value,
    /// The rule that the number must obey.
    pub(crate) rule: NumberRule,
    /// The text of the expected number in messages; empty if they do not show it.
    pub(crate) text: &'s str,
    /// The expected number; `None` if the check compares with none.
    pub(crate) expected: Option<Value>,
    /// The place that has determined the expected number.
    pub(crate) origin: Origin,
}

/// State of the frame at an exit. Exits with equal state leave the function through the same block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ExitState {
    /// The last held reference.
    held: Option<Held>,
    /// The number of owned values.
    owned: u32,
}

impl<'a, 'm> Exits<'a, 'm> {
    /// Creates the state of a function that has no exits yet.
    pub(crate) fn new(subjects: Subjects<'a, 'm>) -> Self {
        Exits {
            subjects,
            other: None,
            loops: Vec::new(),
            run: None,
            raised: FxHashMap::default(),
            releasing: Vec::new(),
        }
    }

    /// Returns the block to which failing checks branch instead of an exit.
    pub(crate) fn other(&self) -> Option<Block> {
        self.other
    }

    /// Sets the block to which failing checks branch instead of an exit. Returns the one before.
    pub(crate) fn set_other(&mut self, other: Option<Block>) -> Option<Block> {
        std::mem::replace(&mut self.other, other)
    }

    /// Begins the body of a loop.
    pub(crate) fn begin_loop(&mut self, turn: Turn) {
        self.loops.push(turn);
    }

    /// Ends the body of the innermost loop.
    pub(crate) fn end_loop(&mut self) {
        self.loops.pop();
    }

    /// Sets the run whose current tensor is checked.
    pub(crate) fn set_run(&mut self, run: Option<Run>) {
        self.run = run;
    }
}

/// Exits, one kind for each group of checks.
impl Exits<'_, '_> {
    /// Returns the exit for type and range of a scalar.
    pub(crate) fn scalar(&mut self, e: &mut Emitter<'_, '_>, value: ValueId) -> Block {
        self.value_by(e, Routine::FailScalar, value)
    }

    /// Returns the exit for type and header of a tensor.
    pub(crate) fn header(&mut self, e: &mut Emitter<'_, '_>, value: ValueId) -> Block {
        let routine =
            if e.tensor(value).trailing() { Routine::FailTrailing } else { Routine::FailHeader };
        self.value_by(e, routine, value)
    }

    /// Returns the exit for the leading dims of a tensor of which only the last dims are declared.
    pub(crate) fn leading(&mut self, e: &mut Emitter<'_, '_>, value: ValueId) -> Block {
        self.exit_by(e, Routine::FailLeading, |x, e| {
            [x.subject(e, value), e.tensor(value).dl(), e.tensor(value).dims_after_leading()]
        })
    }

    /// Returns the exit for the layout of a tensor that `Routine::Settle` has refused.
    pub(crate) fn layout(
        &mut self,
        e: &mut Emitter<'_, '_>,
        value: ValueId,
        refused: Value,
    ) -> Block {
        self.exit_by(e, Routine::FailLayout, |x, e| [x.subject(e, value), refused])
    }

    /// Returns the exit for a value that is neither scalar nor tensor.
    pub(crate) fn value(&mut self, e: &mut Emitter<'_, '_>, value: ValueId) -> Block {
        self.value_by(e, Routine::FailValue, value)
    }

    /// Returns the exit for a value that a callee has written and that must be owned.
    pub(crate) fn owned(&mut self, e: &mut Emitter<'_, '_>, value: ValueId) -> Block {
        self.exit_by(e, Routine::FailOwned, |x, e| {
            let record = x.subjects.owned_record(value);
            let record = records::address(&mut e.b, record);
            let scalar = if e.function.is_plain(value) { x.subject(e, value) } else { e.b.null() };
            [record, e.any_address(value), scalar]
        })
    }

    /// Emits the address of the record of a value.
    pub(crate) fn subject(&mut self, e: &mut Emitter<'_, '_>, value: ValueId) -> Value {
        let record = self.subjects.record(value);
        let address = records::address(&mut e.b, record);
        let Some(Run { first, current }) = self.run else { return address };
        // The records of a run are adjacent, as its arguments are.
        let first = e.b.convert(Convert::PtrToInt, first, Type::I64);
        let current = e.b.convert(Convert::PtrToInt, current, Type::I64);
        let bytes = e.b.binary(Binary::Sub, current, first);
        let nth = e.b.binary_const(Binary::Lshr, bytes, 4);
        let bytes = e.b.binary_const(Binary::Mul, nth, i64::from(4 * Subject::WORDS));
        e.b.ptr_add(address, bytes)
    }

    /// Returns an exit that passes the record of a value and the value to a routine.
    fn value_by(&mut self, e: &mut Emitter<'_, '_>, routine: Routine, value: ValueId) -> Block {
        self.exit_by(e, routine, |x, e| {
            let subject = x.subject(e, value);
            let (base, index) = e.any_in(value);
            [subject, base, e.b.i64(index)]
        })
    }

    /// Returns the exit for a number and its sign.
    pub(crate) fn number(&mut self, e: &mut Emitter<'_, '_>, check: NumberCheck<'_>) -> Block {
        if let Some(other) = self.other {
            return other;
        }
        let NumberCheck { place: at, found, rule, text, expected, origin } = check;
        let text = if text.is_empty() {
            0
        } else {
            let text = self.subjects.records.quoted(text);
            self.subjects.records.shared(text, &[])
        };
        let which =
            place::of(text, self.subjects.packed_part(at)) | u64::from(rule as u32) << place::RULE;
        let here = e.b.current();
        self.exit_by(e, Routine::FailNumber, |x, e| {
            let subject = x.subject(e, at.value());
            let which = e.b.i64(which as i64);
            let found = number_address(e, at, found);
            let expected = match expected {
                Some(expected) => e.b.constant_of(here, expected),
                None => e.b.i64(0),
            };
            let origin = origin.value(&mut e.b);
            [subject, which, found, expected, origin]
        })
    }

    /// Returns the exit for a tensor that is not on device `first`. That is the device of the first tensor of the same
    /// device type, which is at place `origin`.
    pub(crate) fn device(
        &mut self,
        e: &mut Emitter<'_, '_>,
        value: ValueId,
        first: Value,
        origin: Origin,
    ) -> Block {
        self.exit_by(e, Routine::FailDevice, |x, e| {
            let (subject, dl) = (x.subject(e, value), e.tensor(value).dl());
            let origin = origin.value(&mut e.b);
            [subject, dl, first, origin]
        })
    }

    /// Returns the exit for a tensor that has not the element type of tensor `of`. Both element types are an `I32`.
    pub(crate) fn dtype(
        &mut self,
        e: &mut Emitter<'_, '_>,
        value: ValueId,
        found: Value,
        (expected, of): (Value, ValueId),
    ) -> Block {
        self.exit_by(e, Routine::FailOtherDtype, |x, e| {
            let subject = x.subject(e, value);
            let [found, expected] =
                [found, expected].map(|dtype| e.b.convert(Convert::Zext, dtype, Type::I64));
            let place = x.subjects.packed_place(Place::Value { value: of });
            [subject, found, expected, e.b.i64(place as i64)]
        })
    }

    /// Emits code that raises a message and leaves the function.
    pub(crate) fn raise(&mut self, e: &mut Emitter<'_, '_>, message: &Message) {
        let routine = if message.is_rare() { Routine::FailAny } else { Routine::Fail };
        let record = self.subjects.fault(message);
        let record = records::address(&mut e.b, record);
        let values = e.scratch(&message.values);
        e.routine(routine, &[record, values]);
        self.leave_raised(e);
    }

    /// Emits code that raises the failure of a call and leaves the function.
    pub(crate) fn raise_at(&mut self, e: &mut Emitter<'_, '_>, failed: &Failed, values: &[Value]) {
        self.fail_at(e, failed, values);
        self.leave_raised(e);
    }

    /// Returns the block to jump to once a routine has raised.
    pub(crate) fn raised(&mut self, e: &mut Emitter<'_, '_>) -> Block {
        match self.other {
            Some(other) => other,
            None => self.raised_block(e),
        }
    }

    /// Emits stores of the indices of the enclosing loops and returns their address; NULL outside of loops.
    pub(crate) fn indices(&mut self, e: &mut Emitter<'_, '_>) -> Value {
        if self.loops.is_empty() {
            return e.b.null();
        }
        let size = 8 * self.loops.len() as u32;
        let indices = e.slot(Slot::Indices, size);
        for (depth, turn) in self.loops.clone().into_iter().enumerate() {
            let index = index(e, turn);
            e.b.store(index, indices, 8 * depth as i32);
        }
        indices
    }
}

/// Blocks of exits.
impl Exits<'_, '_> {
    /// Returns an exit that calls a fail routine. `args` computes its arguments without the loop indices.
    fn exit_by<const N: usize>(
        &mut self,
        e: &mut Emitter<'_, '_>,
        routine: Routine,
        args: impl FnOnce(&mut Self, &mut Emitter<'_, '_>) -> [Value; N],
    ) -> Block {
        if let Some(other) = self.other {
            return other;
        }
        self.cold(e, "fail", |x, e| {
            let mut args = args(x, e).to_vec();
            if routine.takes_indices() {
                args.push(x.indices(e));
            }
            e.routine(routine, &args);
            x.leave_raised(e);
        })
    }

    /// Emits a cold block with the code of `body`. Values that `body` loads are forgotten at its end.
    pub(crate) fn cold(
        &mut self,
        e: &mut Emitter<'_, '_>,
        label: &'static str,
        body: impl FnOnce(&mut Self, &mut Emitter<'_, '_>),
    ) -> Block {
        let (here, block) = (e.b.current(), e.b.cold_block(label));
        e.b.switch_to(block);
        let outer = e.known.open_scope();
        body(self, e);
        e.known.close_scope(outer);
        e.b.switch_to(here);
        block
    }
}

/// Returns an address that holds the number at a place.
fn number_address(e: &mut Emitter<'_, '_>, place: Place, found: Value) -> Value {
    match place {
        Place::Value { value } => {
            let (base, offset) = e.address_of(value);
            e.b.ptr_offset(base, (offset + any::PAYLOAD.offset).into())
        }
        Place::Extent { value, dim } => {
            let shape = e.tensor(value).shape();
            if dim == 0 { shape } else { e.b.ptr_offset(shape, 8 * dim as i64) }
        }
        Place::Number { value, dim } => {
            let data = e.known.value(value).span().data;
            if dim == 0 { data } else { e.b.ptr_offset(data, 8 * dim as i64) }
        }
        // A compact stride of a tensor with NULL strides is not in memory.
        Place::Stride { .. } => e.scratch(&[found]),
    }
}

/// Computes the index of a loop.
fn index(e: &mut Emitter<'_, '_>, turn: Turn) -> Value {
    match turn {
        Turn::At { start, at } => {
            let start = e.b.convert(Convert::PtrToInt, start, Type::I64);
            let at = e.b.convert(Convert::PtrToInt, at, Type::I64);
            let bytes = e.b.binary(Binary::Sub, at, start);
            let shift = ANY.size.trailing_zeros();
            e.b.binary_const(Binary::Lshr, bytes, shift.into())
        }
        Turn::Left { size, left } => e.b.binary(Binary::Sub, size, left),
    }
}
