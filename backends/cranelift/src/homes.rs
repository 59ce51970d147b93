//! Homes of values outside of registers. In functions with stack slots, or with many blocks or calls, each block
//! computes the addresses of slots and symbols that it uses; in the latter the frame also keeps the values that are
//! used far from their definition. The limits are measured (`tests/guard`, `tests/bench scale`).
//!
//! The register allocator splits a long live range at every call that it crosses and processes each part again; the
//! sets of live values grow with its length. Stored to the frame at its definition and loaded in each block that uses
//! it, a value is live for a few instructions only.

use codegen::ir::{self, Inst};
use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{
    Inst as NativeInst, InstBuilder, InstInserterBase, StackSlot, StackSlotData, StackSlotKind,
    Value,
};

use crate::generators::WIDE;
use crate::types::{self, ty};

/// Values do not live in the frame if a function has fewer blocks than this and fewer calls than [`CALLS`].
const BLOCKS: usize = 256;
const CALLS: usize = 64;

/// The distance in blocks from a definition beyond which a use loads the value from the frame. A block whose only
/// predecessor is the defining block counts as near.
const FAR: usize = 32;

/// The number of arguments that registers can hold at once before a call, on the machine with the fewest.
const REGISTERS: usize = 12;

/// The homes of a function's values.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    /// The home of each value; empty for functions without others than registers.
    homes: Vec<Home>,
    /// The block in which each value is in a register.
    block: Vec<usize>,
    /// True if values that are used far from their definition live in the frame.
    spills: bool,
}

/// The home of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// A register.
    Register,
    /// The frame, once the value is defined.
    Wanted,
    /// A slot in the frame.
    Frame(StackSlot),
    /// No home: the value is an address, and each block that uses it repeats this instruction.
    Address(NativeInst),
}

impl Homes {
    /// Finds the values whose home is no register. Stack slots are in the first block, as the verifier demands.
    pub(crate) fn new(source: &ir::Function) -> Homes {
        let spills = source.blocks.len() >= BLOCKS || calls(source) >= CALLS;
        let mut homes = Homes { spills, ..Homes::default() };
        let mut entry = source.blocks.iter().take(1).flat_map(|block| &block.insts);
        if spills || entry.any(|placed| matches!(placed.inst, Inst::StackSlot { .. })) {
            homes.homes = vec![Home::Register; source.values.len()];
            homes.block = vec![0; source.values.len()];
        }
        if spills {
            homes.find(source);
        }
        homes
    }

    /// Finds the values that are far from a use.
    fn find(&mut self, source: &ir::Function) {
        let Homes { homes, block, .. } = self;
        let only = only_predecessors(source);
        for (at, data) in source.blocks() {
            let results = data.insts.iter().filter_map(|placed| placed.result);
            data.params.iter().copied().chain(results).for_each(|value| {
                block[value.index()] = at.index();
            });
            let mut read = |value: ir::Value| {
                let made = block[value.index()];
                if at.index() - made > FAR && only[at.index()] != Some(made) {
                    homes[value.index()] = Home::Wanted;
                }
            };
            let insts = data.insts.iter().map(|placed| &placed.inst);
            insts.filter(|inst| !is_crowded(inst)).for_each(|inst| inst.operands(&mut read));
            data.end.iter().for_each(|end| end.operands(&mut read));
        }
    }

    /// Returns true if some values have no register as their home.
    pub(crate) fn are_some(&self) -> bool {
        !self.homes.is_empty()
    }

    /// Returns true if values that are used far from their definition live in the frame.
    pub(crate) fn spills(&self) -> bool {
        self.spills
    }

    /// Returns true if a value is an address that each block computes that uses it.
    pub(crate) fn is_address(&self, value: ir::Value) -> bool {
        matches!(self.get(value), Home::Address(_))
    }

    fn get(&self, value: ir::Value) -> Home {
        self.homes.get(value.index()).copied().unwrap_or(Home::Register)
    }

    /// Stores a value that has just been defined to the frame, if its home is there.
    pub(crate) fn spill(&mut self, to: &mut Translation<'_, '_>, value: ir::Value) {
        if self.get(value) != Home::Wanted {
            return;
        }
        let size = ty(to.source.ty(value)).bytes();
        let shift = size.trailing_zeros() as u8;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, shift);
        let slot = to.cursor.func.create_sized_stack_slot(data);
        let made = to.values[value.index()];
        to.cursor.ins().stack_store(types::POINTER, made, slot, 0);
        self.homes[value.index()] = Home::Frame(slot);
    }

    /// Notes the instruction that has just computed an address in a block.
    pub(crate) fn note_address(
        &mut self,
        to: &Translation<'_, '_>,
        value: ir::Value,
        block: ir::Block,
    ) {
        let made = to.cursor.func.dfg.value_def(to.values[value.index()]).inst();
        if let (Some(home), Some(made)) = (self.homes.get_mut(value.index()), made) {
            *home = Home::Address(made);
            self.block[value.index()] = block.index();
        }
    }

    /// Loads a value that a block uses from the frame, or computes its address, unless it is in a register there.
    pub(crate) fn fetch(
        &mut self,
        to: &mut Translation<'_, '_>,
        value: ir::Value,
        block: ir::Block,
    ) {
        let home = self.get(value);
        if home == Home::Register || self.block[value.index()] == block.index() {
            return;
        }
        let of = ty(to.source.ty(value));
        let read = match home {
            Home::Register | Home::Wanted => return,
            Home::Frame(slot) => to.cursor.ins().stack_load(types::POINTER, of, slot, 0),
            Home::Address(made) => {
                let again = to.cursor.func.dfg.clone_inst(made);
                to.cursor.insert_built_inst(again);
                to.cursor.func.dfg.first_result(again)
            }
        };
        to.values[value.index()] = read;
        self.block[value.index()] = block.index();
    }
}

/// Returns the only predecessor of each block, if it has only one. A value that the predecessor defines and the block
/// uses is live in no block that the layout places between the two; failure blocks come last there.
fn only_predecessors(source: &ir::Function) -> Vec<Option<usize>> {
    let mut ways = vec![0; source.blocks.len()];
    let mut last = vec![None; source.blocks.len()];
    for (at, data) in source.blocks() {
        for target in data.end.iter().flat_map(ir::Terminator::targets) {
            ways[target.block.index()] += 1;
            last[target.block.index()] = Some(at.index());
        }
    }
    let one = |(ways, last): (i32, Option<usize>)| last.filter(|_| ways == 1);
    ways.into_iter().zip(last).map(one).collect()
}

/// Returns true if a call has more arguments than registers hold at once. Loads of all of them before the call would
/// have to be spilled again, one by one; the usual register allocator loads what it has spilled where it passes it.
/// In wide functions that allocator takes longer the more values live in several blocks.
fn is_crowded(inst: &Inst) -> bool {
    let (Inst::Call { args, .. } | Inst::CallIndirect { args, .. }) = inst else { return false };
    args.len() > REGISTERS && args.len() <= WIDE
}

/// Returns the words that a block passes to a crowded call and that a loop before the block uses too. Between a loop
/// and such a call many values are live, so that some of the words get a place in the frame: the register allocator
/// would store and load them in each turn of the loop, unless a copy lives from the end of the loop on.
pub(crate) fn carried(source: &ir::Function, block: ir::Block) -> Vec<ir::Value> {
    let data = &source.blocks[block.index()];
    let insts = data.insts.iter().map(|placed| &placed.inst);
    let mut passed = Vec::new();
    insts
        .filter(|inst| is_crowded(inst))
        .for_each(|inst| inst.operands(|value| passed.push(value)));
    if passed.is_empty() {
        return passed;
    }
    let mut used = vec![false; source.values.len()];
    for turn in loops_before(source, block) {
        let mut use_one = |value: ir::Value| used[value.index()] = true;
        for data in &source.blocks[turn] {
            data.insts.iter().for_each(|placed| placed.inst.operands(&mut use_one));
            data.end.iter().for_each(|end| end.operands(&mut use_one));
        }
    }
    let is_word = |value: ir::Value| matches!(source.ty(value), ir::Type::I64 | ir::Type::Ptr);
    passed.retain(|&value| used[value.index()] && is_word(value) && !data.defines(value));
    passed
}

/// Returns the blocks of each loop that ends before a block.
fn loops_before(source: &ir::Function, before: ir::Block) -> Vec<std::ops::RangeInclusive<usize>> {
    let mut loops = Vec::new();
    for (at, data) in source.blocks().take_while(|(at, _)| at.index() < before.index()) {
        let targets = data.end.iter().flat_map(ir::Terminator::targets);
        let heads = targets.map(|target| target.block.index()).filter(|&head| head <= at.index());
        loops.extend(heads.map(|head| head..=at.index()));
    }
    loops
}

/// Returns the number of calls in a function; those that cold blocks [share](ir::Function::with_shared_calls) count for
/// each block.
fn calls(source: &ir::Function) -> usize {
    let insts = source.blocks.iter().flat_map(|block| &block.insts);
    let calls =
        insts.filter(|placed| matches!(placed.inst, Inst::Call { .. } | Inst::CallIndirect { .. }));
    let ends =
        source.blocks.iter().filter(|block| block.cold).filter_map(|block| block.end.as_ref());
    let passing = ends.flat_map(ir::Terminator::targets).filter(|target| !target.args.is_empty());
    let sharing = passing.filter(|target| source.blocks[target.block.index()].cold);
    calls.count() + sharing.count()
}

/// A function that is being translated: its source, and its native code so far.
pub(crate) struct Translation<'p, 'f> {
    pub(crate) source: &'p ir::Function,
    pub(crate) cursor: &'p mut FuncCursor<'f>,
    pub(crate) values: &'p mut [Value],
}
