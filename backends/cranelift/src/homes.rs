//! Values that are used far from where they are made, in functions of many blocks: they are kept in the frame.
//!
//! The register allocator splits a value that is alive for long at every call that it crosses, and looks at each part
//! again; the sets of values that are alive grow with both. Written to the frame when it is made, and read in each
//! block that uses it, a value is alive for a few instructions only.

use codegen::ir::{self, Inst};
use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value};

use crate::types::{self, ty};

/// Functions of fewer blocks and of fewer calls are left as they are.
const BLOCKS: usize = 256;
const CALLS: usize = 48;

/// How many blocks after the one that makes a value those are that read it from the frame, unless that one alone leads
/// to them.
const FAR: usize = 32;

/// Where the values of a function are.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    /// For each value of a large function, else empty.
    homes: Vec<Home>,
    /// The block for which each value is in a register.
    block: Vec<usize>,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// In a register all along.
    Register,
    /// It is to get a place in the frame when it is made.
    Wanted,
    /// In the frame.
    Frame(StackSlot),
    /// It is an address in the frame.
    Address(StackSlot),
}

impl Homes {
    /// Finds the values that are far from their uses.
    pub(crate) fn new(source: &ir::Function) -> Homes {
        if source.blocks.len() < BLOCKS && calls(source) < CALLS {
            return Homes::default();
        }
        let mut homes = vec![Home::Register; source.values.len()];
        let mut block = vec![0; source.values.len()];
        let only = only_predecessors(source);
        for (at, data) in source.blocks() {
            let results = data.insts.iter().filter_map(|(result, _)| *result);
            data.params.iter().copied().chain(results).for_each(|value| {
                block[value.index()] = at.index();
            });
            let mut read = |value: ir::Value| {
                let made = block[value.index()];
                if at.index() - made > FAR && only[at.index()] != Some(made) {
                    homes[value.index()] = Home::Wanted;
                }
            };
            data.insts.iter().for_each(|(_, inst)| inst.operands(&mut read));
            data.end.iter().for_each(|end| end.operands(&mut read));
        }
        Homes { homes, block }
    }

    /// False if every value is in a register all along.
    pub(crate) fn are_some(&self) -> bool {
        !self.homes.is_empty()
    }

    fn get(&self, value: ir::Value) -> Home {
        self.homes.get(value.index()).copied().unwrap_or(Home::Register)
    }

    /// Writes a value to the frame that has just been made, if that is its home.
    pub(crate) fn keep(&mut self, to: &mut Translation<'_, '_>, value: ir::Value) {
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

    /// The same of the address of the slot that was made last, which needs no room.
    pub(crate) fn keep_address(&mut self, to: &Translation<'_, '_>, value: ir::Value) {
        let last = to.cursor.func.sized_stack_slots.keys().next_back();
        if let (Home::Wanted, Some(slot)) = (self.get(value), last) {
            self.homes[value.index()] = Home::Address(slot);
        }
    }

    /// Reads the values from the frame that an instruction of a block needs.
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
            Home::Address(slot) => to.cursor.ins().stack_addr(types::POINTER, slot, 0),
        };
        to.values[value.index()] = read;
        self.block[value.index()] = block.index();
    }
}

/// For each block the one that leads to it, if there is one only. A value is not alive between the two, wherever they
/// stand: blocks where something fails stand last.
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

/// How many calls a function makes.
fn calls(source: &ir::Function) -> usize {
    let insts = source.blocks.iter().flat_map(|block| &block.insts);
    insts.filter(|(_, inst)| matches!(inst, Inst::Call { .. } | Inst::CallIndirect { .. })).count()
}

/// A function that is being translated: its source, and its native code so far.
pub(crate) struct Translation<'p, 'f> {
    pub(crate) source: &'p ir::Function,
    pub(crate) cursor: &'p mut FuncCursor<'f>,
    pub(crate) values: &'p mut [Value],
}
