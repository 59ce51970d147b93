//! Exits: cold blocks to which failing checks branch, one for each group of checks.
//!
//! An exit passes a record and values of the call to a fail routine. Then it jumps to a block that releases what the
//! function holds and returns. Each exit calls its fail routine itself: exits that jumped to one common call would be
//! merged by LLVM, which then computes the addresses of the records before the checks.

mod leave;

use abi_spec::layout::{ANY, any};
use rustc_hash::FxHashMap;

use crate::declaration::Location;
use crate::ir::{Binary, Block, Convert, Type, Value};
use crate::lower::emitter::frame::{Held, Slot};
use crate::lower::emitter::state::Origin;
use crate::lower::failure::message::Message;
use crate::lower::failure::records;
use crate::lower::failure::site::Failed;
use crate::lower::failure::subject::{Run, TensorRequirements, note};
use crate::lower::routines::Routine;
use crate::lower::routines::records::{NumberRule, place};
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::Place;

/// State of the exits of a function.
#[derive(Debug)]
pub(crate) struct Exits<'a> {
    /// The block to which failing checks branch instead of an exit: the checks of the next alternative of a union.
    /// `None` outside of unions.
    pub(crate) other: Option<Block>,
    /// The source location of the current statement; `None` for the source location of the function.
    pub(crate) location: Option<&'a Location>,
    /// The enclosing loops, the outermost first.
    loops: Vec<Turn>,
    /// The run that the current loop checks.
    pub(super) run: Option<Run>,
    /// The blocks that leave the function once a routine has raised, each with the number of exits that jump to it.
    raised: FxHashMap<ExitState, (Block, u32)>,
    /// For each held reference, in order, the block that releases it and all references that were held before it.
    releasing: Vec<(Held, Block)>,
    /// The offset of the record of each value.
    pub(super) subjects: Table<ValueId, Option<u32>>,
    /// The requirements of each tensor.
    pub(super) requirements: Table<ValueId, TensorRequirements>,
    /// The offset of the record of the function for each source location, by the address of the location.
    pub(super) hosts: Vec<(Option<*const Location>, u32)>,
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

impl<'a> Exits<'a> {
    /// Creates the state of a function that has no exits yet. `host` is the offset of the record of the function.
    pub(crate) fn new(function: &Function<'_>, host: u32) -> Exits<'a> {
        let mut requirements = Table::like(&function.values, TensorRequirements::NONE);
        note(&function.steps, &mut requirements);
        Exits {
            other: None,
            location: None,
            loops: Vec::new(),
            run: None,
            raised: FxHashMap::default(),
            releasing: Vec::new(),
            subjects: Table::like(&function.values, None),
            requirements,
            hosts: vec![(function.declared.location.as_ref().map(std::ptr::from_ref), host)],
        }
    }
}

/// Exits, one kind for each group of checks.
impl<'a> Wrapper<'a, '_> {
    /// Returns the exit for type and range of a scalar.
    pub(crate) fn scalar_exit(&mut self, value: ValueId) -> Block {
        self.value_exit_by(Routine::FailScalar, value)
    }

    /// Returns the exit for type and header of a tensor.
    pub(crate) fn header_exit(&mut self, value: ValueId) -> Block {
        let routine =
            if self.trailing(value) { Routine::FailTrailing } else { Routine::FailHeader };
        self.value_exit_by(routine, value)
    }

    /// Returns the exit for the leading dims of a tensor of which only the last dims are declared.
    pub(crate) fn leading_exit(&mut self, value: ValueId) -> Block {
        self.exit_by(Routine::FailLeading, |w| {
            [w.subject(value), w.dl(value), w.dims_after_leading(value)]
        })
    }

    /// Returns the exit for the layout of a tensor that `Routine::Settle` has refused.
    pub(crate) fn layout_exit(&mut self, value: ValueId, refused: Value) -> Block {
        self.exit_by(Routine::FailLayout, |w| [w.subject(value), refused])
    }

    /// Returns the exit for a value that is neither scalar nor tensor.
    pub(crate) fn value_exit(&mut self, value: ValueId) -> Block {
        self.value_exit_by(Routine::FailValue, value)
    }

    /// Returns the exit for a value that a callee has written and that must be owned.
    pub(crate) fn owned_exit(&mut self, value: ValueId) -> Block {
        self.exit_by(Routine::FailOwned, |w| {
            let record = w.owned_record(value);
            let record = records::address(&mut w.b, record);
            let scalar = if w.is_plain(value) { w.subject(value) } else { w.b.null() };
            [record, w.any_address(value), scalar]
        })
    }

    /// Returns the address of a value as the base of an array and an index. The base of an argument is the array of
    /// arguments, a register that all exits share; any other value is element 0 of an array at its own address.
    fn any_in(&mut self, value: ValueId) -> (Value, i64) {
        match self.address_of(value) {
            (base, offset) if base == self.args => (base, i64::from(offset) / i64::from(ANY.size)),
            _ => (self.any_address(value), 0),
        }
    }

    /// Returns an exit that passes the record of a value and the value to a routine.
    fn value_exit_by(&mut self, routine: Routine, value: ValueId) -> Block {
        self.exit_by(routine, |w| {
            let subject = w.subject(value);
            let (base, index) = w.any_in(value);
            [subject, base, w.b.i64(index)]
        })
    }

    /// Returns the exit for a number and its sign.
    pub(crate) fn number_exit(&mut self, check: NumberCheck<'_>) -> Block {
        if let Some(other) = self.exits.other {
            return other;
        }
        let NumberCheck { place: at, found, rule, text, expected, origin } = check;
        let text = if text.is_empty() {
            0
        } else {
            let text = self.records.quoted(text);
            self.records.shared(text, &[])
        };
        let which = place::of(text, self.packed_part(at)) | u64::from(rule as u32) << place::RULE;
        let here = self.b.current();
        self.exit_by(Routine::FailNumber, |w| {
            let subject = w.subject(at.value());
            let which = w.b.i64(which as i64);
            let found = w.number_address(at, found);
            let expected = match expected {
                Some(expected) => w.b.constant_of(here, expected),
                None => w.b.i64(0),
            };
            let origin = w.origin(origin);
            [subject, which, found, expected, origin]
        })
    }

    /// Returns the exit for a tensor that is not on device `first`. That is the device of the first tensor of the same
    /// device type, which is at place `origin`.
    pub(crate) fn device_exit(&mut self, value: ValueId, first: Value, origin: Origin) -> Block {
        self.exit_by(Routine::FailDevice, |w| {
            let (subject, dl) = (w.subject(value), w.dl(value));
            let origin = w.origin(origin);
            [subject, dl, first, origin]
        })
    }

    /// Returns the exit for a tensor that has not the element type of tensor `of`. Both element types are an `I32`.
    pub(crate) fn dtype_exit(
        &mut self,
        value: ValueId,
        found: Value,
        (expected, of): (Value, ValueId),
    ) -> Block {
        self.exit_by(Routine::FailOtherDtype, |w| {
            let subject = w.subject(value);
            let [found, expected] =
                [found, expected].map(|dtype| w.b.convert(Convert::Zext, dtype, Type::I64));
            let place = w.packed_place(Place::Value { value: of });
            [subject, found, expected, w.b.i64(place as i64)]
        })
    }

    /// Returns an exit that raises a message of its own.
    pub(crate) fn failing(&mut self, message: impl FnOnce(&mut Self) -> Message) -> Block {
        if let Some(other) = self.exits.other {
            return other;
        }
        self.cold("fault", |w| {
            let message = message(w);
            w.raise(&message);
        })
    }

    /// Emits code that raises a message and leaves the function.
    pub(crate) fn raise(&mut self, message: &Message) {
        let routine = if message.is_rare() { Routine::FailAny } else { Routine::Fail };
        let record = self.fault_record(message);
        let record = records::address(&mut self.b, record);
        let values = self.scratch(&message.values);
        self.routine(routine, &[record, values]);
        self.leave_raised();
    }

    /// Emits code that raises the failure of a call and leaves the function.
    pub(crate) fn raise_at(&mut self, failed: &Failed, values: &[Value]) {
        self.fail_at(failed, values);
        self.leave_raised();
    }

    /// Returns the block to jump to once a routine has raised.
    pub(crate) fn raised(&mut self) -> Block {
        match self.exits.other {
            Some(other) => other,
            None => self.raised_block(),
        }
    }

    /// Emits stores of the indices of the enclosing loops and returns their address; NULL outside of loops.
    pub(crate) fn indices(&mut self) -> Value {
        if self.exits.loops.is_empty() {
            return self.b.null();
        }
        let size = 8 * self.exits.loops.len() as u32;
        let indices = self.slot(Slot::Indices, size);
        for (depth, turn) in self.exits.loops.clone().into_iter().enumerate() {
            let index = self.index(turn);
            self.b.store(index, indices, 8 * depth as i32);
        }
        indices
    }

    /// Returns an address that holds the number at a place.
    fn number_address(&mut self, place: Place, found: Value) -> Value {
        match place {
            Place::Value { value } => {
                let (base, offset) = self.address_of(value);
                self.b.ptr_offset(base, (offset + any::PAYLOAD.offset).into())
            }
            Place::Extent { value, dim } => {
                let shape = self.shape(value);
                if dim == 0 { shape } else { self.b.ptr_offset(shape, 8 * dim as i64) }
            }
            Place::Number { value, dim } => {
                let data = self.values[value].span().data;
                if dim == 0 { data } else { self.b.ptr_offset(data, 8 * dim as i64) }
            }
            // A compact stride of a tensor with NULL strides is not in memory.
            Place::Stride { .. } => self.scratch(&[found]),
        }
    }

    /// Computes the index of a loop.
    fn index(&mut self, turn: Turn) -> Value {
        match turn {
            Turn::At { start, at } => {
                let start = self.b.convert(Convert::PtrToInt, start, Type::I64);
                let at = self.b.convert(Convert::PtrToInt, at, Type::I64);
                let bytes = self.b.binary(Binary::Sub, at, start);
                let shift = ANY.size.trailing_zeros();
                self.b.binary_const(Binary::Lshr, bytes, shift.into())
            }
            Turn::Left { size, left } => self.b.binary(Binary::Sub, size, left),
        }
    }
}

/// Scopes that change exits, and the blocks of exits.
impl<'a> Wrapper<'a, '_> {
    /// Runs `body`, which emits the body of a loop.
    pub(crate) fn in_loop<T>(&mut self, turn: Turn, body: impl FnOnce(&mut Self) -> T) -> T {
        self.exits.loops.push(turn);
        let value = body(self);
        self.exits.loops.pop();
        value
    }

    /// Runs `body`, which emits the checks of the current tensor of a run.
    pub(crate) fn in_run<T>(&mut self, run: Run, body: impl FnOnce(&mut Self) -> T) -> T {
        self.exits.run = Some(run);
        let value = body(self);
        self.exits.run = None;
        value
    }

    /// Runs `body`, whose failing checks branch to `other` instead of exits.
    pub(crate) fn or_other<T>(&mut self, other: Block, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.exits.other.replace(other);
        let value = body(self);
        self.exits.other = outer;
        value
    }

    /// Adds the requirements of tensors that the given steps check. Must precede the emission of the steps.
    pub(crate) fn note_requirements(&mut self, steps: &[crate::resolve::step::Step<'_>]) {
        note(steps, &mut self.exits.requirements);
    }

    /// Returns an exit that calls a fail routine. `args` computes its arguments without the loop indices.
    fn exit_by<const N: usize>(
        &mut self,
        routine: Routine,
        args: impl FnOnce(&mut Self) -> [Value; N],
    ) -> Block {
        if let Some(other) = self.exits.other {
            return other;
        }
        self.cold("fail", |w| {
            let mut args = args(w).to_vec();
            if routine.takes_indices() {
                args.push(w.indices());
            }
            w.routine(routine, &args);
            w.leave_raised();
        })
    }

    /// Emits a cold block with the code of `body`. Values that `body` loads are forgotten at its end.
    pub(crate) fn cold(&mut self, label: &'static str, body: impl FnOnce(&mut Self)) -> Block {
        let (here, block) = (self.b.current(), self.b.cold_block(label));
        self.b.switch_to(block);
        let mask = self.checks.mask.take();
        self.without_dominating(body);
        self.checks.mask = mask;
        self.b.switch_to(here);
        block
    }

    /// Returns the place that has determined a number, as an `I64`.
    pub(crate) fn origin(&mut self, origin: Origin) -> Value {
        match origin {
            Origin::Known(place) => self.b.i64(place as i64),
            Origin::Told(place) => place,
        }
    }
}
