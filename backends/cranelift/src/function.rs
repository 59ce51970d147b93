//! Functions: the translation table from host IR to Cranelift IR.
//!
//! Host IR is in static single assignment form with block parameters, and so is Cranelift IR: a value
//! becomes a value, a block the block of the same number, written straight into the data flow graph.

use std::collections::BTreeMap;

use codegen::ir::{self, Binary, Cond, Convert, Inst, Target, Terminator, Type};
use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::packed_option::ReservedValue;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64, Imm64};
use cranelift_codegen::ir::{
    Block, BlockArg, FuncRef, Function, GlobalValue, InsertBuilder, InstBuilder, MemFlagsData,
    StackSlotData, StackSlotKind, UserFuncName, Value,
};
use cranelift_module::{FuncId, FuncOrDataId, Module};

use crate::error::Error;
use crate::symbols;
use crate::types::{self, ty};

/// What functions refer to, and storage that is reused from one function to the next.
pub(crate) struct Functions<'a> {
    /// Where they go.
    pub(crate) module: &'a mut dyn Module,
    /// Who each symbol of the host IR is there.
    pub(crate) symbols: &'a [FuncOrDataId],
    /// The last function that was translated.
    pub(crate) context: Context,
    /// Its values, by the number of the host IR value.
    pub(crate) values: Vec<Value>,
    /// The symbols it refers to: each is declared once.
    pub(crate) references: BTreeMap<ir::Symbol, Reference>,
}

/// A symbol as one function knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference {
    /// A function.
    Function(FuncRef),
    /// A data object.
    Data(GlobalValue),
}

impl<'a> Functions<'a> {
    pub(crate) fn new(module: &'a mut dyn Module, symbols: &'a [FuncOrDataId]) -> Self {
        let (context, values, references) = (Context::new(), Vec::new(), BTreeMap::new());
        Functions { module, symbols, context, values, references }
    }
}

/// Translates one function and compiles it into the module.
pub(crate) fn define(
    functions: &mut Functions<'_>,
    id: FuncId,
    source: &ir::Function,
) -> Result<(), Error> {
    translate(functions, id, source);
    functions.module.define_function(id, &mut functions.context).map_err(Error::from)
}

/// Translates one function; it stays in the context.
pub(crate) fn translate(functions: &mut Functions<'_>, id: FuncId, source: &ir::Function) {
    functions.context.clear();
    functions.values.clear();
    functions.values.resize(source.values.len(), Value::reserved_value());
    functions.references.clear();
    let func = &mut functions.context.func;
    func.name = UserFuncName::user(0, id.as_u32());
    func.signature = types::signature(functions.module.isa(), &source.signature);
    blocks(func, source, &mut functions.values);
    let mut body = Body {
        module: &*functions.module,
        symbols: functions.symbols,
        source,
        cursor: FuncCursor::new(func),
        values: &mut functions.values,
        references: &mut functions.references,
    };
    for (block, data) in source.blocks() {
        body.cursor.goto_bottom(Block::from_u32(block.index() as u32));
        for (result, inst) in &data.insts {
            let value = body.inst(inst);
            if let (Some(result), Some(value)) = (result, value) {
                body.values[result.index()] = value;
            }
        }
        data.end.iter().for_each(|end| body.terminator(end));
    }
}

/// Creates every block with its parameters, before a branch names it.
fn blocks(func: &mut Function, source: &ir::Function, values: &mut [Value]) {
    for data in &source.blocks {
        let block = func.dfg.make_block();
        func.layout.append_block(block);
        if data.cold {
            func.layout.set_cold(block);
        }
        for &param in &data.params {
            values[param.index()] = func.dfg.append_block_param(block, ty(source.ty(param)));
        }
    }
}

/// One function while its instructions are written.
struct Body<'a> {
    module: &'a dyn Module,
    symbols: &'a [FuncOrDataId],
    source: &'a ir::Function,
    cursor: FuncCursor<'a>,
    values: &'a mut [Value],
    references: &'a mut BTreeMap<ir::Symbol, Reference>,
}

impl<'a> Body<'a> {
    /// The instruction table.
    fn inst(&mut self, inst: &Inst) -> Option<Value> {
        Some(match inst {
            Inst::Const { ty, bits } => self.constant(*ty, *bits),
            Inst::Address { symbol } => self.address(*symbol),
            Inst::StackSlot { size, align } => self.stack_slot(*size, *align),
            Inst::Load { ty: of, base, offset, align } => {
                let (flags, base) = (memory(*of, *align), self.value(*base));
                self.ins().load(ty(*of), flags, base, *offset)
            }
            Inst::Store { value, base, offset, align } => {
                let flags = memory(self.source.ty(*value), *align);
                let (value, base) = (self.value(*value), self.value(*base));
                self.ins().store(flags, value, base, *offset);
                return None;
            }
            Inst::PtrAdd { base, offset } => {
                let (base, offset) = (self.value(*base), self.value(*offset));
                self.ins().iadd(base, offset)
            }
            Inst::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs),
            Inst::Compare { cond, lhs, rhs } => self.compare(*cond, *lhs, *rhs),
            Inst::Select { cond, then, otherwise } => {
                let [cond, then, otherwise] = [cond, then, otherwise].map(|v| self.value(*v));
                self.ins().select(cond, then, otherwise)
            }
            Inst::Convert { op, value, to } => self.convert(*op, *value, *to),
            Inst::Call { callee, args } => {
                let (callee, args) = (self.callee(*callee), self.list(args));
                let call = self.ins().call(callee, &args);
                return self.cursor.func.dfg.inst_results(call).first().copied();
            }
            Inst::CallIndirect { signature, callee, args } => {
                let signature = types::signature(self.module.isa(), signature);
                let signature = types::import(self.cursor.func, &signature);
                let (callee, args) = (self.value(*callee), self.list(args));
                let call = self.ins().call_indirect(signature, callee, &args);
                return self.cursor.func.dfg.inst_results(call).first().copied();
            }
        })
    }

    /// How a block ends.
    fn terminator(&mut self, end: &Terminator) {
        match end {
            Terminator::Jump(target) => {
                let (block, args) = self.target(target);
                self.ins().jump(block, &args);
            }
            Terminator::Branch { cond, then, otherwise } => {
                let cond = self.value(*cond);
                let (then, then_args) = self.target(then);
                let (otherwise, otherwise_args) = self.target(otherwise);
                self.ins().brif(cond, then, &then_args, otherwise, &otherwise_args);
            }
            Terminator::Return(value) => {
                let value = value.map(|value| self.value(value));
                self.ins().return_(value.as_slice());
            }
        }
    }

    fn binary(&mut self, op: Binary, lhs: ir::Value, rhs: ir::Value) -> Value {
        let (lhs, rhs) = (self.value(lhs), self.value(rhs));
        let ins = self.ins();
        match op {
            Binary::Add => ins.iadd(lhs, rhs),
            Binary::Sub => ins.isub(lhs, rhs),
            Binary::Mul => ins.imul(lhs, rhs),
            Binary::Sdiv => ins.sdiv(lhs, rhs),
            Binary::Srem => ins.srem(lhs, rhs),
            Binary::Udiv => ins.udiv(lhs, rhs),
            Binary::Urem => ins.urem(lhs, rhs),
            Binary::And => ins.band(lhs, rhs),
            Binary::Or => ins.bor(lhs, rhs),
            Binary::Xor => ins.bxor(lhs, rhs),
            Binary::Shl => ins.ishl(lhs, rhs),
            Binary::Lshr => ins.ushr(lhs, rhs),
            Binary::Ashr => ins.sshr(lhs, rhs),
            Binary::Fadd => ins.fadd(lhs, rhs),
            Binary::Fsub => ins.fsub(lhs, rhs),
            Binary::Fmul => ins.fmul(lhs, rhs),
            Binary::Fdiv => ins.fdiv(lhs, rhs),
        }
    }

    fn compare(&mut self, cond: Cond, lhs: ir::Value, rhs: ir::Value) -> Value {
        let (lhs, rhs) = (self.value(lhs), self.value(rhs));
        let ins = self.ins();
        match cond {
            Cond::Eq => ins.icmp(IntCC::Equal, lhs, rhs),
            Cond::Ne => ins.icmp(IntCC::NotEqual, lhs, rhs),
            Cond::Slt => ins.icmp(IntCC::SignedLessThan, lhs, rhs),
            Cond::Sle => ins.icmp(IntCC::SignedLessThanOrEqual, lhs, rhs),
            Cond::Sgt => ins.icmp(IntCC::SignedGreaterThan, lhs, rhs),
            Cond::Sge => ins.icmp(IntCC::SignedGreaterThanOrEqual, lhs, rhs),
            Cond::Ult => ins.icmp(IntCC::UnsignedLessThan, lhs, rhs),
            Cond::Ule => ins.icmp(IntCC::UnsignedLessThanOrEqual, lhs, rhs),
            Cond::Ugt => ins.icmp(IntCC::UnsignedGreaterThan, lhs, rhs),
            Cond::Uge => ins.icmp(IntCC::UnsignedGreaterThanOrEqual, lhs, rhs),
            Cond::Feq => ins.fcmp(FloatCC::Equal, lhs, rhs),
            Cond::Fne => ins.fcmp(FloatCC::NotEqual, lhs, rhs),
            Cond::Flt => ins.fcmp(FloatCC::LessThan, lhs, rhs),
            Cond::Fle => ins.fcmp(FloatCC::LessThanOrEqual, lhs, rhs),
            Cond::Fgt => ins.fcmp(FloatCC::GreaterThan, lhs, rhs),
            Cond::Fge => ins.fcmp(FloatCC::GreaterThanOrEqual, lhs, rhs),
        }
    }

    /// Pointers are `i64` already, so that to change between the two takes no instruction.
    fn convert(&mut self, op: Convert, value: ir::Value, to: Type) -> Value {
        let (value, to) = (self.value(value), ty(to));
        let ins = self.ins();
        match op {
            // The only integer of this width that widens is a `Bool`, which is one already.
            Convert::Zext if to == types::BOOL => value,
            Convert::Zext => ins.uextend(to, value),
            Convert::Sext => ins.sextend(to, value),
            Convert::Trunc => ins.ireduce(to, value),
            Convert::SintToFloat => ins.fcvt_from_sint(to, value),
            Convert::UintToFloat => ins.fcvt_from_uint(to, value),
            Convert::Promote => ins.fpromote(to, value),
            Convert::Demote => ins.fdemote(to, value),
            Convert::Bitcast => ins.bitcast(to, MemFlagsData::new(), value),
            Convert::PtrToInt | Convert::IntToPtr => value,
        }
    }

    /// Cranelift wants narrow integers zero-extended.
    fn constant(&mut self, of: Type, bits: u64) -> Value {
        let ins = self.ins();
        let integer = |bits: u64| Imm64::new(bits as i64);
        match of {
            Type::Bool => ins.iconst(ty(of), integer(u64::from(bits != 0))),
            Type::I8 => ins.iconst(ty(of), integer(u64::from(bits as u8))),
            Type::I16 => ins.iconst(ty(of), integer(u64::from(bits as u16))),
            Type::I32 => ins.iconst(ty(of), integer(u64::from(bits as u32))),
            Type::I64 | Type::Ptr => ins.iconst(ty(of), integer(bits)),
            Type::F32 => ins.f32const(Ieee32::with_bits(bits as u32)),
            Type::F64 => ins.f64const(Ieee64::with_bits(bits)),
        }
    }

    fn stack_slot(&mut self, size: u32, align: u32) -> Value {
        let shift = align.trailing_zeros() as u8;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, shift);
        let slot = self.cursor.func.create_sized_stack_slot(data);
        self.ins().stack_addr(types::POINTER, slot, 0)
    }

    fn address(&mut self, symbol: ir::Symbol) -> Value {
        match self.reference(symbol) {
            Reference::Function(function) => self.ins().func_addr(types::POINTER, function),
            Reference::Data(data) => self.ins().symbol_value(types::POINTER, data),
        }
    }

    fn callee(&mut self, symbol: ir::Symbol) -> FuncRef {
        match self.reference(symbol) {
            Reference::Function(function) => function,
            Reference::Data(_) => unreachable!("verified host IR calls functions only"),
        }
    }

    fn reference(&mut self, symbol: ir::Symbol) -> Reference {
        let (module, func) = (self.module, &mut *self.cursor.func);
        let id = self.symbols[symbol.index()];
        *self.references.entry(symbol).or_insert_with(|| symbols::refer(module, id, func))
    }

    fn ins(&mut self) -> InsertBuilder<'_, &mut FuncCursor<'a>> {
        self.cursor.ins()
    }

    fn value(&self, value: ir::Value) -> Value {
        self.values[value.index()]
    }

    fn list(&self, values: &[ir::Value]) -> Vec<Value> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    fn target(&self, target: &Target) -> (Block, Vec<BlockArg>) {
        let args = target.args.iter().map(|&arg| self.value(arg).into());
        (Block::from_u32(target.block.index() as u32), args.collect())
    }
}

/// An access that does not trap, and is aligned if the host IR says so.
fn memory(ty: Type, align: u32) -> MemFlagsData {
    if align >= ty.bytes() { MemFlagsData::trusted() } else { MemFlagsData::new().with_notrap() }
}
