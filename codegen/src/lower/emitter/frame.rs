//! What the body owns: one array of the frame, in the order of creation, which every way out releases.

use abi_spec::layout::{ANY, any};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Block, Cond, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::routines::Routine;
use crate::lower::value::write_any;

/// The number of failures that share a way out. Finding out what dominates a block takes time for each that jumps to it,
/// and the more the farther they are from each other.
pub(crate) const MAX_PREDECESSORS: u32 = 64;

/// What is owned, and released on every way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Held {
    /// An object.
    Object(Value),
    /// What the `TVMFFIAny` at an address holds.
    Any(Value),
}

/// A part of the frame, as large as its largest use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// The array of owned values.
    Owned,
    /// The arguments of a call.
    Arguments,
    /// A launch.
    Launch,
    /// Words that a routine is given by their address.
    Scratch,
    /// The numbers of the elements that loops are at.
    Indices,
}

impl Slot {
    const COUNT: usize = 5;

    /// The alignment in bytes.
    fn align(self) -> u32 {
        match self {
            Slot::Launch => 16,
            Slot::Owned | Slot::Arguments => ANY.align,
            Slot::Scratch | Slot::Indices => 8,
        }
    }
}

/// The block that releases the owned values after a failure and returns.
#[derive(Clone, Copy, Debug)]
struct LeaveBlock {
    block: Block,
    /// Its parameter for the number of owned values.
    count: Value,
    /// Its parameter for the status to return.
    status: Value,
}

/// What the body owns, and how it is left.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The number of owned values at this point.
    owned: u32,
    /// The address of each slot, once it is used.
    slots: [Option<Value>; Slot::COUNT],
    /// The way out of a failure: a block that takes how many values are owned, and the status.
    leave: Option<LeaveBlock>,
    /// The number of failures that take it so far.
    leaving: u32,
    /// What a prologue holds at this point.
    pub(crate) held: Vec<Held>,
}

impl Frame {
    /// A frame in which nothing is owned.
    pub(crate) fn new() -> Self {
        Frame { owned: 0, slots: [None; Slot::COUNT], leave: None, leaving: 0, held: Vec::new() }
    }

    /// The number of owned values at this point.
    pub(crate) fn owned(&self) -> u32 {
        self.owned
    }
}

impl Emitter<'_, '_> {
    /// The address of a slot of at least so many bytes. Every use of it overwrites the one before.
    pub(crate) fn slot(&mut self, slot: Slot, size: u32) -> Value {
        let known = self.frame.slots[slot as usize];
        let address = known.unwrap_or_else(|| self.b.stack_slot(size, slot.align()));
        self.frame.slots[slot as usize] = Some(address);
        self.b.widen_slot(address, size);
        address
    }

    /// The address of the value that is owned as number `index`.
    pub(crate) fn owned_at(&mut self, index: u32) -> Value {
        let values = self.slot(Slot::Owned, (index + 1) * ANY.size);
        if index == 0 { values } else { self.b.ptr_offset(values, (index * ANY.size).into()) }
    }

    /// Room for values that will be owned; they are so from now on.
    pub(crate) fn own(&mut self, count: u32) -> Value {
        let first = self.frame.owned;
        self.frame.owned += count;
        self.owned_at(self.frame.owned - 1);
        self.owned_at(first)
    }

    /// Room for one that is None so far.
    pub(crate) fn own_none(&mut self) -> Value {
        let slot = self.own(1);
        let zero = self.b.i64(0);
        write_any(&mut self.b, slot, TypeIndex::NONE, zero);
        slot
    }

    /// Forgets all owned values but the first `count`, without releasing them.
    pub(crate) fn keep_owned(&mut self, count: u32) {
        self.frame.owned = count;
    }

    /// What was made last is not owned after all.
    pub(crate) fn disown(&mut self, count: u32) {
        self.frame.owned -= count;
    }

    /// Room for so many arguments.
    pub(crate) fn area(&mut self, count: usize) -> Value {
        self.slot(Slot::Arguments, count.max(1) as u32 * ANY.size)
    }

    /// The address of words that the next call is given, and nobody needs after it.
    pub(crate) fn scratch(&mut self, words: &[Value]) -> Value {
        let scratch = self.slot(Slot::Scratch, 8 * words.len().max(1) as u32);
        for (index, word) in words.iter().enumerate() {
            self.b.store(*word, scratch, 8 * index as i32);
        }
        scratch
    }

    /// Releases what is owned beyond the first `count`, which this does not change.
    pub(crate) fn release_beyond(&mut self, count: u32) {
        if self.frame.owned == count + 1 {
            let only = self.owned_at(count);
            return self.release_held(&[Held::Any(only)]);
        }
        if self.frame.owned > count {
            let more = self.b.i64((self.frame.owned - count).into());
            let first = self.owned_at(count);
            self.routine(Routine::Release, &[first, more]);
        }
    }

    /// Leaves with a status after an error has been set: everything is released, and the error stays.
    pub(crate) fn exit(&mut self, status: Option<Value>) {
        let Some(status) = status.filter(|_| self.frame.owned > 0) else {
            return self.b.ret(status);
        };
        let block = self.leave_block();
        let count = self.b.i64(self.frame.owned.into());
        self.b.jump(block, &[count, status]);
        self.frame.leaving += 1;
        if self.frame.leaving == MAX_PREDECESSORS {
            let here = self.b.current();
            self.write_leave();
            self.b.switch_to(here);
        }
    }

    fn leave_block(&mut self) -> Block {
        if let Some(leave) = self.frame.leave {
            return leave.block;
        }
        let block = self.b.cold_block("leave");
        let count = self.b.block_param(block, Type::I64, "owned");
        let status = self.b.block_param(block, Type::I32, "status");
        self.frame.leave = Some(LeaveBlock { block, count, status });
        block
    }

    /// Writes the way out, if there is one.
    pub(crate) fn write_leave(&mut self) {
        let Some(LeaveBlock { block, count, status }) = self.frame.leave.take() else { return };
        self.frame.leaving = 0;
        self.b.switch_to(block);
        let values = self.owned_at(0);
        self.routine(Routine::Leave, &[values, count]);
        self.b.ret(Some(status));
    }

    /// Releases things, the last one first.
    pub(crate) fn release_held(&mut self, held: &[Held]) {
        let release = crate::lower::runtime(self.b.module, &runtime::OBJECT_DEC_REF);
        for &held in held.iter().rev() {
            match held {
                Held::Object(object) => drop(self.b.call(release, &[object])),
                Held::Any(value) => {
                    let index = self.b.load(Type::I32, value, any::TYPE_INDEX.offset);
                    let object = TypeIndex::STATIC_OBJECT_BEGIN.0.into();
                    let is_object = self.b.compare_const(Cond::Sge, index, object);
                    self.b.if_then(is_object, |b| {
                        let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
                        b.call(release, &[object]);
                    });
                }
            }
        }
    }

    /// Releases what is held beyond the first `outer` things.
    pub(crate) fn release_own(&mut self, outer: usize) {
        let own = self.frame.held[outer..].to_vec();
        self.release_held(&own);
    }

    /// Makes a `TVMFFIAny` None.
    pub(crate) fn clear_any(&mut self, value: Value) {
        let none = self.b.i64(TypeIndex::NONE.0.into());
        self.b.store(none, value, any::TYPE_INDEX.offset);
        self.b.store(none, value, any::PAYLOAD.offset);
    }
}
