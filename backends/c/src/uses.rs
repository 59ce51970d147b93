//! The uses of values: which are computed at all, and which are written where they are used instead of in a variable.

use codegen::ir::{Block, Function, Hint, Inst, Target, Terminator, Type, Value};

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
    has_loop: bool,
}

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
            for (at, (_, inst)) in data.insts.iter().enumerate() {
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
        for (result, inst) in function.blocks.iter().flat_map(|block| &block.insts) {
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

    /// Returns true if the result of the instruction at a place, of an expression of some weight, is written where it is
    /// used.
    pub(crate) fn is_folded(
        &self,
        function: &Function,
        value: Value,
        from: Place,
        weight: Weight,
    ) -> bool {
        let insts = &function.blocks[from.block.index()].insts;
        let inst = &insts[from.at].1;
        if matches!(inst, Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. }) {
            return true;
        }
        // A field says what it is.
        let is_named = function.values[value.index()].hint != Hint::default()
            && !matches!(inst, Inst::Load { base, .. } if function.values[base.index()].points_to.is_some());
        let Some(to) = self.places[value.index()].filter(|_| !is_named) else { return false };
        if self.counts[value.index()] != 1 {
            return false;
        }
        if to.block != from.block {
            return weight == Weight::Pure && !self.has_loop;
        }
        let mut between = insts[from.at + 1..to.at].iter().map(|(_, inst)| inst);
        match weight {
            Weight::Pure => true,
            Weight::Reads => !between.any(has_effect),
            Weight::Calls => {
                let keeps = |inst: &Inst| !has_effect(inst) && !matches!(inst, Inst::Load { .. });
                between.all(keeps) && is_always_evaluated(function, value, to)
            }
            Weight::Synchronizes => false,
        }
    }
}

/// Returns true if what is written for a value at its use is evaluated in every case: C does not evaluate the right side
/// of `&&` and `||`, one side of `?:`, and what only one way of a branch assigns.
fn is_always_evaluated(function: &Function, value: Value, to: Place) -> bool {
    let block = &function.blocks[to.block.index()];
    match (block.insts.get(to.at), &block.end) {
        (Some((_, Inst::Select { .. })), _) => false,
        (Some((_, Inst::Binary { lhs, .. })), _) => function.ty(*lhs) != Type::Bool,
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
            | Inst::Compare { .. }
            | Inst::Select { .. }
            | Inst::Convert { .. } => Weight::Pure,
        }
    }
}

/// The search for needed values.
struct Needed<'a> {
    function: &'a Function,
    origins: Vec<Origin>,
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
            for (at, (result, _)) in data.insts.iter().enumerate() {
                if let Some(result) = result {
                    origins[result.index()] = Origin::Inst(block, at);
                }
            }
        }
        let has_loop = function.has_loop();
        let uses = Uses { counts: vec![0; count], places: vec![None; count], has_loop };
        Needed { function, origins, uses, waiting: Vec::new() }
    }

    /// Counts a use.
    fn read(&mut self, value: Value, place: Place) {
        let count = &mut self.uses.counts[value.index()];
        *count += 1;
        self.uses.places[value.index()] = Some(place);
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
                    let inst = &function.blocks[block.index()].insts[at].1;
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
        for (block, data) in self.function.blocks() {
            let at = data.insts.len();
            for target in data.end.iter().flat_map(Terminator::targets) {
                if target.block == to {
                    self.read(target.args[index], Place { block, at });
                }
            }
        }
    }
}
