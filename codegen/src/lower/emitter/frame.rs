//! The stack frame: slots for calls, and the array of values that the body owns, in the order of creation. Every exit
//! of the function releases them.

use abi_spec::layout::{ANY, any};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Block, Builder, Cond, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::routines::Routine;
use crate::lower::value::write_none;

/// Largest number of predecessors of an exit block. The time to compute dominators grows with it, and with the distance
/// between the predecessors.
pub(crate) const MAX_PREDECESSORS: u32 = 64;

/// A reference that the prologue holds and releases on every exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Held {
    /// An object.
    Object(Value),
    /// The value in the `TVMFFIAny` at an address.
    Any(Value),
}

/// A slot of the stack frame, as large as its largest use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// The array of owned values.
    Owned,
    /// The arguments of a call.
    Arguments,
    /// The configuration and arguments of a launch.
    Launch,
    /// Words that are passed to a routine by address.
    Scratch,
    /// The keys of a cached call while it is made.
    Keys,
    /// The indices of the enclosing loops.
    Indices,
}

impl Slot {
    const COUNT: usize = 6;

    /// Returns the alignment in bytes.
    fn align(self) -> u32 {
        match self {
            Slot::Launch => 16,
            Slot::Owned | Slot::Arguments => ANY.align,
            Slot::Scratch | Slot::Keys | Slot::Indices => 8,
        }
    }
}

/// A leave block, which releases the owned values after a failure and returns.
#[derive(Clone, Copy, Debug)]
struct LeaveBlock {
    block: Block,
    /// Its parameter for the number of owned values.
    count: Value,
    /// Its parameter for the status to return.
    status: Value,
}

/// The owned values, the slots, and the block that leaves the function.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The number of values that are owned at the current point.
    owned: u32,
    /// The address of each slot that is used.
    slots: [Option<Value>; Slot::COUNT],
    /// The current leave block. It is replaced after [`MAX_PREDECESSORS`] jumps.
    leave: Option<LeaveBlock>,
    /// The number of jumps to `leave`.
    leaving: u32,
    /// The references that the prologue holds at the current point.
    pub(crate) held: Vec<Held>,
}

impl Frame {
    /// Creates a frame without owned values.
    pub(crate) fn new() -> Self {
        Frame { owned: 0, slots: [None; Slot::COUNT], leave: None, leaving: 0, held: Vec::new() }
    }

    /// Returns the number of values that are owned at the current point.
    pub(crate) fn owned(&self) -> u32 {
        self.owned
    }

    /// Stops owning all values but the first `count`. Emits no release.
    pub(crate) fn truncate_owned(&mut self, count: u32) {
        self.owned = count;
    }

    /// Stops owning the last `count` values. Emits no release.
    pub(crate) fn disown(&mut self, count: u32) {
        self.owned -= count;
    }
}

impl Emitter<'_, '_> {
    /// Returns the address of a slot and widens it to `size` bytes. Each use overwrites the one before.
    pub(crate) fn slot(&mut self, slot: Slot, size: u32) -> Value {
        let known = self.frame.slots[slot as usize];
        let address = known.unwrap_or_else(|| self.b.stack_slot(size, slot.align()));
        self.frame.slots[slot as usize] = Some(address);
        self.b.widen_slot(address, size);
        address
    }

    /// Returns the address of owned value number `index`.
    pub(crate) fn owned_at(&mut self, index: u32) -> Value {
        let values = self.slot(Slot::Owned, (index + 1) * ANY.size);
        if index == 0 { values } else { self.b.ptr_offset(values, (index * ANY.size).into()) }
    }

    /// Makes `count` more values owned. Returns the address of the first one, which is not initialized.
    pub(crate) fn own(&mut self, count: u32) -> Value {
        let first = self.frame.owned;
        self.frame.owned += count;
        self.owned_at(self.frame.owned - 1);
        self.owned_at(first)
    }

    /// Makes one more value owned and initializes it to None. Returns its address.
    pub(crate) fn own_none(&mut self) -> Value {
        let slot = self.own(1);
        write_none(&mut self.b, slot);
        slot
    }

    /// Returns the address of the slot for `count` arguments.
    pub(crate) fn area(&mut self, count: usize) -> Value {
        self.slot(Slot::Arguments, count.max(1) as u32 * ANY.size)
    }

    /// Stores words in the scratch slot for the next call and returns their address.
    pub(crate) fn scratch(&mut self, words: &[Value]) -> Value {
        self.stored(Slot::Scratch, words)
    }

    /// Stores words in a slot and returns their address.
    pub(crate) fn stored(&mut self, slot: Slot, words: &[Value]) -> Value {
        let address = self.slot(slot, 8 * words.len().max(1) as u32);
        for (index, word) in words.iter().enumerate() {
            self.b.store(*word, address, 8 * index as i32);
        }
        address
    }

    /// Emits code that releases all owned values but the first `count`. They stay owned.
    pub(crate) fn release_beyond(&mut self, count: u32) {
        if self.frame.owned == count + 1 {
            let only = self.owned_at(count);
            return release_held(&mut self.b, &[Held::Any(only)]);
        }
        if self.frame.owned > count {
            let more = self.b.i64((self.frame.owned - count).into());
            let first = self.owned_at(count);
            self.routine(Routine::Release, &[first, more]);
        }
    }

    /// Emits code that releases all owned values, keeps the error in the thread's slot, and returns a status.
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

    /// Leaves with the error that a routine has raised unless the status is 0. `label` names the cold block.
    pub(crate) fn exit_unless_zero(&mut self, status: Value, label: &'static str) {
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let next = self.b.enter_cold_if(failed, label);
        self.exit(Some(status));
        self.b.switch_to(next);
    }

    /// Returns the current leave block. Creates it if there is none.
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

    /// Emits the contents of the current leave block if there is one.
    pub(crate) fn write_leave(&mut self) {
        let Some(LeaveBlock { block, count, status }) = self.frame.leave.take() else { return };
        self.frame.leaving = 0;
        self.b.switch_to(block);
        let values = self.owned_at(0);
        self.routine(Routine::Leave, &[values, count]);
        self.b.ret(Some(status));
    }

    /// Emits code that releases all held references but the first `outer`.
    pub(crate) fn release_own(&mut self, outer: usize) {
        let own = self.frame.held[outer..].to_vec();
        release_held(&mut self.b, &own);
    }
}

/// Emits code that releases references, the last one first.
pub(crate) fn release_held(b: &mut Builder<'_>, held: &[Held]) {
    let release = crate::lower::runtime(b.module, &runtime::OBJECT_DEC_REF);
    for &held in held.iter().rev() {
        match held {
            Held::Object(object) => drop(b.call(release, &[object])),
            Held::Any(value) => {
                let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
                let object = TypeIndex::STATIC_OBJECT_BEGIN.0.into();
                let is_object = b.compare_const(Cond::Sge, index, object);
                b.if_then(is_object, |b| {
                    let object = b.load(Type::Ptr, value, any::PAYLOAD.offset);
                    b.call(release, &[object]);
                });
            }
        }
    }
}
