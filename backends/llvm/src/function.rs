//! Functions: the translation table from host IR to LLVM IR.
//!
//! Host IR is in static single assignment form with block parameters, LLVM IR with phis: a parameter of
//! a block becomes a phi, whose incoming values the terminators add. Constants are no instructions.

use codegen::ir::{self, Binary, Cond, Convert, Inst, Target, Terminator, Type};
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::module::{Linkage, Module};
use inkwell::types::FunctionType;
use inkwell::values::{
    BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode, IntValue, PhiValue, PointerValue,
};
use inkwell::{FloatPredicate, IntPredicate};

use crate::error::Error;
use crate::raw;
use crate::symbols::Symbols;
use crate::types::Types;

/// What functions refer to, and storage that is reused from one function to the next.
pub(crate) struct Functions<'a, 'ctx> {
    /// Where they go.
    module: &'a Module<'ctx>,
    types: &'a Types<'ctx>,
    /// The host IR's symbols, and who each of them is there.
    source: &'a ir::Module,
    symbols: &'a mut Symbols<'ctx>,
    builder: Builder<'ctx>,
    /// The values of the current function, by the number of the host IR value.
    values: Vec<BasicValueEnum<'ctx>>,
    /// Its blocks, by the number of the host IR block.
    blocks: Vec<Block<'ctx>>,
    /// The names of its values; empty if LLVM keeps none.
    names: Vec<String>,
}

/// A block and its parameters.
struct Block<'ctx> {
    block: BasicBlock<'ctx>,
    phis: Vec<PhiValue<'ctx>>,
    cold: bool,
}

impl<'a, 'ctx> Functions<'a, 'ctx> {
    pub(crate) fn new(
        module: &'a Module<'ctx>,
        types: &'a Types<'ctx>,
        source: &'a ir::Module,
        symbols: &'a mut Symbols<'ctx>,
    ) -> Self {
        Functions {
            module,
            types,
            source,
            symbols,
            builder: types.context.create_builder(),
            values: Vec::new(),
            blocks: Vec::new(),
            names: Vec::new(),
        }
    }
}

/// Translates one function. Blocks first, so that a branch can name any.
pub(crate) fn define(
    functions: &mut Functions<'_, '_>,
    source: &ir::Function,
) -> Result<(), Error> {
    if let Some(function) = functions.symbols.natives[source.symbol.index()].function {
        functions.start(function, source)?;
    }
    for (block, data) in source.blocks() {
        functions.builder.position_at_end(functions.blocks[block.index()].block);
        for (result, inst) in &data.insts {
            let value = functions.inst(*result, inst)?;
            if let (Some(result), Some(value)) = (result, value) {
                functions.values[result.index()] = value;
            }
        }
        if let Some(end) = &data.end {
            functions.terminator(block, end)?;
        }
    }
    Ok(())
}

/// What callers and the optimiser may assume of a function that has been defined.
pub(crate) fn describe<'ctx>(
    types: &Types<'ctx>,
    function: FunctionValue<'ctx>,
    source: &ir::Function,
    linkage: ir::Linkage,
) {
    let attributes = &types.attributes;
    types.extend(function, &source.signature);
    function.add_attribute(AttributeLoc::Function, attributes.nounwind);
    if source.cold {
        attributes.cold.iter().for_each(|&a| function.add_attribute(AttributeLoc::Function, a));
    }
    if source.no_inline {
        function.add_attribute(AttributeLoc::Function, attributes.noinline);
    }
    match linkage {
        ir::Linkage::Local => function.set_linkage(Linkage::Internal),
        ir::Linkage::Export | ir::Linkage::Import => function.set_linkage(Linkage::External),
    }
}

impl<'ctx> Functions<'_, 'ctx> {
    fn start(&mut self, function: FunctionValue<'ctx>, source: &ir::Function) -> Result<(), Error> {
        self.names.clear();
        if !raw::discards_names(self.types.context) {
            // With the NUL that would otherwise cost inkwell a copy.
            let terminated = |mut name: String| {
                name.push('\0');
                name
            };
            self.names.extend(source.value_names().into_iter().map(terminated));
        }
        self.values.clear();
        self.values.resize(source.values.len(), self.types.context.bool_type().const_zero().into());
        self.blocks.clear();
        for (block, data) in source.blocks() {
            let native = self.types.context.append_basic_block(function, data.label);
            let mut phis = Vec::new();
            for (i, &param) in data.params.iter().enumerate() {
                self.values[param.index()] = if block.index() == 0 {
                    self.param(function, i as u32, param)?
                } else {
                    self.builder.position_at_end(native);
                    let ty = self.types.ty(source.ty(param));
                    let phi = self.builder.build_phi(ty, self.name(Some(param)))?;
                    phis.push(phi);
                    phi.as_basic_value()
                };
            }
            self.blocks.push(Block { block: native, phis, cold: data.cold });
        }
        Ok(())
    }

    fn param(
        &self,
        function: FunctionValue<'ctx>,
        index: u32,
        param: ir::Value,
    ) -> Result<BasicValueEnum<'ctx>, Error> {
        let missing = || Error::Native { reason: "a parameter is missing".into() };
        let value = function.get_nth_param(index).ok_or_else(missing)?;
        value.set_name(self.name(Some(param)));
        Ok(value)
    }

    /// The instruction table.
    fn inst(
        &mut self,
        result: Option<ir::Value>,
        inst: &Inst,
    ) -> Result<Option<BasicValueEnum<'ctx>>, Error> {
        let name = self.name(result);
        Ok(Some(match inst {
            Inst::Const { ty, bits } => self.constant(*ty, *bits)?,
            Inst::Address { symbol } => self.reference(*symbol).into(),
            Inst::StackSlot { size, align } => {
                let slot = self.types.context.i8_type().array_type(*size);
                let slot = self.builder.build_alloca(slot, name)?;
                aligned(slot, *align)?.into()
            }
            Inst::Load { ty, base, offset, align } => {
                let at = self.at(*base, *offset, result)?;
                aligned(self.builder.build_load(self.types.ty(*ty), at, name)?, *align)?
            }
            Inst::Store { value, base, offset, align } => {
                let at = self.at(*base, *offset, Some(*value))?;
                self.builder.build_store(at, self.value(*value))?.set_alignment(*align)?;
                return Ok(None);
            }
            Inst::PtrAdd { base, offset } => {
                let (base, offset) = (self.pointer(*base), self.int(*offset));
                self.offset(base, offset, name)?.into()
            }
            Inst::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.value(*lhs), self.value(*rhs));
                self.builder.build_binop(binary(*op), lhs, rhs, name)?
            }
            Inst::Compare { cond, lhs, rhs } => self.compare(*cond, *lhs, *rhs, name)?.into(),
            Inst::Select { cond, then, otherwise } => {
                let (then, otherwise) = (self.value(*then), self.value(*otherwise));
                self.builder.build_select(self.int(*cond), then, otherwise, name)?
            }
            Inst::Convert { op, value, to } => {
                let (value, to) = (self.value(*value), self.types.ty(*to));
                self.builder.build_cast(convert(*op), value, to, name)?
            }
            Inst::Call { callee, args } => return self.call(result, *callee, args),
            Inst::CallIndirect { signature, callee, args } => {
                let callee = Callee {
                    pointer: self.pointer(*callee),
                    ty: self.types.signature(signature),
                    signature,
                    function: None,
                };
                return self.call_to(result, &callee, args);
            }
        }))
    }

    /// How a block ends.
    fn terminator(&self, from: ir::Block, end: &Terminator) -> Result<(), Error> {
        match end {
            Terminator::Jump(target) => {
                self.edge(from, target);
                self.builder.build_unconditional_branch(self.block(target))?;
            }
            Terminator::Branch { cond, then, otherwise } if then.block == otherwise.block => {
                self.select_and_jump(from, *cond, then, otherwise)?;
            }
            Terminator::Branch { cond, then, otherwise } => {
                self.edge(from, then);
                self.edge(from, otherwise);
                let (yes, no) = (self.block(then), self.block(otherwise));
                let branch = self.builder.build_conditional_branch(self.int(*cond), yes, no)?;
                let cold = |target: &Target| self.blocks[target.block.index()].cold;
                if let Some((kind, weights)) = self.types.weights(cold(then), cold(otherwise)) {
                    branch.set_metadata(weights, kind)?;
                }
            }
            Terminator::Return(value) => {
                let value = value.map(|value| self.value(value));
                self.builder.build_return(value.as_ref().map(|value| value as _))?;
            }
        }
        Ok(())
    }

    /// Both edges go to one block, of which a phi knows one incoming value only.
    fn select_and_jump(
        &self,
        from: ir::Block,
        cond: ir::Value,
        then: &Target,
        otherwise: &Target,
    ) -> Result<(), Error> {
        let target = &self.blocks[then.block.index()];
        for ((phi, &then), &otherwise) in target.phis.iter().zip(&then.args).zip(&otherwise.args) {
            let (then, otherwise) = (self.value(then), self.value(otherwise));
            let value = self.builder.build_select(self.int(cond), then, otherwise, "")?;
            phi.add_incoming(&[(&value, self.blocks[from.index()].block)]);
        }
        self.builder.build_unconditional_branch(target.block)?;
        Ok(())
    }

    fn compare(
        &self,
        cond: Cond,
        lhs: ir::Value,
        rhs: ir::Value,
        name: &str,
    ) -> Result<IntValue<'ctx>, Error> {
        match cond {
            Cond::Eq => self.compare_ints(IntPredicate::EQ, lhs, rhs, name),
            Cond::Ne => self.compare_ints(IntPredicate::NE, lhs, rhs, name),
            Cond::Slt => self.compare_ints(IntPredicate::SLT, lhs, rhs, name),
            Cond::Sle => self.compare_ints(IntPredicate::SLE, lhs, rhs, name),
            Cond::Sgt => self.compare_ints(IntPredicate::SGT, lhs, rhs, name),
            Cond::Sge => self.compare_ints(IntPredicate::SGE, lhs, rhs, name),
            Cond::Ult => self.compare_ints(IntPredicate::ULT, lhs, rhs, name),
            Cond::Ule => self.compare_ints(IntPredicate::ULE, lhs, rhs, name),
            Cond::Ugt => self.compare_ints(IntPredicate::UGT, lhs, rhs, name),
            Cond::Uge => self.compare_ints(IntPredicate::UGE, lhs, rhs, name),
            Cond::Feq => self.compare_floats(FloatPredicate::OEQ, lhs, rhs, name),
            Cond::Fne => self.compare_floats(FloatPredicate::UNE, lhs, rhs, name),
            Cond::Flt => self.compare_floats(FloatPredicate::OLT, lhs, rhs, name),
            Cond::Fle => self.compare_floats(FloatPredicate::OLE, lhs, rhs, name),
            Cond::Fgt => self.compare_floats(FloatPredicate::OGT, lhs, rhs, name),
            Cond::Fge => self.compare_floats(FloatPredicate::OGE, lhs, rhs, name),
        }
    }

    /// Pointers compare like integers.
    fn compare_ints(
        &self,
        predicate: IntPredicate,
        lhs: ir::Value,
        rhs: ir::Value,
        name: &str,
    ) -> Result<IntValue<'ctx>, Error> {
        let (lhs, rhs) = (self.value(lhs), self.value(rhs));
        if lhs.is_pointer_value() {
            let (lhs, rhs) = (lhs.into_pointer_value(), rhs.into_pointer_value());
            return Ok(self.builder.build_int_compare(predicate, lhs, rhs, name)?);
        }
        let (lhs, rhs) = (lhs.into_int_value(), rhs.into_int_value());
        Ok(self.builder.build_int_compare(predicate, lhs, rhs, name)?)
    }

    fn compare_floats(
        &self,
        predicate: FloatPredicate,
        lhs: ir::Value,
        rhs: ir::Value,
        name: &str,
    ) -> Result<IntValue<'ctx>, Error> {
        let (lhs, rhs) = (self.value(lhs).into_float_value(), self.value(rhs).into_float_value());
        Ok(self.builder.build_float_compare(predicate, lhs, rhs, name)?)
    }

    /// Floats by their bits, so that no NaN changes.
    fn constant(&self, of: Type, bits: u64) -> Result<BasicValueEnum<'ctx>, Error> {
        let context = self.types.context;
        let float = |bits: IntValue<'ctx>| {
            self.builder.build_cast(InstructionOpcode::BitCast, bits, self.types.ty(of), "")
        };
        Ok(match of {
            Type::Bool => context.bool_type().const_int(u64::from(bits != 0), false).into(),
            Type::I8 => context.i8_type().const_int(u64::from(bits as u8), false).into(),
            Type::I16 => context.i16_type().const_int(u64::from(bits as u16), false).into(),
            Type::I32 => context.i32_type().const_int(u64::from(bits as u32), false).into(),
            Type::I64 => context.i64_type().const_int(bits, false).into(),
            Type::F32 => float(context.i32_type().const_int(u64::from(bits as u32), false))?,
            Type::F64 => float(context.i64_type().const_int(bits, false))?,
            Type::Ptr => {
                let address = context.i64_type().const_int(bits, false);
                address.const_to_pointer(self.types.ty(of).into_pointer_type()).into()
            }
        })
    }

    fn call(
        &mut self,
        result: Option<ir::Value>,
        symbol: ir::Symbol,
        args: &[ir::Value],
    ) -> Result<Option<BasicValueEnum<'ctx>>, Error> {
        let function = self.symbols.natives[symbol.index()].function;
        let (Some(function), Some(signature)) = (function, self.source.signature(symbol)) else {
            return Err(Error::Native { reason: "call of data".into() });
        };
        let (pointer, ty) = (self.reference(symbol), function.get_type());
        self.call_to(result, &Callee { pointer, ty, signature, function: Some(function) }, args)
    }

    fn call_to(
        &mut self,
        result: Option<ir::Value>,
        callee: &Callee<'_, 'ctx>,
        args: &[ir::Value],
    ) -> Result<Option<BasicValueEnum<'ctx>>, Error> {
        let args: Vec<_> = args.iter().map(|&arg| self.value(arg).into()).collect();
        let name = self.name(result);
        let call = self.builder.build_indirect_call(callee.ty, callee.pointer, &args, name)?;
        self.types.extend_call(call, callee.signature, callee.function);
        if let Some(function) = callee.function {
            call.set_call_convention(function.get_call_conventions());
        }
        Ok(call.try_as_basic_value().basic())
    }

    /// Hands the arguments of an edge to the phis of its target.
    fn edge(&self, from: ir::Block, target: &Target) {
        let from = self.blocks[from.index()].block;
        for (phi, &arg) in self.blocks[target.block.index()].phis.iter().zip(&target.args) {
            phi.add_incoming(&[(&self.value(arg), from)]);
        }
    }

    fn block(&self, target: &Target) -> BasicBlock<'ctx> {
        self.blocks[target.block.index()].block
    }

    fn value(&self, value: ir::Value) -> BasicValueEnum<'ctx> {
        self.values[value.index()]
    }

    fn int(&self, value: ir::Value) -> IntValue<'ctx> {
        self.value(value).into_int_value()
    }

    fn pointer(&self, value: ir::Value) -> PointerValue<'ctx> {
        self.value(value).into_pointer_value()
    }

    /// The name of a value, or none.
    fn name(&self, value: Option<ir::Value>) -> &str {
        value.and_then(|value| self.names.get(value.index())).map_or("", String::as_str)
    }

    fn reference(&mut self, symbol: ir::Symbol) -> PointerValue<'ctx> {
        let data = &self.source.symbols[symbol.index()];
        self.symbols.reference(self.module, self.types, data, symbol)
    }

    /// The address of an access, named after the value that is read or written.
    fn at(
        &self,
        base: ir::Value,
        offset: i32,
        accessed: Option<ir::Value>,
    ) -> Result<PointerValue<'ctx>, Error> {
        let base = self.pointer(base);
        if offset == 0 {
            return Ok(base);
        }
        let offset = self.types.context.i64_type().const_int(i64::from(offset) as u64, true);
        let name = match self.name(accessed).strip_suffix('\0') {
            Some(name) => format!("{name}.at\0"),
            None => String::new(),
        };
        self.offset(base, offset, &name)
    }

    fn offset(
        &self,
        base: PointerValue<'ctx>,
        offset: IntValue<'ctx>,
        name: &str,
    ) -> Result<PointerValue<'ctx>, Error> {
        let byte = self.types.context.i8_type();
        Ok(raw::offset(&self.builder, byte, base, offset, name)?)
    }
}

/// What is called, and how.
struct Callee<'a, 'ctx> {
    pointer: PointerValue<'ctx>,
    ty: FunctionType<'ctx>,
    signature: &'a ir::Signature,
    function: Option<FunctionValue<'ctx>>,
}

/// States the alignment of an instruction that accesses memory.
fn aligned<'ctx, V: BasicValue<'ctx>>(value: V, align: u32) -> Result<V, Error> {
    if let Some(inst) = value.as_instruction_value() {
        inst.set_alignment(align)?;
    }
    Ok(value)
}

fn binary(op: Binary) -> InstructionOpcode {
    match op {
        Binary::Add => InstructionOpcode::Add,
        Binary::Sub => InstructionOpcode::Sub,
        Binary::Mul => InstructionOpcode::Mul,
        Binary::Sdiv => InstructionOpcode::SDiv,
        Binary::Srem => InstructionOpcode::SRem,
        Binary::Udiv => InstructionOpcode::UDiv,
        Binary::Urem => InstructionOpcode::URem,
        Binary::And => InstructionOpcode::And,
        Binary::Or => InstructionOpcode::Or,
        Binary::Xor => InstructionOpcode::Xor,
        Binary::Shl => InstructionOpcode::Shl,
        Binary::Lshr => InstructionOpcode::LShr,
        Binary::Ashr => InstructionOpcode::AShr,
        Binary::Fadd => InstructionOpcode::FAdd,
        Binary::Fsub => InstructionOpcode::FSub,
        Binary::Fmul => InstructionOpcode::FMul,
        Binary::Fdiv => InstructionOpcode::FDiv,
    }
}

fn convert(op: Convert) -> InstructionOpcode {
    match op {
        Convert::Zext => InstructionOpcode::ZExt,
        Convert::Sext => InstructionOpcode::SExt,
        Convert::Trunc => InstructionOpcode::Trunc,
        Convert::SintToFloat => InstructionOpcode::SIToFP,
        Convert::UintToFloat => InstructionOpcode::UIToFP,
        Convert::Promote => InstructionOpcode::FPExt,
        Convert::Demote => InstructionOpcode::FPTrunc,
        Convert::Bitcast => InstructionOpcode::BitCast,
        Convert::PtrToInt => InstructionOpcode::PtrToInt,
        Convert::IntToPtr => InstructionOpcode::IntToPtr,
    }
}
