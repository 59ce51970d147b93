//! Edits of blocks that have ended: returns that share a block, and jumps that are taken back.

use super::Builder;
use crate::ir::Hint;
use crate::ir::entity::{Block, Value};
use crate::ir::inst::{Inst, Target, Terminator};
use crate::ir::module::{BlockData, Placed};
use crate::ir::signature::Type;

/// The value that a block returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Nothing,
    Constant(Type, u64),
    Value,
}

impl Builder<'_> {
    /// Redirects the returns so far to few blocks: one for each constant, and one for all other values. This makes a
    /// function smaller, since every block that returns has an epilogue.
    ///
    /// ```
    /// # use tvm_ffi_codegen::ir::{Builder, Linkage, Module, Signature, Type, verify};
    /// # let mut module = Module::default();
    /// let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I32));
    /// let mut b = Builder::function(&mut module, "different", Linkage::Export, signature);
    /// let (x, y) = (b.param(0), b.param(1));
    /// for (one, other) in [(x, y), (y, x)] {
    ///     let more = b.compare(tvm_ffi_codegen::ir::Cond::Sgt, one, other);
    ///     b.if_then(more, |b| {
    ///         let yes = b.i32(1);
    ///         b.ret(Some(yes));
    ///     });
    /// }
    /// let no = b.i32(0);
    /// b.ret(Some(no));
    /// b.share_returns();
    /// let function = b.finish();
    /// module.functions.push(function);
    /// assert_eq!(module.to_string().matches("return %").count(), 2);
    /// verify(&module).unwrap();
    /// ```
    pub fn share_returns(&mut self) {
        let mut kinds: Vec<(Returned, Vec<usize>)> = Vec::new();
        for (at, block) in self.function.blocks.iter().enumerate() {
            let Some(kind) = returned(block) else { continue };
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, blocks)) => blocks.push(at),
                None => kinds.push((kind, vec![at])),
            }
        }
        for (kind, blocks) in kinds.into_iter().filter(|(_, blocks)| blocks.len() > 1) {
            self.share(kind, &blocks);
        }
    }

    /// Replaces the returns of some blocks by jumps to a new block that returns.
    fn share(&mut self, kind: Returned, blocks: &[usize]) {
        let exit = self.block("return");
        let result = self.function.signature.result.map(|abi| abi.ty);
        let result = result.filter(|_| kind == Returned::Value);
        let passed = result.map(|ty| self.block_param(exit, ty, Hint::default()));
        for &at in blocks {
            let end = &mut self.function.blocks[at].end;
            if let Some(Terminator::Return(value)) = end {
                let args = value.iter().copied().filter(|_| passed.is_some()).collect();
                *end = Some(Terminator::Jump(Target { block: exit, args }));
            }
        }
        self.switch_to(exit);
        let value = match kind {
            Returned::Nothing => None,
            Returned::Constant(ty, bits) => Some(self.constant(ty, bits)),
            Returned::Value => passed,
        };
        self.ret(value);
    }

    /// Returns the blocks that jump to the current block with a constant for its only parameter, and the constants.
    /// Returns none if `param` is not that parameter, or if the block has instructions already.
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
        block.insts.iter().find_map(|Placed { result, inst, .. }| {
            let Inst::Const { bits, .. } = inst else { return None };
            (result.as_ref() == Some(arg)).then_some(*bits)
        })
    }

    /// Removes the terminator of a block and makes it the current one.
    pub(in crate::ir) fn reopen(&mut self, block: Block) {
        self.function.blocks[block.index()].end = None;
        self.switch_to(block);
    }
}

/// Returns the value that a block returns; constants of the block itself are known.
fn returned(block: &BlockData) -> Option<Returned> {
    let Some(Terminator::Return(value)) = &block.end else { return None };
    let Some(value) = value else { return Some(Returned::Nothing) };
    let made = block.insts.iter().find(|placed| placed.result == Some(*value));
    Some(match made {
        Some(Placed { inst: Inst::Const { ty, bits }, .. }) => Returned::Constant(*ty, *bits),
        Some(_) | None => Returned::Value,
    })
}
