//! The verifier of one function.

use super::{Malformed, check, malformed};
use crate::ir::entity::{Symbol, Value};
use crate::ir::inst::{Inst, Target, Terminator};
use crate::ir::module::{BlockData, Function, Module, Placed};
use crate::ir::operator::{Binary, Cond};
use crate::ir::order::{self, Dominators};
use crate::ir::signature::{Signature, Type};
use crate::ir::symbols::SymbolKind;

/// Checks a function whose symbol exists.
pub(super) fn verify(module: &Module, function: &Function) -> Result<(), Malformed> {
    checked(module, function).map_err(|reason| match entities(module, function) {
        Ok(()) => malformed(module, function, reason),
        Err(reason) => {
            let name = format!("func @{}", module.name(function.symbol));
            Malformed { reason, function: Some(name) }
        }
    })
}

/// Returns the first error; for dangling ids it may be vague, [`entities`] names the id.
fn checked(module: &Module, function: &Function) -> Result<(), String> {
    let (blocks, names) = (function.blocks.len(), function.names.len());
    let mut known = blocks > 0;
    for block in &function.blocks {
        order::each_target(block, |target| known &= target < blocks);
    }
    let mut hints = function.values.iter().filter_map(|value| value.hint.name);
    known &= hints.all(|name| (name as usize) < names);
    known &= unknown_topic(module, function).is_none();
    check(known, || UNKNOWN.into())?;
    let definitions = definitions(function)?;
    shape(module, function)?;
    let dominators = Dominators::new(function);
    Verifier { module, function, dominators, definitions }.function()
}

/// Returns a topic of an instruction that does not exist, or a file of a place that does not.
fn unknown_topic(module: &Module, function: &Function) -> Option<String> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts).map(|placed| placed.topic);
    let ends = function.blocks.iter().map(|block| block.end_topic);
    let topic = insts.chain(ends).find(|topic| topic.index() >= function.topics.len());
    let mut places = function.topics.iter().filter_map(|topic| topic.location);
    topic.map(|topic| topic.to_string()).or_else(|| {
        let place = places.find(|at| at.file as usize >= module.files.len());
        place.map(|at| format!("file {}", at.file))
    })
}

/// The error of a dangling id, which [`entities`] replaces.
const UNKNOWN: &str = "something does not exist";

/// Checks that all ids exist; a function with a dangling id cannot be printed.
fn entities(module: &Module, function: &Function) -> Result<(), String> {
    let mut unknown = None;
    let mut known = |value: Value| {
        if value.index() >= function.values.len() {
            unknown = Some(value.to_string());
        }
    };
    for block in &function.blocks {
        block.params.iter().for_each(|&param| known(param));
        for Placed { result, inst, .. } in &block.insts {
            result.iter().for_each(|&result| known(result));
            inst.operands(&mut known);
        }
        block.end.iter().for_each(|end| end.operands(&mut known));
    }
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let symbols = insts.filter_map(|placed| placed.inst.symbol());
    let targets = function.blocks.iter().flat_map(|block| &block.end).flat_map(Terminator::targets);
    let mut blocks = targets.map(|target| target.block);
    let hints = function.values.iter().filter_map(|value| value.hint.name);
    let unknown = unknown
        .or_else(|| symbols.filter(|s| s.index() >= module.symbols.len()).map(text).next())
        .or_else(|| blocks.find(|b| b.index() >= function.blocks.len()).map(|b| b.to_string()))
        .or_else(|| hints.filter(|&n| n as usize >= function.names.len()).map(hint).next())
        .or_else(|| unknown_topic(module, function));
    check(!function.blocks.is_empty(), || "there are no blocks".into())?;
    unknown.map_or(Ok(()), |unknown| Err(format!("{unknown} does not exist")))
}

fn text(symbol: Symbol) -> String {
    symbol.to_string()
}

fn hint(name: u32) -> String {
    format!("name {name}")
}

/// Checks the signature, the entry and the order of blocks.
fn shape(module: &Module, function: &Function) -> Result<(), String> {
    let symbol = &module.symbols[function.symbol.index()];
    let same = match &symbol.kind {
        SymbolKind::Function(signature) => *signature == function.signature,
        SymbolKind::Data => false,
    };
    check(same, || "signature differs from its symbol's".into())?;
    let entry = function.blocks[0].params.iter().map(|&param| function.ty(param));
    let declared = function.signature.params.iter().map(|abi| abi.ty);
    check(entry.eq(declared), || "entry parameters differ from the signature".into())?;
    let order = order::reverse_postorder(&function.blocks);
    check(order.into_iter().eq(0..function.blocks.len()), || {
        "blocks are not in reverse postorder, or unreachable".into()
    })
}

/// A point in a function at which a value is defined or used.
#[derive(Clone, Copy)]
struct ProgramPoint {
    block: usize,
    /// 0 for the parameters of the block, then its instructions, then its terminator.
    position: usize,
}

impl ProgramPoint {
    /// The definition of a value that no block defines.
    const NOWHERE: ProgramPoint = ProgramPoint { block: usize::MAX, position: 0 };

    fn is_nowhere(self) -> bool {
        self.block == Self::NOWHERE.block
    }
}

/// Returns the definition of each value.
fn definitions(function: &Function) -> Result<Vec<ProgramPoint>, String> {
    let mut definitions = vec![ProgramPoint::NOWHERE; function.values.len()];
    let mut define = |value: Value, point| {
        let definition = definitions.get_mut(value.index()).ok_or(UNKNOWN)?;
        let before = std::mem::replace(definition, point);
        check(before.is_nowhere(), || format!("{value} is defined twice"))
    };
    for (block, data) in function.blocks() {
        let point = |position| ProgramPoint { block: block.index(), position };
        data.params.iter().try_for_each(|&param| define(param, point(0)))?;
        for (at, Placed { result, .. }) in data.insts.iter().enumerate() {
            result.iter().try_for_each(|&value| define(value, point(at + 1)))?;
        }
    }
    Ok(definitions)
}

struct Verifier<'a> {
    module: &'a Module,
    function: &'a Function,
    dominators: Dominators,
    /// The definition of each value.
    definitions: Vec<ProgramPoint>,
}

impl Verifier<'_> {
    fn function(&self) -> Result<(), String> {
        for (block, data) in self.function.blocks() {
            self.block(block.index(), data)?;
        }
        Ok(())
    }

    fn block(&self, block: usize, data: &BlockData) -> Result<(), String> {
        let point = |position| ProgramPoint { block, position };
        for (at, Placed { result, inst, .. }) in data.insts.iter().enumerate() {
            let slot = matches!(inst, Inst::StackSlot { .. });
            check(!slot || block == 0, || "stack slot outside the entry".into())?;
            let mut used = Ok(());
            inst.operands(|value| self.use_of(value, point(at + 1), &mut used));
            used?;
            let known = inst.symbol().is_none_or(|of| of.index() < self.module.symbols.len());
            check(known, || UNKNOWN.into())?;
            let ty = self.result_type(inst)?;
            let found = result.map(|value| self.function.ty(value));
            check(ty == found, || format!("{inst:?} yields {ty:?}, not {found:?}"))?;
        }
        check(pairs(data), || "checked arithmetic and its flag do not go together".into())?;
        let end = data.end.as_ref().ok_or("a block has no terminator")?;
        let mut used = Ok(());
        end.operands(|value| self.use_of(value, point(data.insts.len() + 1), &mut used));
        used?;
        self.end(end)
    }

    /// Checks that the definition of a value dominates a use; keeps the first error.
    fn use_of(&self, value: Value, point: ProgramPoint, result: &mut Result<(), String>) {
        let Some(&definition) = self.definitions.get(value.index()) else {
            *result = Err(UNKNOWN.into());
            return;
        };
        let never = definition.is_nowhere();
        let dominates = if definition.block == point.block {
            definition.position < point.position
        } else {
            !never && self.dominators.dominates(definition.block, point.block)
        };
        if !dominates && result.is_ok() {
            let wrong =
                if never { "is used but never defined" } else { "does not dominate its use" };
            *result = Err(format!("{value} {wrong}"));
        }
    }

    fn end(&self, end: &Terminator) -> Result<(), String> {
        match end {
            Terminator::Jump(_) => {}
            Terminator::Branch { cond, .. } => self.typed(*cond, Type::Bool)?,
            Terminator::Return(value) => {
                let found = value.map(|value| self.function.ty(value));
                let declared = self.function.signature.result.map(|abi| abi.ty);
                check(found == declared, || "wrong type returned".into())?;
            }
        }
        end.targets().try_for_each(|target| self.target(target))
    }

    fn target(&self, Target { block, args }: &Target) -> Result<(), String> {
        check(block.index() != 0, || "jump to the entry".into())?;
        let params = &self.function.blocks[block.index()].params;
        let types = |values: &[Value]| -> Vec<Type> {
            values.iter().map(|&value| self.function.ty(value)).collect()
        };
        let same = args.len() == params.len()
            && args.iter().zip(params).all(|(&a, &b)| self.function.ty(a) == self.function.ty(b));
        check(same, || format!("{block} takes {:?}, not {:?}", types(params), types(args)))
    }

    /// Checks the operands of an instruction; returns the type of its result.
    fn result_type(&self, inst: &Inst) -> Result<Option<Type>, String> {
        let ty = |value: &Value| self.function.ty(*value);
        match inst {
            Inst::Const { ty, .. } => Ok(Some(*ty)),
            Inst::Address { symbol, offset } => self.address(*symbol, *offset).map(Some),
            Inst::StackSlot { align, .. } => slot(*align).map(Some),
            Inst::Load { ty, base, align, .. } => self.access(*ty, *base, *align).map(Some),
            Inst::Store { value, base, align, .. } => {
                self.access(ty(value), *base, *align).map(|_| None)
            }
            Inst::AtomicLoad { ty, base, .. } => self.atomic(*ty, *base).map(Some),
            Inst::AtomicStore { value, base, .. } => self.atomic(ty(value), *base).map(|_| None),
            Inst::CompareExchange { base, expected, new } => {
                self.typed(*new, ty(expected))?;
                self.atomic(ty(expected), *base).map(Some)
            }
            Inst::PtrAdd { base, offset } => {
                self.typed(*offset, Type::I64)?;
                self.typed(*base, Type::Ptr).map(|()| Some(Type::Ptr))
            }
            Inst::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs).map(Some),
            Inst::Checked { lhs, rhs, .. } => {
                self.typed(*lhs, Type::I64)?;
                self.typed(*rhs, Type::I64).map(|()| Some(Type::I64))
            }
            Inst::Overflowed { of } => self.typed(*of, Type::I64).map(|()| Some(Type::Bool)),
            Inst::Compare { cond, lhs, rhs } => self.compare(*cond, *lhs, *rhs).map(Some),
            Inst::Select { cond, then, otherwise } => {
                self.typed(*cond, Type::Bool)?;
                self.typed(*otherwise, ty(then)).map(|()| Some(ty(then)))
            }
            Inst::Convert { op, value, to } => {
                let legal = op.takes(ty(value), *to);
                check(legal, || format!("{op:?} from {} to {to}", ty(value)))?;
                Ok(Some(*to))
            }
            Inst::Call { callee, args } => self.call(self.callee(*callee)?, args),
            Inst::CallIndirect { signature, callee, args } => {
                self.typed(*callee, Type::Ptr)?;
                super::signature("a callee", signature)?;
                self.call(signature, args)
            }
        }
    }

    fn binary(&self, op: Binary, lhs: Value, rhs: Value) -> Result<Type, String> {
        let ty = self.function.ty(lhs);
        self.typed(rhs, ty)?;
        check(op.takes(ty), || format!("{op:?} of {ty}")).map(|()| ty)
    }

    fn compare(&self, cond: Cond, lhs: Value, rhs: Value) -> Result<Type, String> {
        let ty = self.function.ty(lhs);
        self.typed(rhs, ty)?;
        check(cond.takes(ty), || format!("{cond:?} of {ty}")).map(|()| Type::Bool)
    }

    fn address(&self, symbol: Symbol, offset: i32) -> Result<Type, String> {
        let is_start = offset == 0 || self.module.signature(symbol).is_none();
        check(is_start, || format!("address inside function {}", self.module.name(symbol)))?;
        Ok(Type::Ptr)
    }

    fn callee(&self, callee: Symbol) -> Result<&Signature, String> {
        let signature = self.module.signature(callee);
        signature.ok_or_else(|| format!("call of data {}", self.module.name(callee)))
    }

    fn call(&self, signature: &Signature, args: &[Value]) -> Result<Option<Type>, String> {
        let found = || args.iter().map(|&arg| self.function.ty(arg));
        let same = found().eq(signature.params.iter().map(|param| param.ty));
        check(same, || format!("call of {signature} with {:?}", found().collect::<Vec<_>>()))?;
        Ok(signature.result.map(|abi| abi.ty))
    }

    fn access(&self, ty: Type, base: Value, align: u32) -> Result<Type, String> {
        self.typed(base, Type::Ptr)?;
        let legal = ty != Type::Bool && align.is_power_of_two();
        check(legal, || format!("access to {ty} at alignment {align}")).map(|()| ty)
    }

    fn atomic(&self, ty: Type, base: Value) -> Result<Type, String> {
        self.typed(base, Type::Ptr)?;
        check(ty.is_atomic(), || format!("atomic access to {ty}")).map(|()| ty)
    }

    fn typed(&self, value: Value, ty: Type) -> Result<(), String> {
        let found = self.function.ty(value);
        check(found == ty, || format!("{value} is {found}, not {ty}"))
    }
}

/// Returns true if each checked arithmetic is followed by its flag, and no flag stands alone.
fn pairs(data: &BlockData) -> bool {
    let is_checked = |inst: &Inst| matches!(inst, Inst::Checked { .. });
    let mut before = None;
    for Placed { result, inst, .. } in &data.insts {
        let of = if let Inst::Overflowed { of } = inst { Some(*of) } else { None };
        if of != before {
            return false;
        }
        before = result.filter(|_| is_checked(inst));
    }
    before.is_none()
}

fn slot(align: u32) -> Result<Type, String> {
    let legal = align.is_power_of_two() && align <= 16;
    check(legal, || format!("stack slot of alignment {align}")).map(|()| Type::Ptr)
}
