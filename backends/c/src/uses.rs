//! The uses of values: which are computed at all, and which are written where they are used instead of in a variable.

use codegen::ir::{Block, Function, Hint, Inst, Placed, Pointee, Target, Terminator, Type, Value};

use crate::fields::field;

/// The place of a use: a block and an instruction of it, or its terminator, which has the next number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) block: Block,
    pub(crate) at: usize,
}

/// The uses of the values of a function.
pub(crate) struct Uses {
    /// The number of uses of each value, by what is needed.
    counts: Vec<u32>,
    /// The place of the last use.
    places: Vec<Option<Place>>,
    /// False for each value with a use before which memory may have been written since the value was computed.
    is_steady: Vec<bool>,
    has_loop: bool,
}

/// The largest number of times that a field is written instead of a variable.
const MOST: u32 = 4;

/// Returns true if an instruction does more than yield its result.
pub(crate) fn has_effect(inst: &Inst) -> bool {
    Weight::of(inst) >= Weight::Calls
}

/// Origin of a value: the parameter or the instruction that defines it.
#[derive(Clone, Copy)]
enum Origin {
    Nowhere,
    Param(Block, usize),
    Inst(Block, usize),
}

impl Uses {
    /// Finds the values that effects, branches and results need, directly or not.
    pub(crate) fn new(function: &Function) -> Uses {
        let mut needed = Needed::new(function);
        for (block, data) in function.blocks() {
            for (at, Placed { inst, .. }) in data.insts.iter().enumerate() {
                if has_effect(inst) {
                    inst.operands(|value| needed.read(value, Place { block, at }));
                }
            }
            let at = data.insts.len();
            match &data.end {
                Some(Terminator::Branch { cond, .. }) => needed.read(*cond, Place { block, at }),
                Some(Terminator::Return(Some(value))) => needed.read(*value, Place { block, at }),
                Some(Terminator::Jump(_) | Terminator::Return(None)) | None => {}
            }
        }
        needed.finish()
    }

    pub(crate) fn is_needed(&self, value: Value) -> bool {
        self.counts[value.index()] > 0
    }

    /// Returns true if there is more than one use.
    pub(crate) fn is_shared(&self, value: Value) -> bool {
        self.counts[value.index()] > 1
    }

    /// Calls `visit` with each instruction that has an effect or a needed result.
    pub(crate) fn each<'a>(&self, function: &'a Function, mut visit: impl FnMut(&'a Inst)) {
        for Placed { result, inst, .. } in function.blocks.iter().flat_map(|block| &block.insts) {
            if has_effect(inst) || result.is_some_and(|result| self.is_needed(result)) {
                visit(inst);
            }
        }
    }

    /// Returns the parameters of a jump that are needed, with their arguments.
    pub(crate) fn passed<'a>(
        &'a self,
        function: &'a Function,
        target: &'a Target,
    ) -> impl Iterator<Item = (Value, Value)> + 'a {
        let params = &function.blocks[target.block.index()].params;
        let pairs = params.iter().copied().zip(target.args.iter().copied());
        pairs.filter(|&(param, arg)| param != arg && self.is_needed(param))
    }

    /// Returns true if the result of the instruction at a place, of an expression of some weight, is written where it
    /// is used.
    pub(crate) fn is_folded(
        &self,
        function: &Function,
        value: Value,
        from: Place,
        weight: Weight,
    ) -> bool {
        let insts = &function.blocks[from.block.index()].insts;
        let inst = &insts[from.at].inst;
        if matches!(inst, Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. }) {
            return true;
        }
        // A field says what it is.
        let is_named = function.values[value.index()].hint != Hint::default()
            && !matches!(inst, Inst::Load { base, .. } if function.values[base.index()].points_to.is_some());
        let Some(to) = self.places[value.index()].filter(|_| !is_named) else { return false };
        let is_steady = self.is_steady[value.index()];
        match self.counts[value.index()] {
            1 => {}
            2..=MOST => return is_steady && !self.has_loop && is_field(function, inst),
            _ => return false,
        }
        if to.block != from.block {
            return match weight {
                Weight::Pure => !self.has_loop,
                Weight::Reads => is_steady && !self.has_loop,
                Weight::Calls | Weight::Synchronizes => false,
            };
        }
        let mut between = insts[from.at + 1..to.at].iter().map(|placed| &placed.inst);
        match weight {
            Weight::Pure => true,
            Weight::Reads => is_steady,
            Weight::Calls => {
                let keeps = |inst: &Inst| !has_effect(inst) && !matches!(inst, Inst::Load { .. });
                between.all(keeps) && is_always_evaluated(function, value, to)
            }
            Weight::Synchronizes => false,
        }
    }
}

/// Returns true if an instruction reads a field that has the type of the result.
fn is_field(function: &Function, inst: &Inst) -> bool {
    let Inst::Load { ty, base, offset, .. } = inst else { return false };
    let Some(Pointee::Struct(pointee)) = function.values[base.index()].points_to else {
        return false;
    };
    u32::try_from(*offset).is_ok_and(|offset| field(pointee, offset % pointee.size, *ty).is_some())
}

/// Returns true if what is written for a value at its use is evaluated in every case: C does not evaluate the right
/// side of `&&` and `||`, one side of `?:`, and what only one way of a branch assigns.
fn is_always_evaluated(function: &Function, value: Value, to: Place) -> bool {
    let block = &function.blocks[to.block.index()];
    match (block.insts.get(to.at).map(|placed| &placed.inst), &block.end) {
        (Some(Inst::Select { .. }), _) => false,
        (Some(Inst::Binary { lhs, .. }), _) => function.ty(*lhs) != Type::Bool,
        (Some(_), _) => true,
        (None, Some(Terminator::Branch { cond, .. })) => *cond == value,
        (None, _) => true,
    }
}

/// Obstacles to moving an expression past other instructions, lightest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// None: it may move anywhere.
    Pure,
    /// It reads memory, and may not move past writes.
    Reads,
    /// It calls, may not move past reads or writes, and is always evaluated.
    Calls,
    /// It orders memory of several threads, and never moves.
    Synchronizes,
}

impl Weight {
    /// Returns the weight of an instruction by itself.
    pub(crate) fn of(inst: &Inst) -> Weight {
        match inst {
            Inst::Load { .. } => Weight::Reads,
            Inst::Call { .. } | Inst::CallIndirect { .. } => Weight::Calls,
            Inst::Store { .. }
            | Inst::AtomicLoad { .. }
            | Inst::AtomicStore { .. }
            | Inst::CompareExchange { .. } => Weight::Synchronizes,
            Inst::Const { .. }
            | Inst::Address { .. }
            | Inst::StackSlot { .. }
            | Inst::PtrAdd { .. }
            | Inst::Binary { .. }
            | Inst::Checked { .. }
            | Inst::Overflowed { .. }
            | Inst::Compare { .. }
            | Inst::Select { .. }
            | Inst::Convert { .. } => Weight::Pure,
        }
    }
}

/// Returns the numbers of the states of memory. Where ways with different ones meet, and where a jump comes from
/// further down, a new state begins.
fn epochs(function: &Function) -> Vec<Vec<u32>> {
    let mut last = 0;
    let mut new = || {
        last += 1;
        last
    };
    let targets = |block: usize| {
        let targets = function.blocks[block].end.iter().flat_map(Terminator::targets);
        targets.map(|target| target.block.index())
    };
    let count = function.blocks.len();
    let mut unseen = vec![0; count];
    (0..count).flat_map(targets).for_each(|target| unseen[target] += 1);
    // The state in which each block is entered, as far as jumps to it have been seen.
    let mut starts: Vec<Option<u32>> = vec![None; count];
    let mut epochs = Vec::with_capacity(count);
    for (block, data) in function.blocks.iter().enumerate() {
        let mut epoch = starts[block].filter(|_| unseen[block] == 0).unwrap_or_else(&mut new);
        let mut states = vec![epoch];
        for Placed { inst, .. } in &data.insts {
            if has_effect(inst) {
                epoch = new();
            }
            states.push(epoch);
        }
        for target in targets(block) {
            unseen[target] -= 1;
            let start = &mut starts[target];
            *start = Some(if start.is_none_or(|start| start == epoch) { epoch } else { new() });
        }
        epochs.push(states);
    }
    epochs
}

/// A jump to a block.
#[derive(Clone, Copy)]
pub(crate) struct Jump<'a> {
    from: Block,
    pub(crate) target: &'a Target,
}

/// Returns the jumps to each block, in the order of their own blocks.
pub(crate) fn jumps(function: &Function) -> Vec<Vec<Jump<'_>>> {
    let mut jumps = vec![Vec::new(); function.blocks.len()];
    for (from, data) in function.blocks() {
        for target in data.end.iter().flat_map(Terminator::targets) {
            jumps[target.block.index()].push(Jump { from, target });
        }
    }
    jumps
}

/// The search for needed values.
struct Needed<'a> {
    function: &'a Function,
    jumps: Vec<Vec<Jump<'a>>>,
    origins: Vec<Origin>,
    /// The state of memory before each instruction and the terminator of each block: equal numbers mean that nothing
    /// was written in between.
    epochs: Vec<Vec<u32>>,
    uses: Uses,
    waiting: Vec<Value>,
}

impl<'a> Needed<'a> {
    fn new(function: &'a Function) -> Self {
        let count = function.values.len();
        let mut origins = vec![Origin::Nowhere; count];
        for (block, data) in function.blocks() {
            for (i, param) in data.params.iter().enumerate() {
                origins[param.index()] = Origin::Param(block, i);
            }
            for (at, Placed { result, .. }) in data.insts.iter().enumerate() {
                if let Some(result) = result {
                    origins[result.index()] = Origin::Inst(block, at);
                }
            }
        }
        let has_loop = function.has_loop();
        let uses = Uses {
            counts: vec![0; count],
            places: vec![None; count],
            is_steady: vec![true; count],
            has_loop,
        };
        let (jumps, epochs) = (jumps(function), epochs(function));
        Needed { function, jumps, origins, epochs, uses, waiting: Vec::new() }
    }

    /// Counts a use.
    fn read(&mut self, value: Value, place: Place) {
        let count = &mut self.uses.counts[value.index()];
        *count += 1;
        self.uses.places[value.index()] = Some(place);
        if let Origin::Inst(block, at) = self.origins[value.index()] {
            let epoch = |block: Block, at: usize| self.epochs[block.index()][at];
            self.uses.is_steady[value.index()] &= epoch(block, at) == epoch(place.block, place.at);
        }
        if *count == 1 {
            self.waiting.push(value);
        }
    }

    /// Follows needed values to what they are made of.
    fn finish(mut self) -> Uses {
        let function = self.function;
        while let Some(value) = self.waiting.pop() {
            match self.origins[value.index()] {
                Origin::Inst(block, at) => {
                    let inst = &function.blocks[block.index()].insts[at].inst;
                    if !has_effect(inst) {
                        inst.operands(|value| self.read(value, Place { block, at }));
                    }
                }
                Origin::Param(block, index) => self.arguments(block, index),
                Origin::Nowhere => {}
            }
        }
        self.uses
    }

    /// Counts the arguments for a parameter.
    fn arguments(&mut self, to: Block, index: usize) {
        for at in 0..self.jumps[to.index()].len() {
            let Jump { from, target } = self.jumps[to.index()][at];
            let at = self.function.blocks[from.index()].insts.len();
            self.read(target.args[index], Place { block: from, at });
        }
    }
}
