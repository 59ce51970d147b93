//! The translation of each instruction of host IR to LLVM IR.

use codegen::backend::Error;
use codegen::ir::{self, Binary, Checked, Cond, Convert, Type};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{BasicMetadataTypeEnum, FunctionType, IntType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode,
    InstructionValue, IntValue, PointerValue,
};
use inkwell::{AtomicOrdering, FloatPredicate, IntPredicate};

use crate::function::Body;
use crate::{raw, refused};

/// The result of emitting an instruction that has a result.
pub(crate) type Emitted<'ctx> = Result<BasicValueEnum<'ctx>, Error>;

/// The result of emitting an instruction that may have a result.
pub(crate) type EmittedOption<'ctx> = Result<Option<BasicValueEnum<'ctx>>, Error>;

impl<'ctx> Body<'_, '_, 'ctx> {
    /// Writes a constant. Floats are cast from their bits, so that no NaN changes.
    pub(crate) fn constant(&self, of: Type, bits: u64) -> Emitted<'ctx> {
        let context = self.functions.types.context;
        let float = |bits: IntValue<'ctx>| {
            self.ins()
                .build_cast(InstructionOpcode::BitCast, bits, self.functions.types.ty(of), "")
                .map_err(refused)
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
                address.const_to_pointer(self.functions.types.ty(of).into_pointer_type()).into()
            }
        })
    }

    pub(crate) fn address(&self, symbol: ir::Symbol, offset: i32) -> PointerValue<'ctx> {
        let base = self.functions.symbols.references[symbol.index()];
        if offset == 0 {
            return base;
        }
        let context = self.functions.types.context;
        let offset = context.i64_type().const_int(i64::from(offset) as u64, true);
        raw::const_offset(context.i8_type(), base, offset)
    }

    pub(crate) fn stack_slot(&self, size: u32, align: u32) -> Emitted<'ctx> {
        let slot = self.functions.types.context.i8_type().array_type(size);
        let slot = self.ins().build_alloca(slot, self.name(self.result)).map_err(refused)?;
        Ok(aligned(slot, align)?.into())
    }

    pub(crate) fn load(&self, of: Type, base: ir::Value, offset: i32, align: u32) -> Emitted<'ctx> {
        let at = self.at(base, offset, self.result)?;
        let ty = self.functions.types.ty(of);
        let value = self.ins().build_load(ty, at, self.name(self.result)).map_err(refused)?;
        aligned(value, align)
    }

    pub(crate) fn store(
        &self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
        align: u32,
    ) -> EmittedOption<'ctx> {
        let at = self.at(base, offset, Some(value))?;
        let store = self.ins().build_store(at, self.value(value)).map_err(refused)?;
        store.set_alignment(align).map_err(refused)?;
        Ok(None)
    }

    pub(crate) fn atomic_load(&self, of: Type, base: ir::Value, offset: i32) -> Emitted<'ctx> {
        let value = self.load(of, base, offset, of.bytes())?;
        if let Some(load) = value.as_instruction_value() {
            load.set_atomic_ordering(AtomicOrdering::Acquire).map_err(refused)?;
        }
        Ok(value)
    }

    pub(crate) fn atomic_store(
        &self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
    ) -> EmittedOption<'ctx> {
        let at = self.at(base, offset, Some(value))?;
        let store = self.ins().build_store(at, self.value(value)).map_err(refused)?;
        store.set_alignment(self.source.ty(value).bytes()).map_err(refused)?;
        store.set_atomic_ordering(AtomicOrdering::Release).map_err(refused)?;
        Ok(None)
    }

    pub(crate) fn compare_exchange(
        &self,
        base: ir::Value,
        expected: ir::Value,
        new: ir::Value,
    ) -> Emitted<'ctx> {
        let (success, failure) = (AtomicOrdering::AcquireRelease, AtomicOrdering::Acquire);
        let [expected, new] = [expected, new].map(|value| self.value(value));
        let base = self.pointer(base);
        let both = self.ins().build_cmpxchg(base, expected, new, success, failure);
        let both = both.map_err(refused)?;
        self.ins().build_extract_value(both, 0, self.name(self.result)).map_err(refused)
    }

    pub(crate) fn ptr_add(&self, base: ir::Value, offset: ir::Value) -> Emitted<'ctx> {
        let (base, offset) = (self.pointer(base), self.int(offset));
        Ok(self.offset(base, offset, self.name(self.result))?.into())
    }

    pub(crate) fn binary(&self, op: Binary, lhs: ir::Value, rhs: ir::Value) -> Emitted<'ctx> {
        let (lhs, rhs) = (self.value(lhs), self.value(rhs));
        self.ins().build_binop(binary(op), lhs, rhs, self.name(self.result)).map_err(refused)
    }

    /// Writes checked arithmetic; keeps its flag.
    pub(crate) fn checked(&mut self, op: Checked, lhs: ir::Value, rhs: ir::Value) -> Emitted<'ctx> {
        let name = match op {
            Checked::CheckedAdd => "llvm.sadd.with.overflow",
            Checked::CheckedSub => "llvm.ssub.with.overflow",
            Checked::CheckedMul => "llvm.smul.with.overflow",
        };
        let (lhs, rhs) = (self.value(lhs), self.value(rhs));
        let both = self.intrinsic(name, &[lhs, rhs])?.into_struct_value();
        let result = self.ins().build_extract_value(both, 0, self.name(self.result));
        let result = result.map_err(refused)?;
        self.overflowed = Some(self.ins().build_extract_value(both, 1, "").map_err(refused)?);
        Ok(result)
    }

    pub(crate) fn compare(&self, cond: Cond, lhs: ir::Value, rhs: ir::Value) -> Emitted<'ctx> {
        match cond {
            Cond::Eq => self.compare_ints(IntPredicate::EQ, lhs, rhs),
            Cond::Ne => self.compare_ints(IntPredicate::NE, lhs, rhs),
            Cond::Slt => self.compare_ints(IntPredicate::SLT, lhs, rhs),
            Cond::Sle => self.compare_ints(IntPredicate::SLE, lhs, rhs),
            Cond::Sgt => self.compare_ints(IntPredicate::SGT, lhs, rhs),
            Cond::Sge => self.compare_ints(IntPredicate::SGE, lhs, rhs),
            Cond::Ult => self.compare_ints(IntPredicate::ULT, lhs, rhs),
            Cond::Ule => self.compare_ints(IntPredicate::ULE, lhs, rhs),
            Cond::Ugt => self.compare_ints(IntPredicate::UGT, lhs, rhs),
            Cond::Uge => self.compare_ints(IntPredicate::UGE, lhs, rhs),
            Cond::Feq => self.compare_floats(FloatPredicate::OEQ, lhs, rhs),
            Cond::Fne => self.compare_floats(FloatPredicate::UNE, lhs, rhs),
            Cond::Flt => self.compare_floats(FloatPredicate::OLT, lhs, rhs),
            Cond::Fle => self.compare_floats(FloatPredicate::OLE, lhs, rhs),
            Cond::Fgt => self.compare_floats(FloatPredicate::OGT, lhs, rhs),
            Cond::Fge => self.compare_floats(FloatPredicate::OGE, lhs, rhs),
        }
    }

    /// Compares integers or pointers.
    fn compare_ints(
        &self,
        predicate: IntPredicate,
        lhs: ir::Value,
        rhs: ir::Value,
    ) -> Emitted<'ctx> {
        let (lhs, rhs, name) = (self.value(lhs), self.value(rhs), self.name(self.result));
        let value = if lhs.is_pointer_value() {
            let (lhs, rhs) = (lhs.into_pointer_value(), rhs.into_pointer_value());
            self.ins().build_int_compare(predicate, lhs, rhs, name)
        } else {
            let (lhs, rhs) = (lhs.into_int_value(), rhs.into_int_value());
            self.ins().build_int_compare(predicate, lhs, rhs, name)
        };
        Ok(value.map_err(refused)?.into())
    }

    fn compare_floats(
        &self,
        predicate: FloatPredicate,
        lhs: ir::Value,
        rhs: ir::Value,
    ) -> Emitted<'ctx> {
        let (lhs, rhs) = (self.value(lhs).into_float_value(), self.value(rhs).into_float_value());
        let value = self.ins().build_float_compare(predicate, lhs, rhs, self.name(self.result));
        Ok(value.map_err(refused)?.into())
    }

    pub(crate) fn select(
        &self,
        cond: ir::Value,
        then: ir::Value,
        otherwise: ir::Value,
    ) -> Emitted<'ctx> {
        let (then, otherwise, name) =
            (self.value(then), self.value(otherwise), self.name(self.result));
        let cond = self.int(cond);
        let selected = self.ins().build_select(cond, then, otherwise, name).map_err(refused)?;
        let compares = |cond: InstructionValue<'_>| cond.get_opcode() == InstructionOpcode::FCmp;
        if selected.is_float_value() && cond.as_instruction_value().is_some_and(compares) {
            return self.fence(selected);
        }
        Ok(selected)
    }

    /// Hides the minimum or maximum of two floats from the optimizer, at no cost. LLVM 22 folds `max(c, max(x, c))` to
    /// `max(x, c)`, which differs if `x` is a NaN.
    fn fence(&self, value: BasicValueEnum<'ctx>) -> Emitted<'ctx> {
        self.intrinsic("llvm.arithmetic.fence", &[value])
    }

    /// Calls an intrinsic for the type of its operands.
    fn intrinsic(&self, name: &str, operands: &[BasicValueEnum<'ctx>]) -> Emitted<'ctx> {
        let function = Intrinsic::find(name).and_then(|intrinsic| {
            intrinsic.get_declaration(self.functions.module, &[operands[0].get_type()])
        });
        let function = function.ok_or_else(|| refused(format!("LLVM has no {name}")))?;
        let operands: Vec<BasicMetadataValueEnum<'ctx>> =
            operands.iter().map(|&operand| operand.into()).collect();
        let call = self.ins().build_call(function, &operands, "").map_err(refused)?;
        let result = call.try_as_basic_value().basic();
        result.ok_or_else(|| refused(format!("{name} has no result")))
    }

    pub(crate) fn convert(&self, op: Convert, value: ir::Value, to: Type) -> Emitted<'ctx> {
        let (value, to) = (self.value(value), self.functions.types.ty(to));
        self.ins().build_cast(convert(op), value, to, self.name(self.result)).map_err(refused)
    }

    pub(crate) fn call(&self, callee: ir::Symbol, args: &[ir::Value]) -> EmittedOption<'ctx> {
        let function = self.functions.symbols.natives[callee.index()].function;
        let (Some(function), Some(signature)) = (function, self.functions.source.signature(callee))
        else {
            return Err(refused("call of data"));
        };
        let (pointer, ty) = (self.address(callee, 0), function.get_type());
        self.call_to(&CallTarget { pointer, ty, signature, function: Some(function) }, args)
    }

    pub(crate) fn call_indirect(
        &self,
        signature: &ir::Signature,
        callee: ir::Value,
        args: &[ir::Value],
    ) -> EmittedOption<'ctx> {
        let (pointer, ty) = (self.pointer(callee), self.functions.types.signature(signature));
        self.call_to(&CallTarget { pointer, ty, signature, function: None }, args)
    }

    fn call_to(&self, callee: &CallTarget<'_, 'ctx>, args: &[ir::Value]) -> EmittedOption<'ctx> {
        let params = callee.ty.get_param_types();
        let args = args.iter().zip(params).map(|(&arg, param)| self.passed(arg, param));
        let args = args.collect::<Result<Vec<_>, Error>>()?;
        let name = self.name(self.result);
        let call = self.ins().build_indirect_call(callee.ty, callee.pointer, &args, name);
        let call = call.map_err(refused)?;
        self.functions.types.extend_call(call, callee.signature);
        if let Some(function) = callee.function {
            call.set_call_convention(function.get_call_conventions());
        }
        let result = call.try_as_basic_value().basic();
        match (result, callee.signature.result) {
            (Some(BasicValueEnum::IntValue(truth)), Some(abi)) if is_truth(truth.get_type()) => {
                let byte = self.functions.types.ty(abi.ty).into_int_type();
                Ok(Some(self.ins().build_int_z_extend(truth, byte, "").map_err(refused)?.into()))
            }
            (result, _) => Ok(result),
        }
    }

    /// Converts an argument to the type of the parameter: a byte that holds a truth value may be an `i1` there, and the
    /// bits of a 16-bit float are that float.
    fn passed(
        &self,
        arg: ir::Value,
        param: BasicMetadataTypeEnum<'ctx>,
    ) -> Result<BasicMetadataValueEnum<'ctx>, Error> {
        match (self.value(arg), param) {
            (BasicValueEnum::IntValue(value), BasicMetadataTypeEnum::IntType(truth))
                if is_truth(truth) && !is_truth(value.get_type()) =>
            {
                Ok(self.ins().build_int_truncate(value, truth, "").map_err(refused)?.into())
            }
            (BasicValueEnum::IntValue(bits), BasicMetadataTypeEnum::FloatType(half)) => {
                Ok(self.ins().build_bit_cast(bits, half, "").map_err(refused)?.into())
            }
            (value, _) => Ok(value.into()),
        }
    }

    /// Returns the address of an access, named after the value that is read or written.
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
        let long = self.functions.types.context.i64_type();
        let offset = long.const_int(i64::from(offset) as u64, true);
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
        let byte = self.functions.types.context.i8_type();
        raw::offset(self.ins(), byte, base, offset, name).map_err(refused)
    }
}

fn is_truth(ty: IntType<'_>) -> bool {
    ty.get_bit_width() == 1
}

/// The target of a call.
struct CallTarget<'a, 'ctx> {
    pointer: PointerValue<'ctx>,
    ty: FunctionType<'ctx>,
    signature: &'a ir::Signature,
    function: Option<FunctionValue<'ctx>>,
}

/// Sets the alignment of an instruction that accesses memory.
fn aligned<'ctx, V: BasicValue<'ctx>>(value: V, align: u32) -> Result<V, Error> {
    if let Some(inst) = value.as_instruction_value() {
        inst.set_alignment(align).map_err(refused)?;
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
