//! Block order, dominance, and unused instructions.

use super::entity::{Block, Value};
use super::inst::{Inst, Terminator};
use super::module::{BlockData, Function, Placed};

/// Brings the reachable blocks of a function into reverse postorder, and drops the others.
pub(super) fn order_blocks(blocks: &mut Vec<BlockData>) {
    let order = reverse_postorder(blocks);
    // Blocks that are not reached come last.
    let mut places = vec![usize::MAX; blocks.len()];
    order.iter().enumerate().for_each(|(new, &old)| places[old] = new);
    let others = places.iter_mut().filter(|place| **place == usize::MAX);
    others.enumerate().for_each(|(index, place)| *place = order.len() + index);
    for end in blocks.iter_mut().filter_map(|block| block.end.as_mut()) {
        end.each_target_mut(|target| *target = Block(places[target.index()] as u32));
    }
    for at in 0..blocks.len() {
        while places[at] != at {
            let place = places[at];
            blocks.swap(at, place);
            places.swap(at, place);
        }
    }
    blocks.truncate(order.len());
}

/// Returns the reachable blocks in reverse postorder; the first target of a branch precedes the second.
pub(super) fn reverse_postorder(blocks: &[BlockData]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    let mut stack = vec![(0, false)];
    while let Some((block, done)) = stack.pop() {
        if done {
            order.push(block);
        } else if !std::mem::replace(&mut seen[block], true) {
            stack.push((block, true));
            each_target(&blocks[block], |to| {
                if !seen[to] {
                    stack.push((to, false));
                }
            });
        }
    }
    order.reverse();
    order
}

/// The dominator tree of a function.
pub(super) struct Dominators {
    /// The position of each block in a preorder of the dominator tree.
    place: Vec<usize>,
    /// The number of blocks that each block dominates, itself included; they follow it in the preorder.
    count: Vec<usize>,
}

impl Dominators {
    /// Computes the dominators of a function whose blocks are in reverse postorder.
    pub(super) fn new(function: &Function) -> Dominators {
        let idom = immediate_dominators(function);
        let mut count = vec![1; idom.len()];
        for block in (1..idom.len()).rev() {
            count[idom[block]] += count[block];
        }
        let mut place = vec![0; idom.len()];
        let mut next = vec![1; idom.len()];
        for block in 1..idom.len() {
            let above = idom[block];
            place[block] = next[above];
            next[above] += count[block];
            next[block] = place[block] + 1;
        }
        Dominators { place, count }
    }

    /// Returns true if every path from the entry to `below` contains `above`. Each block dominates itself.
    pub(super) fn dominates(&self, above: usize, below: usize) -> bool {
        let first = self.place[above];
        (first..first + self.count[above]).contains(&self.place[below])
    }
}

/// Computes immediate dominators by the algorithm of Cooper, Harvey and Kennedy. Blocks must be in reverse postorder.
/// The immediate dominator of the entry is the entry.
pub fn immediate_dominators(function: &Function) -> Vec<usize> {
    let count = function.blocks.len();
    let (starts, predecessors) = predecessors(function);
    let mut idom = vec![usize::MAX; count];
    idom[0] = 0;
    let (mut changed, mut loops) = (true, false);
    while std::mem::take(&mut changed) {
        for block in 1..count {
            let all = &predecessors[starts[block]..starts[block + 1]];
            let known = all.iter().copied().filter(|&p| idom[p] != usize::MAX);
            let new = known.reduce(|a, b| common(&idom, a, b)).unwrap_or(0);
            let old = std::mem::replace(&mut idom[block], new);
            // Until the first back edge one pass computes final results.
            loops |= all.iter().any(|&from| from >= block);
            changed |= loops && old != new;
        }
    }
    idom
}

/// Returns the predecessors of all blocks in one list, and the start of each block's part of it.
fn predecessors(function: &Function) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0; function.blocks.len() + 1];
    function.blocks.iter().for_each(|block| each_target(block, |to| starts[to + 1] += 1));
    (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
    let mut next = starts.clone();
    let mut predecessors = vec![0; starts.last().copied().unwrap_or(0)];
    for (from, block) in function.blocks.iter().enumerate() {
        each_target(block, |to| {
            predecessors[next[to]] = from;
            next[to] += 1;
        });
    }
    (starts, predecessors)
}

/// Calls `visit` with the number of each successor of a block, in order.
#[inline]
pub(super) fn each_target(block: &BlockData, mut visit: impl FnMut(usize)) {
    match &block.end {
        Some(Terminator::Jump(target)) => visit(target.block.index()),
        Some(Terminator::Branch { then, otherwise, .. }) => {
            visit(then.block.index());
            visit(otherwise.block.index());
        }
        Some(Terminator::Return(_)) | None => {}
    }
}

/// Returns the nearest common dominator of two blocks.
fn common(idom: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = idom[a];
        } else {
            b = idom[b];
        }
    }
    a
}

/// Removes pure instructions whose result is not read from a function in reverse postorder. Definitions precede their
/// uses, so that one backward pass finds all of them.
pub(super) fn drop_unused(function: &mut Function) {
    let mut read = vec![false; function.values.len()];
    for block in function.blocks.iter().flat_map(|block| &block.end) {
        block.operands(|value| read[value.index()] = true);
    }
    for block in function.blocks.iter_mut().rev() {
        let mut unused = false;
        for Placed { result, inst, .. } in block.insts.iter().rev() {
            if is_unused(*result, inst, &read) {
                unused = true;
            } else {
                inst.operands(|value| read[value.index()] = true);
            }
        }
        if unused {
            block.insts.retain(|Placed { result, inst, .. }| !is_unused(*result, inst, &read));
        }
    }
}

/// Returns true for a pure instruction whose result is not read.
fn is_unused(result: Option<Value>, inst: &Inst, read: &[bool]) -> bool {
    inst.is_pure() && result.is_none_or(|value| !read[value.index()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Linkage, Module, Signature, Type};

    /// Builds a function whose blocks branch at random.
    fn tangled(mut seed: u64) -> Function {
        let mut any = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut module = Module::default();
        let signature = Signature::new(&[Type::Bool], None);
        let mut b = Builder::function(&mut module, "f", Linkage::Export, signature);
        let condition = b.param(0);
        let blocks: Vec<_> = (0..1 + any(12)).map(|_| b.block("block")).collect();
        for from in 0..=blocks.len() {
            if let Some(at) = from.checked_sub(1) {
                b.switch_to(blocks[at]);
            }
            match any(5) {
                0 if from > 0 => b.ret(None),
                1 => b.jump(blocks[any(blocks.len())], &[]),
                _ => b.branch(condition, blocks[any(blocks.len())], blocks[any(blocks.len())]),
            }
        }
        b.finish()
    }

    /// Returns the blocks that are reachable without passing through one block.
    fn reached(function: &Function, closed: usize) -> Vec<bool> {
        let mut reached = vec![false; function.blocks.len()];
        let mut waiting = vec![0];
        while let Some(block) = waiting.pop() {
            if block != closed && !std::mem::replace(&mut reached[block], true) {
                each_target(&function.blocks[block], |to| waiting.push(to));
            }
        }
        reached
    }

    #[test]
    fn finished_blocks_are_those_that_are_reached_in_reverse_postorder() {
        for seed in 0..2000 {
            let function = tangled(seed);
            let order = reverse_postorder(&function.blocks);
            assert_eq!(order, Vec::from_iter(0..function.blocks.len()), "{seed}");
        }
    }

    #[test]
    fn a_block_dominates_what_is_not_reached_without_it() {
        for seed in 0..2000 {
            let function = tangled(seed);
            let dominators = Dominators::new(&function);
            for above in 0..function.blocks.len() {
                for (below, reached) in reached(&function, above).into_iter().enumerate() {
                    assert_eq!(
                        dominators.dominates(above, below),
                        !reached,
                        "{seed}: {above} {below}"
                    );
                }
            }
        }
    }
}
