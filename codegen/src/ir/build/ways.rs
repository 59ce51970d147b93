//! The ways to a block, while it is being built.

use super::Builder;
use crate::ir::inst::{Inst, Terminator};
use crate::ir::types::{Block, Value};

impl Builder<'_> {
    /// The blocks that jump to the current one with a constant for its only parameter, and the constants. None if that is
    /// another value, or if the block has instructions already.
    pub(in crate::ir) fn constant_ways(&self, param: Value) -> Vec<(Block, u64)> {
        let here = &self.function.blocks[self.current.index()];
        if here.params != [param] || !here.insts.is_empty() || self.ended() {
            return Vec::new();
        }
        let all = (0..self.function.blocks.len() as u32).map(Block);
        all.filter_map(|way| Some((way, self.constant_way(way)?))).collect()
    }

    fn constant_way(&self, way: Block) -> Option<u64> {
        let block = &self.function.blocks[way.index()];
        let Some(Terminator::Jump(target)) = &block.end else { return None };
        let is_here = target.block == self.current;
        let arg = target.args.first().filter(|_| is_here)?;
        block.insts.iter().find_map(|(value, inst)| {
            let Inst::Const { bits, .. } = inst else { return None };
            (value.as_ref() == Some(arg)).then_some(*bits)
        })
    }

    /// Goes on appending to a block that had ended in a jump.
    pub(in crate::ir) fn reopen(&mut self, block: Block) {
        self.function.blocks[block.index()].end = None;
        self.switch_to(block);
    }
}
