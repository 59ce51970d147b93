//! Checks host IR. A violation is a bug in lowering, so it panics with the function printed.

use std::fmt;

use super::inst::{Binary, Cond, Convert, Inst, Target, Terminator};
use super::module::{Function, Linkage, Module, SymbolKind};
use super::order;
use super::types::{Signature, Symbol, Type, Value};

/// Checks a module: every symbol defined as its linkage says, every function well-formed and typed.
///
/// Blocks must stand in reverse postorder, so that a definition, which dominates its uses, also
/// precedes them: backends translate in one pass.
///
/// # Panics
/// With the reason and the printed function, if something is wrong.
pub fn verify(module: &Module) {
    let mut defined = vec![0; module.symbols.len()];
    for symbol in
        module.functions.iter().map(|f| f.symbol).chain(module.data.iter().map(|d| d.symbol))
    {
        defined[symbol.index()] += 1;
    }
    for (symbol, count) in module.symbols.iter().zip(defined) {
        let expected = u32::from(symbol.linkage != Linkage::Import);
        assert!(count == expected, "{} is defined {count} times, not {expected}", symbol.name);
    }
    for &constructor in &module.constructors {
        let symbol = &module.symbols[constructor.index()];
        let runs = symbol.kind == SymbolKind::Function(Signature::new(&[], None));
        let imported = symbol.linkage == Linkage::Import;
        assert!(runs && !imported, "{} cannot be a constructor", symbol.name);
    }
    for data in &module.data {
        let name = module.name(data.symbol);
        assert!(data.align.is_power_of_two(), "{name} has alignment {}", data.align);
        assert!(!(data.large && data.writable), "{name} is no constant, and large");
    }
    for function in &module.functions {
        Verifier { module, function, dominators: order::dominators(function) }.function();
    }
}

struct Verifier<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Immediate dominator of each block; the entry's is itself.
    dominators: Vec<usize>,
}

impl Verifier<'_> {
    fn function(&self) {
        let symbol = &self.module.symbols[self.function.symbol.index()];
        let signature = SymbolKind::Function(self.function.signature.clone());
        self.check(symbol.kind == signature, || "signature differs from its symbol's".into());
        let entry = &self.function.blocks[0];
        let types: Vec<Type> = entry.params.iter().map(|&p| self.function.ty(p)).collect();
        let declared: Vec<Type> = self.function.signature.params.iter().map(|p| p.ty).collect();
        self.check(types == declared, || "entry parameters differ from the signature".into());
        let ordered = order::reverse_postorder(&self.function.blocks)
            .into_iter()
            .eq(0..self.function.blocks.len());
        self.check(ordered, || "blocks are not in reverse postorder, or unreachable".into());
        let place = self.places();
        for (block, data) in self.function.blocks() {
            for (at, (result, inst)) in data.insts.iter().enumerate() {
                let slot = matches!(inst, Inst::StackSlot { .. });
                self.check(!slot || block.index() == 0, || "stack slot outside the entry".into());
                for value in operands(inst) {
                    self.use_of(value, (block.index(), at + 1), &place);
                }
                let ty = self.result_type(inst);
                let found = result.map(|value| self.function.ty(value));
                self.check(ty == found, || format!("{inst:?} yields {ty:?}, not {found:?}"));
            }
            self.end(data.end.as_ref(), (block.index(), data.insts.len() + 1), &place);
        }
    }

    /// Where each value is defined: block, and position within it (0 for parameters).
    fn places(&self) -> Vec<Option<(usize, usize)>> {
        let mut place = vec![None; self.function.values.len()];
        let mut define = |value: Value, at| {
            let before = place[value.index()].replace(at);
            self.check(before.is_none(), || format!("{value} defined twice"));
        };
        for (block, data) in self.function.blocks() {
            data.params.iter().for_each(|&param| define(param, (block.index(), 0)));
            for (at, (result, _)) in data.insts.iter().enumerate() {
                result.iter().for_each(|&value| define(value, (block.index(), at + 1)));
            }
        }
        place
    }

    fn use_of(&self, value: Value, at: (usize, usize), place: &[Option<(usize, usize)>]) {
        let Some((block, position)) = place[value.index()] else {
            return self.fail(format!("{value} is used but never defined"));
        };
        let mut from = at.0;
        while from > block {
            from = self.dominators[from];
        }
        let dominated = from == block && (block != at.0 || position < at.1);
        self.check(dominated, || format!("{value} does not dominate its use"));
    }

    fn end(&self, end: Option<&Terminator>, at: (usize, usize), place: &[Option<(usize, usize)>]) {
        let Some(end) = end else {
            return self.fail("a block has no terminator".into());
        };
        match end {
            Terminator::Jump(_) => {}
            Terminator::Branch { cond, .. } => {
                self.use_of(*cond, at, place);
                self.typed(*cond, Type::Bool);
            }
            Terminator::Return(value) => {
                value.iter().for_each(|&value| self.use_of(value, at, place));
                let (found, declared) =
                    (value.map(|v| self.function.ty(v)), self.function.signature.result);
                self.check(found == declared.map(|abi| abi.ty), || "wrong type returned".into());
            }
        }
        for Target { block, args } in end.targets() {
            args.iter().for_each(|&arg| self.use_of(arg, at, place));
            let types = |values: &[Value]| values.iter().map(|&v| self.function.ty(v)).collect();
            let (found, wanted): (Vec<Type>, Vec<Type>) =
                (types(args), types(&self.function.blocks[block.index()].params));
            self.check(found == wanted, || format!("{block} takes {wanted:?}, not {found:?}"));
            self.check(block.index() != 0, || "jump to the entry".into());
        }
    }

    fn result_type(&self, inst: &Inst) -> Option<Type> {
        let ty = |value: &Value| self.function.ty(*value);
        match inst {
            Inst::Const { ty, .. } => Some(*ty),
            Inst::Address { .. } => Some(Type::Ptr),
            Inst::StackSlot { align, .. } => {
                self.check(align.is_power_of_two() && *align <= 16, || "bad alignment".into());
                Some(Type::Ptr)
            }
            Inst::Load { ty, base, align, .. } => {
                self.memory(*ty, *base, *align);
                Some(*ty)
            }
            Inst::Store { value, base, align, .. } => {
                self.memory(ty(value), *base, *align);
                None
            }
            Inst::PtrAdd { base, offset } => {
                self.typed(*base, Type::Ptr);
                self.typed(*offset, Type::I64);
                Some(Type::Ptr)
            }
            Inst::Binary { op, lhs, rhs } => {
                self.typed(*rhs, ty(lhs));
                self.check(binary_takes(*op, ty(lhs)), || format!("{op:?} of {}", ty(lhs)));
                Some(ty(lhs))
            }
            Inst::Compare { cond, lhs, rhs } => {
                self.typed(*rhs, ty(lhs));
                self.check(cond_takes(*cond, ty(lhs)), || format!("{cond:?} of {}", ty(lhs)));
                Some(Type::Bool)
            }
            Inst::Select { cond, then, otherwise } => {
                self.typed(*cond, Type::Bool);
                self.typed(*otherwise, ty(then));
                Some(ty(then))
            }
            Inst::Convert { op, value, to } => {
                let legal = convert_takes(*op, ty(value), *to);
                self.check(legal, || format!("{op:?} from {} to {to}", ty(value)));
                Some(*to)
            }
            Inst::Call { callee, args } => self.call(self.callee(*callee), args),
            Inst::CallIndirect { signature, callee, args } => {
                self.typed(*callee, Type::Ptr);
                self.call(signature, args)
            }
        }
    }

    fn callee(&self, callee: Symbol) -> &Signature {
        match self.module.signature(callee) {
            Some(signature) => signature,
            None => self.fail(format!("call of data {}", self.module.name(callee))),
        }
    }

    fn call(&self, signature: &Signature, args: &[Value]) -> Option<Type> {
        let found: Vec<Type> = args.iter().map(|&arg| self.function.ty(arg)).collect();
        let wanted: Vec<Type> = signature.params.iter().map(|param| param.ty).collect();
        self.check(found == wanted, || format!("call of {signature} with {found:?}"));
        signature.result.map(|abi| abi.ty)
    }

    fn memory(&self, ty: Type, base: Value, align: u32) {
        self.typed(base, Type::Ptr);
        self.check(ty != Type::Bool && align.is_power_of_two(), || "bad memory access".into());
    }

    fn typed(&self, value: Value, ty: Type) {
        let found = self.function.ty(value);
        self.check(found == ty, || format!("{value} is {found}, not {ty}"));
    }

    fn check(&self, ok: bool, reason: impl FnOnce() -> String) {
        if !ok {
            self.fail(reason())
        }
    }

    fn fail<T>(&self, reason: String) -> T {
        struct Text<'a>(&'a Module, &'a Function);
        impl fmt::Display for Text<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                super::print::print_function(f, self.0, self.1)
            }
        }
        panic!("malformed host IR: {reason}\n{}", Text(self.module, self.function))
    }
}

/// The values that an instruction reads.
fn operands(inst: &Inst) -> Vec<Value> {
    match inst {
        Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. } => Vec::new(),
        Inst::Load { base, .. } => vec![*base],
        Inst::Store { value, base, .. } => vec![*value, *base],
        Inst::PtrAdd { base, offset } => vec![*base, *offset],
        Inst::Binary { lhs, rhs, .. } | Inst::Compare { lhs, rhs, .. } => vec![*lhs, *rhs],
        Inst::Select { cond, then, otherwise } => vec![*cond, *then, *otherwise],
        Inst::Convert { value, .. } => vec![*value],
        Inst::Call { args, .. } => args.clone(),
        Inst::CallIndirect { callee, args, .. } => args.iter().copied().chain([*callee]).collect(),
    }
}

fn binary_takes(op: Binary, ty: Type) -> bool {
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Shl | Binary::Lshr | Binary::Ashr => {
            ty.is_int()
        }
        Binary::Sdiv | Binary::Srem | Binary::Udiv | Binary::Urem => ty.is_int(),
        Binary::And | Binary::Or | Binary::Xor => ty.is_int() || ty == Type::Bool,
        Binary::Fadd | Binary::Fsub | Binary::Fmul | Binary::Fdiv => ty.is_float(),
    }
}

fn cond_takes(cond: Cond, ty: Type) -> bool {
    match cond {
        Cond::Eq | Cond::Ne | Cond::Ult | Cond::Ule | Cond::Ugt | Cond::Uge => {
            ty.is_int() || ty == Type::Ptr
        }
        Cond::Slt | Cond::Sle | Cond::Sgt | Cond::Sge => ty.is_int(),
        Cond::Feq | Cond::Fne | Cond::Flt | Cond::Fle | Cond::Fgt | Cond::Fge => ty.is_float(),
    }
}

fn convert_takes(op: Convert, from: Type, to: Type) -> bool {
    match op {
        Convert::Zext => {
            (from == Type::Bool && to.is_int())
                || (from.is_int() && to.is_int() && from.bytes() < to.bytes())
        }
        Convert::Sext => from.is_int() && to.is_int() && from.bytes() < to.bytes(),
        Convert::Trunc => from.is_int() && to.is_int() && from.bytes() > to.bytes(),
        Convert::SintToFloat | Convert::UintToFloat => from.is_int() && to.is_float(),
        Convert::Promote => from == Type::F32 && to == Type::F64,
        Convert::Demote => from == Type::F64 && to == Type::F32,
        Convert::Bitcast => {
            from.bytes() == to.bytes()
                && ((from.is_int() && to.is_float()) || (from.is_float() && to.is_int()))
        }
        Convert::PtrToInt => from == Type::Ptr && to == Type::I64,
        Convert::IntToPtr => from == Type::I64 && to == Type::Ptr,
    }
}
