//! Removal of loads whose values nothing uses. Backends keep them, since a load may trap.

use super::{Function, Inst, Placed, Value};

impl Function {
    /// Removes loads whose values nothing uses, except atomic ones.
    pub(crate) fn remove_unused_loads(&mut self) {
        let mut uses = vec![0_u32; self.values.len()];
        let mut count = |value: Value| uses[value.index()] += 1;
        for block in &self.blocks {
            block.insts.iter().for_each(|Placed { inst, .. }| inst.operands(&mut count));
            block.end.iter().for_each(|end| end.operands(&mut count));
        }
        for block in self.blocks.iter_mut().rev() {
            let mut kept = Vec::with_capacity(block.insts.len());
            for placed in block.insts.drain(..).rev() {
                let is_unused = placed.result.is_some_and(|result| uses[result.index()] == 0);
                if let Inst::Load { base, .. } = placed.inst
                    && is_unused
                {
                    uses[base.index()] -= 1;
                } else {
                    kept.push(placed);
                }
            }
            kept.reverse();
            block.insts = kept;
        }
    }
}
