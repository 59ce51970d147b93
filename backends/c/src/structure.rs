//! The order of blocks in the text: which block stands where its predecessor jumps, which behind a label, and which in
//! a loop.

use codegen::ir::{Block, Function, Terminator, immediate_dominators};

/// The places of the blocks of a function.
pub(crate) struct Structure {
    /// The immediate dominator of each block.
    above: Vec<usize>,
    /// The number of edges into each block.
    edges: Vec<usize>,
    /// The number of blocks that each block dominates, itself included.
    pub(crate) sizes: Vec<usize>,
    /// The head of the innermost loop around each block.
    around: Vec<Option<usize>>,
    /// The head of the loop around the loop of each head.
    outer: Vec<Option<usize>>,
    /// The blocks behind a label that follow each block's code.
    inside: Vec<Vec<usize>>,
    /// The blocks that follow the loop of each head.
    after: Vec<Vec<usize>>,
    blocks: Vec<Block>,
}

/// Returns the successors of a block.
fn successors(function: &Function, block: usize) -> impl Iterator<Item = usize> {
    let targets = function.blocks[block].end.iter().flat_map(Terminator::targets);
    targets.map(|target| target.block.index())
}

impl Structure {
    pub(crate) fn new(function: &Function) -> Structure {
        let count = function.blocks.len();
        let above = immediate_dominators(function);
        let mut sizes = vec![1; count];
        (1..count).rev().for_each(|block| sizes[above[block]] += sizes[block]);
        let mut edges = vec![0; count];
        (0..count).flat_map(|from| successors(function, from)).for_each(|to| edges[to] += 1);
        let empty = vec![Vec::new(); count];
        let mut structure = Structure {
            above,
            edges,
            sizes,
            around: vec![None; count],
            outer: vec![None; count],
            inside: empty.clone(),
            after: empty,
            blocks: function.blocks().map(|(block, _)| block).collect(),
        };
        structure.find_loops(function);
        structure.place();
        for head in 0..count {
            // The regular way out comes first, so that it is a `break`.
            structure.after[head]
                .sort_by_key(|&block| !successors(function, head).any(|to| to == block));
        }
        structure
    }

    fn dominates(&self, above: usize, mut below: usize) -> bool {
        while below > above {
            below = self.above[below];
        }
        below == above
    }

    /// Finds the blocks of each loop, outer loops first. A jump back to a block that does not dominate it makes no
    /// loop.
    fn find_loops(&mut self, function: &Function) {
        let count = function.blocks.len();
        let mut predecessors = vec![Vec::new(); count];
        for from in 0..count {
            successors(function, from).for_each(|to| predecessors[to].push(from));
        }
        for head in 0..count {
            let is_back = |&&from: &&usize| from >= head && self.dominates(head, from);
            let mut waiting: Vec<usize> =
                predecessors[head].iter().filter(is_back).copied().collect();
            if waiting.is_empty() {
                continue;
            }
            self.outer[head] = self.around[head];
            self.around[head] = Some(head);
            while let Some(block) = waiting.pop() {
                if self.around[block] != Some(head) {
                    self.around[block] = Some(head);
                    waiting.extend(&predecessors[block]);
                }
            }
        }
    }

    /// Returns true if a block is in the loop of a head.
    fn is_in(&self, block: usize, head: usize) -> bool {
        let mut around = self.around[block];
        while around.is_some_and(|around| around != head) {
            around = around.and_then(|around| self.outer[around]);
        }
        around.is_some()
    }

    /// Returns the head of the innermost loop that a block is in without being its head.
    fn enclosing(&self, block: usize) -> Option<usize> {
        let around = self.around[block];
        if around == Some(block) { self.outer[block] } else { around }
    }

    /// Decides after what each block behind a label stands.
    fn place(&mut self) {
        for block in 1..self.blocks.len() {
            let mut owner = self.above[block];
            let mut left = None;
            let mut around = self.around[owner];
            while let Some(head) = around.filter(|&head| !self.is_in(block, head)) {
                (owner, left) = (head, Some(head));
                around = self.outer[head];
            }
            if left.is_some() {
                self.after[owner].push(block);
            } else if self.edges[block] > 1 {
                self.inside[owner].push(block);
            }
        }
    }

    /// Returns true if a block stands where `from` jumps to it: nothing else does, and both are in the same loop.
    pub(crate) fn is_inline(&self, from: Block, to: Block) -> bool {
        let (from, to) = (from.index(), to.index());
        self.edges[to] == 1 && self.above[to] == from && self.around[from] == self.enclosing(to)
    }

    pub(crate) fn is_head(&self, block: Block) -> bool {
        self.around[block.index()] == Some(block.index())
    }

    /// Returns the blocks that follow the code of a block, in order.
    pub(crate) fn inside(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> {
        self.inside[block.index()].iter().map(|&block| self.blocks[block])
    }

    /// Returns the blocks that follow the loop of a head, in order.
    pub(crate) fn after(&self, head: Block) -> impl DoubleEndedIterator<Item = Block> {
        self.after[head.index()].iter().map(|&block| self.blocks[block])
    }
}
