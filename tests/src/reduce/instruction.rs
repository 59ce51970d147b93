//! Passes over a function of host IR.

use codegen::ir::{Block, BlockData, Function, Inst, Placed, Target, Terminator, Value};

use super::Changes;

/// Makes branches unconditional, and removes the blocks that nothing reaches any more.
pub(super) fn branches(function: &mut Function, changes: &mut Changes) {
    let mut changed = false;
    for block in &mut function.blocks {
        let Some(Terminator::Branch { then, otherwise, .. }) = &block.end else { continue };
        for target in [then, otherwise].map(Target::clone) {
            if changes.makes_next() {
                block.end = Some(Terminator::Jump(target));
                changed = true;
            }
        }
    }
    if changed {
        order(function);
    }
}

/// Ends a function at the end of a block that goes on.
pub(super) fn returns(function: &mut Function, changes: &mut Changes) {
    let mut changed = false;
    let result = function.signature.result.map(|abi| abi.ty);
    for index in 0..function.blocks.len() {
        let block = &function.blocks[index];
        if matches!(block.end, Some(Terminator::Return(_))) || !changes.makes_next() {
            continue;
        }
        // A value that is surely there: one of the block, or a parameter of the function.
        let own = block
            .params
            .iter()
            .copied()
            .chain(block.insts.iter().filter_map(|placed| placed.result));
        let mut all = function.blocks[0].params.iter().copied().chain(own);
        let value = all.rfind(|&value| Some(function.ty(value)) == result);
        if value.is_some() == result.is_some() {
            function.blocks[index].end = Some(Terminator::Return(value));
            changed = true;
        }
    }
    if changed {
        order(function);
    }
}

/// Removes instructions whose results nothing uses.
pub(super) fn instructions(function: &mut Function, changes: &mut Changes) {
    let used = used(function);
    for block in &mut function.blocks {
        block.insts.retain(|Placed { result, .. }| {
            result.is_some_and(|result| used[result.index()]) || !changes.makes_next()
        });
    }
}

/// Replaces results by zeros.
pub(super) fn constants(function: &mut Function, changes: &mut Changes) {
    let Function { blocks, values, .. } = function;
    for Placed { result, inst, .. } in blocks.iter_mut().flat_map(|block| &mut block.insts) {
        let Some(result) = result else { continue };
        let zero = Inst::Const { ty: values[result.index()].ty, bits: 0 };
        if !matches!(inst, Inst::Const { .. }) && changes.makes_next() {
            *inst = zero;
        }
    }
}

/// Uses an operand in the place of an instruction whose result has the same type.
pub(super) fn operands(function: &mut Function, changes: &mut Changes) {
    let mut replaced = Vec::new();
    for Placed { result, inst, .. } in function.blocks.iter().flat_map(|block| &block.insts) {
        let Some(result) = *result else { continue };
        inst.operands(|operand| {
            if function.ty(operand) == function.ty(result) && changes.makes_next() {
                replaced.push((result, operand));
            }
        });
    }
    for (from, to) in replaced {
        replace(function, from, to);
        for block in &mut function.blocks {
            block.insts.retain(|placed| placed.result != Some(from));
        }
    }
}

/// Replaces parameters of blocks by zeros.
pub(super) fn params(function: &mut Function, changes: &mut Changes) {
    for index in 1..function.blocks.len() {
        let all = function.blocks[index].params.iter().map(|_| changes.makes_next());
        let removed: Vec<bool> = all.collect();
        let block = &mut function.blocks[index];
        let params = block.params.clone();
        for (param, _) in params.into_iter().zip(&removed).filter(|(_, removed)| **removed) {
            let zero = Inst::Const { ty: function.values[param.index()].ty, bits: 0 };
            block.insts.insert(0, Placed { result: Some(param), ..Placed::from(zero) });
        }
        let keep = |list: &mut Vec<Value>| {
            let mut removed = removed.iter();
            list.retain(|_| !removed.next().is_some_and(|removed| *removed));
        };
        keep(&mut block.params);
        let ends = function.blocks.iter_mut().flat_map(|block| &mut block.end);
        let targets = ends.flat_map(targets).filter(|target| target.block.index() == index);
        targets.for_each(|target| keep(&mut target.args));
    }
}

/// Joins a block with the only one that jumps to it.
pub(super) fn jumps(function: &mut Function, changes: &mut Changes) {
    let mut entries = vec![0; function.blocks.len()];
    let ends = function.blocks.iter().flat_map(|block| &block.end);
    ends.flat_map(Terminator::targets).for_each(|target| entries[target.block.index()] += 1);
    let mut changed = false;
    for index in 0..function.blocks.len() {
        let Some(Terminator::Jump(target)) = &function.blocks[index].end else { continue };
        let (next, args) = (target.block.index(), target.args.clone());
        if next == 0 || next == index || entries[next] != 1 || !changes.makes_next() {
            continue;
        }
        let BlockData { params, insts, end, .. } = std::mem::take(&mut function.blocks[next]);
        function.blocks[index].insts.extend(insts);
        function.blocks[index].end = end;
        params.into_iter().zip(args).for_each(|(param, arg)| replace(function, param, arg));
        changed = true;
    }
    if changed {
        order(function);
    }
}

/// Makes constants smaller.
pub(super) fn numbers(function: &mut Function, changes: &mut Changes) {
    for Placed { inst, .. } in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        let Inst::Const { bits, .. } = inst else { continue };
        let from = *bits;
        for smaller in (0..64).map(|shift| from - (from >> shift)).filter(|&n| n != from) {
            if changes.makes_next() {
                *bits = smaller;
            }
        }
    }
}

/// Returns for each value whether something uses it.
fn used(function: &Function) -> Vec<bool> {
    let mut used = vec![false; function.values.len()];
    let mut visit = |value: Value| used[value.index()] = true;
    for block in &function.blocks {
        block.insts.iter().for_each(|Placed { inst, .. }| inst.operands(&mut visit));
        block.end.iter().for_each(|end| end.operands(&mut visit));
    }
    used
}

/// Puts the blocks that the entry reaches into reverse postorder, the first target of a branch first, and drops others.
fn order(function: &mut Function) {
    let numbers: Vec<Block> = function.blocks().map(|(block, _)| block).collect();
    let (mut order, mut seen) = (Vec::new(), vec![false; numbers.len()]);
    let mut stack = vec![(0, false)];
    while let Some((block, done)) = stack.pop() {
        if done {
            order.push(block);
        } else if !std::mem::replace(&mut seen[block], true) {
            stack.push((block, true));
            let next = function.blocks[block].end.iter().flat_map(Terminator::targets);
            stack.extend(next.map(|target| (target.block.index(), false)));
        }
    }
    order.reverse();
    let mut moved = numbers.clone();
    order.iter().zip(&numbers).for_each(|(&from, &to)| moved[from] = to);
    let mut old = std::mem::take(&mut function.blocks);
    function.blocks = order.into_iter().map(|from| std::mem::take(&mut old[from])).collect();
    for target in function.blocks.iter_mut().flat_map(|block| &mut block.end).flat_map(targets) {
        target.block = moved[target.block.index()];
    }
}

fn targets(end: &mut Terminator) -> Vec<&mut Target> {
    match end {
        Terminator::Jump(target) => vec![target],
        Terminator::Branch { then, otherwise, .. } => vec![then, otherwise],
        Terminator::Return(_) => Vec::new(),
    }
}

/// Replaces all uses of a value.
fn replace(function: &mut Function, from: Value, to: Value) {
    let put = |value: &mut Value| {
        if *value == from {
            *value = to;
        }
    };
    for block in &mut function.blocks {
        block.insts.iter_mut().flat_map(|placed| read(&mut placed.inst)).for_each(put);
        if let Some(end) = &mut block.end {
            match end {
                Terminator::Branch { cond, .. } => put(cond),
                Terminator::Return(value) => value.iter_mut().for_each(put),
                Terminator::Jump(_) => {}
            }
            targets(end).into_iter().flat_map(|target| &mut target.args).for_each(put);
        }
    }
}

/// Returns the values that an instruction reads.
fn read(inst: &mut Inst) -> Vec<&mut Value> {
    match inst {
        Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. } => Vec::new(),
        Inst::Load { base: value, .. }
        | Inst::AtomicLoad { base: value, .. }
        | Inst::Overflowed { of: value }
        | Inst::Convert { value, .. } => vec![value],
        Inst::Store { value, base, .. } | Inst::AtomicStore { value, base, .. } => {
            vec![value, base]
        }
        Inst::CompareExchange { base, expected, new } => vec![base, expected, new],
        Inst::PtrAdd { base, offset } => vec![base, offset],
        Inst::Binary { lhs, rhs, .. }
        | Inst::Checked { lhs, rhs, .. }
        | Inst::Compare { lhs, rhs, .. } => vec![lhs, rhs],
        Inst::Select { cond, then, otherwise } => vec![cond, then, otherwise],
        Inst::Call { args, .. } => args.iter_mut().collect(),
        Inst::CallIndirect { callee, args, .. } => args.iter_mut().chain([callee]).collect(),
    }
}
