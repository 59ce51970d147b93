//! Sharing of variables: a parameter of a block and an argument for it have one, where nothing uses the argument from
//! that block on.

use std::collections::HashSet;

use codegen::ir::{Function, Inst, Placed, Terminator, Value, immediate_dominators};

use crate::uses::{Uses, has_effect, jumps};

/// Gives one name to parameters of blocks and arguments for them. Without loops all jumps go to later blocks.
pub(crate) fn share(function: &Function, uses: &Uses, names: &mut [String]) {
    if function.has_loop() {
        return;
    }
    let readers = Readers::new(function);
    let jumps = jumps(function);
    let flow = Flow::new(function);
    let mut groups = Groups::new(names.len());
    for (block, data) in function.blocks().skip(1) {
        let mut after = After { block: block.index(), flow: &flow, apart: HashSet::new() };
        let params = data.params.iter().enumerate().filter(|(_, param)| uses.is_needed(**param));
        for (i, &param) in params {
            let fits = |&arg: &Value| {
                let [of, other] = [arg, param].map(|value| &function.values[value.index()]);
                let is_other = |value: usize| data.params.iter().all(|it| it.index() != value);
                (of.ty, of.points_to) == (other.ty, other.points_to)
                    && readers.is_variable[arg.index()]
                    && uses.is_shared(arg)
                    && groups
                        .used_from(arg, block.index(), &readers)
                        .iter()
                        .all(|&value| is_other(value) && readers.is_dead(value, &mut after))
            };
            let mut args = jumps[block.index()].iter().map(|jump| jump.target.args[i]);
            if let Some(arg) = args.find(fits) {
                groups.join(param, arg, names);
            }
        }
    }
    for (value, &group) in groups.of.iter().enumerate() {
        if value != group {
            names[value] = names[group].clone();
        }
    }
}

/// Groups of values with one variable. The name of a group is that of its first value.
struct Groups {
    /// The first value of the group of each value.
    of: Vec<usize>,
    /// The values of the group of each first value, without those that are known to be used no more.
    values: Vec<Vec<usize>>,
}

impl Groups {
    fn new(count: usize) -> Groups {
        Groups { of: (0..count).collect(), values: (0..count).map(|value| vec![value]).collect() }
    }

    /// Returns the values in the group of a value that may be used from a block on. Blocks are asked for in order.
    fn used_from(&mut self, value: Value, block: usize, readers: &Readers) -> &[usize] {
        let values = &mut self.values[self.of[value.index()]];
        values.retain(|&value| readers.last[value] >= block);
        values
    }

    /// Adds a value to the group of another one. The group gets the shorter name.
    fn join(&mut self, value: Value, other: Value, names: &mut [String]) {
        let (value, group) = (value.index(), self.of[other.index()]);
        self.of[value] = group;
        self.values[group].push(value);
        if names[value].len() < names[group].len() {
            names[group] = names[value].clone();
        }
    }
}

/// The uses of each value.
struct Readers {
    /// The blocks that use the value.
    blocks: Vec<Vec<usize>>,
    /// The results that may be written where they are used, and with them the value.
    results: Vec<Vec<Value>>,
    /// The last block that uses the value or what may be written in terms of it.
    last: Vec<usize>,
    /// True for results and parameters of blocks that have a variable.
    is_variable: Vec<bool>,
}

impl Readers {
    fn new(function: &Function) -> Readers {
        let count = function.values.len();
        let mut readers = Readers {
            blocks: vec![Vec::new(); count],
            results: vec![Vec::new(); count],
            last: vec![0; count],
            is_variable: vec![true; count],
        };
        for param in &function.blocks[0].params {
            readers.is_variable[param.index()] = false;
        }
        // From the end: the uses of a result are known before those of its operands.
        for (block, data) in function.blocks.iter().enumerate().rev() {
            match &data.end {
                Some(Terminator::Branch { cond, .. }) => readers.read(*cond, block),
                Some(Terminator::Return(Some(value))) => readers.read(*value, block),
                Some(Terminator::Jump(_) | Terminator::Return(None)) | None => {}
            }
            let targets = data.end.iter().flat_map(Terminator::targets);
            targets.flat_map(|target| &target.args).for_each(|&value| readers.read(value, block));
            for Placed { result, inst, .. } in data.insts.iter().rev() {
                inst.operands(|value| readers.read(value, block));
                let Some(result) = *result else { continue };
                if !has_effect(inst) {
                    let last = readers.last[result.index()];
                    inst.operands(|value| {
                        readers.results[value.index()].push(result);
                        readers.last[value.index()] = readers.last[value.index()].max(last);
                    });
                }
                let has_none = matches!(
                    inst,
                    Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. }
                );
                readers.is_variable[result.index()] = !has_none;
            }
        }
        readers
    }

    fn read(&mut self, value: Value, block: usize) {
        self.blocks[value.index()].push(block);
        self.last[value.index()] = self.last[value.index()].max(block);
    }

    /// Returns true if no block from one on uses a value, or what may be written in terms of it.
    fn is_dead(&self, value: usize, after: &mut After<'_>) -> bool {
        let mut seen = HashSet::new();
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            if self.last[value] < after.block || !seen.insert(value) {
                continue;
            }
            if self.blocks[value].iter().any(|&block| after.has(block)) {
                return false;
            }
            waiting.extend(self.results[value].iter().map(|result| result.index()));
        }
        true
    }
}

/// The ways to each block.
struct Flow {
    predecessors: Vec<Vec<usize>>,
    /// The number of each block, so that those that a block dominates have the numbers after its own.
    number: Vec<usize>,
    /// The number of blocks that each block dominates, itself included.
    size: Vec<usize>,
}

impl Flow {
    fn new(function: &Function) -> Flow {
        let count = function.blocks.len();
        let above = immediate_dominators(function);
        let mut size = vec![1; count];
        (1..count).rev().for_each(|block| size[above[block]] += size[block]);
        let (mut number, mut next) = (vec![0; count], vec![1; count]);
        for block in 1..count {
            number[block] = next[above[block]];
            next[above[block]] += size[block];
            next[block] = number[block] + 1;
        }
        let mut predecessors = vec![Vec::new(); count];
        for (from, data) in function.blocks.iter().enumerate() {
            let targets = data.end.iter().flat_map(Terminator::targets);
            targets.for_each(|target| predecessors[target.block.index()].push(from));
        }
        Flow { predecessors, number, size }
    }

    fn dominates(&self, above: usize, below: usize) -> bool {
        (self.number[above]..self.number[above] + self.size[above]).contains(&self.number[below])
    }
}

/// The blocks that run after one, itself included.
struct After<'a> {
    block: usize,
    flow: &'a Flow,
    /// Blocks that are known not to run after it.
    apart: HashSet<usize>,
}

impl After<'_> {
    fn has(&mut self, block: usize) -> bool {
        let mut seen = HashSet::new();
        let mut waiting = vec![block];
        while let Some(block) = waiting.pop() {
            if block < self.block || self.apart.contains(&block) || !seen.insert(block) {
                continue;
            }
            if self.flow.dominates(self.block, block) {
                return true;
            }
            waiting.extend(&self.flow.predecessors[block]);
        }
        self.apart.extend(seen);
        false
    }
}
