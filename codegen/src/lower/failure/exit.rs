//! Exits: cold blocks that checks leave for, one for each group of checks. An exit hands a record and the values that
//! only the call knows to a fail routine; then whatever is held is released, and the function returns.
//!
//! Each exit has a call of its own: of exits that jump to one, LLVM makes one block, and computes the address of the
//! record before the checks.

use abi_spec::layout::{ANY, any};
use rustc_hash::FxHashMap;

use crate::declaration::Location;
use crate::ir::{Binary, Block, Convert, Type, Value};
use crate::lower::emitter::frame::{Held, SHARED, Slot};
use crate::lower::emitter::state::Origin;
use crate::lower::failure::message::Message;
use crate::lower::failure::records;
use crate::lower::failure::site::Failed;
use crate::lower::failure::subject::{Facts, note, number};
use crate::lower::routines::Routine;
use crate::lower::routines::records::{NumberRule, place};
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::Place;

/// The exits of a function.
#[derive(Debug)]
pub(crate) struct Exits<'a> {
    /// Where failing checks go instead, since the value may be of another type of a union.
    pub(crate) other: Option<Block>,
    /// Where the statement comes from, if not from where the function does.
    pub(crate) location: Option<&'a Location>,
    /// The loops that surround the code.
    loops: Vec<Turn>,
    /// The first argument of the run that the code is in, and the argument that it is at.
    pub(super) run: Option<[Value; 2]>,
    /// The blocks in which a function is left once a routine has raised, and how many exits jump to each.
    raised: FxHashMap<Shared, (Block, u32)>,
    /// What is held, and the block that releases it and what is held before it.
    pub(super) releasing: Vec<(Held, Block)>,
    /// The record of each value.
    pub(super) subjects: Table<ValueId, Option<u32>>,
    /// What steps require of each tensor.
    pub(super) facts: Table<ValueId, Facts>,
    /// The record of the function, for each place in the source.
    pub(super) hosts: Vec<(Option<*const Location>, u32)>,
}

/// Which element a loop is at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// That at an address, of a sequence that starts at another.
    At { start: Value, at: Value },
    /// That with so many left of all.
    Left { size: Value, left: Value },
}

/// What exits have in common that share a way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shared {
    /// What is held last.
    held: Option<Held>,
    owned: u32,
}

impl<'a> Exits<'a> {
    /// Those of a function that has none yet.
    pub(crate) fn new(function: &Function<'_>) -> Exits<'a> {
        let mut facts = Table::like(&function.values, Facts::NONE);
        note(&function.steps, &mut facts);
        Exits {
            other: None,
            location: None,
            loops: Vec::new(),
            run: None,
            raised: FxHashMap::default(),
            releasing: Vec::new(),
            subjects: Table::like(&function.values, None),
            facts,
            hosts: Vec::new(),
        }
    }

    /// The record of the function at a place in its source.
    pub(crate) fn is_at(&mut self, location: Option<&Location>, host: u32) {
        self.hosts.push((location.map(std::ptr::from_ref), host));
    }
}

/// Exits of groups of checks.
impl<'a> Wrapper<'a, '_> {
    /// What is required of a scalar.
    pub(crate) fn scalar_exit(&mut self, value: ValueId) -> Block {
        self.value_exit_by(Routine::FailScalar, value)
    }

    /// The type and the header of a tensor.
    pub(crate) fn header_exit(&mut self, value: ValueId) -> Block {
        self.value_exit_by(Routine::FailHeader, value)
    }

    /// Strides, data and alignment of a tensor that has been refused.
    pub(crate) fn layout_exit(&mut self, value: ValueId, refused: Value) -> Block {
        self.exit_by(Routine::FailLayout, |w| [w.subject(value), refused])
    }

    /// What is required of another value.
    pub(crate) fn value_exit(&mut self, value: ValueId) -> Block {
        self.value_exit_by(Routine::FailValue, value)
    }

    /// Whether a value that somebody else has made is owned.
    pub(crate) fn owned_exit(&mut self, value: ValueId) -> Block {
        self.exit_by(Routine::FailOwned, |w| {
            let record = w.owned_record(value);
            let record = records::address(&mut w.b, record);
            let scalar = if w.is_plain(value) { w.subject(value) } else { w.b.null() };
            [record, w.any_address(value), scalar]
        })
    }

    /// A value as an element of the arguments: where they are, which all exits have in common, and its number. One that
    /// is no argument is element 0 of where it is.
    fn any_in(&mut self, value: ValueId) -> (Value, i64) {
        match self.address_of(value) {
            (base, offset) if base == self.args => (base, i64::from(offset) / i64::from(ANY.size)),
            _ => (self.any_address(value), 0),
        }
    }

    fn value_exit_by(&mut self, routine: Routine, value: ValueId) -> Block {
        self.exit_by(routine, |w| {
            let subject = w.subject(value);
            let (base, index) = w.any_in(value);
            [subject, base, w.b.i64(index)]
        })
    }

    /// A number and its sign: the rule, the text of what it should be, that itself and the place that has determined
    /// it.
    pub(crate) fn number_exit(
        &mut self,
        (at, found): (Place, Value),
        (rule, shown): (NumberRule, &str),
        (expected, origin): (Option<Value>, Origin),
    ) -> Block {
        if let Some(other) = self.exits.other {
            return other;
        }
        let shown = if shown.is_empty() {
            0
        } else {
            let text = self.records.quoted(shown);
            self.records.shared(text, &[])
        };
        let which = place::of(shown, number(at)) | u64::from(rule as u32) << place::RULE;
        self.exit_by(Routine::FailNumber, |w| {
            let subject = w.subject(at.value());
            let which = w.b.i64(which as i64);
            let found = w.number_address(at, found);
            let expected = expected.unwrap_or_else(|| w.b.i64(0));
            let origin = w.origin(origin);
            [subject, which, found, expected, origin]
        })
    }

    /// The device of a tensor, and that of the first one of its type of device.
    pub(crate) fn device_exit(&mut self, value: ValueId, first: Value, origin: Origin) -> Block {
        self.exit_by(Routine::FailDevice, |w| {
            let (subject, dl) = (w.subject(value), w.dl(value));
            let origin = w.origin(origin);
            [subject, dl, first, origin]
        })
    }

    /// A message of its own.
    pub(crate) fn failing(&mut self, message: impl FnOnce(&mut Self) -> Message) -> Block {
        if let Some(other) = self.exits.other {
            return other;
        }
        self.cold("fault", |w| {
            let message = message(w);
            w.raise(&message);
        })
    }

    /// Raises a message and leaves.
    pub(crate) fn raise(&mut self, message: &Message) {
        let routine = if message.is_rare() { Routine::FailAny } else { Routine::Fail };
        let record = self.fault_record(message);
        let record = records::address(&mut self.b, record);
        let values = self.scratch(&message.values);
        self.routine(routine, &[record, values]);
        self.leave_raised();
    }

    /// Raises at a site and leaves.
    pub(crate) fn raise_at(&mut self, failed: &Failed, values: &[Value]) {
        self.fail_at(failed, values);
        self.leave_raised();
    }

    /// Where to go once a routine has raised.
    pub(crate) fn raised(&mut self) -> Block {
        match self.exits.other {
            Some(other) => other,
            None => self.raised_block(),
        }
    }

    /// Where the numbers of the loops are, which this writes; NULL where there are no loops.
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

    /// The address at which an exit finds the number at a place.
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
                let [data, _] = self.values[value].pair();
                if dim == 0 { data } else { self.b.ptr_offset(data, 8 * dim as i64) }
            }
            // It may not be in memory.
            Place::Stride { .. } => self.scratch(&[found]),
        }
    }

    fn index(&mut self, turn: Turn) -> Value {
        match turn {
            Turn::At { start, at } => {
                let [start, at] =
                    [start, at].map(|at| self.b.convert(Convert::PtrToInt, at, Type::I64));
                let bytes = self.b.binary(Binary::Sub, at, start);
                let shift = abi_spec::layout::ANY.size.trailing_zeros();
                self.b.binary_const(Binary::Lshr, bytes, shift.into())
            }
            Turn::Left { size, left } => self.b.binary(Binary::Sub, size, left),
        }
    }
}

/// How exits are made.
impl<'a> Wrapper<'a, '_> {
    /// Runs `body` in a loop.
    pub(crate) fn in_loop<T>(&mut self, turn: Turn, body: impl FnOnce(&mut Self) -> T) -> T {
        self.exits.loops.push(turn);
        let value = body(self);
        self.exits.loops.pop();
        value
    }

    /// Runs `body` in a run of alike tensors: its first argument, and that it is at.
    pub(crate) fn in_run<T>(&mut self, run: [Value; 2], body: impl FnOnce(&mut Self) -> T) -> T {
        self.exits.run = Some(run);
        let value = body(self);
        self.exits.run = None;
        value
    }

    /// Runs `body`, in which failing checks go to a block, since the value may be of another type.
    pub(crate) fn or_other<T>(&mut self, other: Block, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.exits.other.replace(other);
        let value = body(self);
        self.exits.other = outer;
        value
    }

    /// Notes what steps require that are written from now on.
    pub(crate) fn note_facts(&mut self, steps: &[crate::resolve::step::Step<'_>]) {
        note(steps, &mut self.exits.facts);
    }

    /// An exit that hands a routine its arguments, but for the numbers of the loops.
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

    /// Leaves once a routine has raised.
    fn leave_raised(&mut self) {
        let raised = self.raised_block();
        self.b.jump(raised, &[]);
    }

    /// A cold block; what is learnt in it is not known elsewhere.
    pub(crate) fn cold(&mut self, label: &'static str, body: impl FnOnce(&mut Self)) -> Block {
        let (here, block) = (self.b.current(), self.b.cold_block(label));
        self.b.switch_to(block);
        let mask = self.checks.mask.take();
        self.aside(body);
        self.checks.mask = mask;
        self.b.switch_to(here);
        block
    }

    /// The block in which the function is left once a routine has raised.
    fn raised_block(&mut self) -> Block {
        let key = Shared { held: self.frame.held.last().copied(), owned: self.frame.owned() };
        if let Some((block, uses)) = self.exits.raised.get_mut(&key)
            && *uses < SHARED
        {
            *uses += 1;
            return *block;
        }
        let (here, block) = (self.b.current(), self.b.cold_block("raised"));
        self.b.switch_to(block);
        let status = self.b.i32(-1);
        self.leave_prologue(status);
        self.b.switch_to(here);
        self.exits.raised.insert(key, (block, 1));
        block
    }

    /// The place that has determined a symbol.
    pub(crate) fn origin(&mut self, origin: Origin) -> Value {
        match origin {
            Origin::Known(place) => self.b.i64(place as i64),
            Origin::Told(place) => place,
        }
    }
}
