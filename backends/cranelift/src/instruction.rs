//! The translation of each instruction of host IR to Cranelift IR.

use codegen::backend::Machine;
use codegen::ir::{self, Binary, Checked, Cond, Convert, Type};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64, Imm64};
use cranelift_codegen::ir::{
    FuncRef, Inst, InstBuilder, MemFlagsData, SigRef, StackSlotData, StackSlotKind, Value,
};

use crate::function::Body;
use crate::symbols::{self, Reference};
use crate::types::{self, ty};

impl Body<'_> {
    /// Writes a constant. Cranelift expects narrow integers to be zero-extended.
    pub(crate) fn constant(&mut self, of: Type, bits: u64) -> Value {
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

    pub(crate) fn address(&mut self, symbol: ir::Symbol, offset: i32) -> Value {
        match self.reference(symbol) {
            Reference::Function(called) => {
                let id = self.symbols[symbol.index()];
                let function = symbols::addressed(self.module, id, self.cursor.func, called);
                self.ins().func_addr(types::POINTER, function)
            }
            Reference::Data(data) => {
                let data = symbols::within(self.cursor.func, data, offset);
                self.ins().symbol_value(types::POINTER, data)
            }
        }
    }

    pub(crate) fn stack_slot(&mut self, size: u32, align: u32) -> Value {
        let shift = align.trailing_zeros() as u8;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, shift);
        let slot = self.cursor.func.create_sized_stack_slot(data);
        self.ins().stack_addr(types::POINTER, slot, 0)
    }

    pub(crate) fn load(&mut self, of: Type, base: ir::Value, offset: i32, align: u32) -> Value {
        let base = self.value(base);
        self.ins().load(ty(of), memory(of, align), base, offset)
    }

    pub(crate) fn store(
        &mut self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
        align: u32,
    ) -> Option<Value> {
        let flags = memory(self.source.ty(value), align);
        let (value, base) = (self.value(value), self.value(base));
        self.ins().store(flags, value, base, offset);
        None
    }

    pub(crate) fn atomic_load(&mut self, of: Type, base: ir::Value, offset: i32) -> Value {
        let at = self.at(base, offset);
        self.ins().atomic_load(ty(of), memory(of, of.bytes()), at)
    }

    /// Writes a store with release ordering. Cranelift's own atomic store is sequentially consistent, which takes a
    /// fence of tens of cycles where any store releases; its passes keep the order of stores.
    pub(crate) fn atomic_store(
        &mut self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
    ) -> Option<Value> {
        let of = self.source.ty(value);
        if self.machine().is_some_and(|machine| machine.facts().ordered) {
            return self.store(value, base, offset, of.bytes());
        }
        let (at, value) = (self.at(base, offset), self.value(value));
        self.ins().atomic_store(memory(of, of.bytes()), value, at);
        None
    }

    pub(crate) fn compare_exchange(
        &mut self,
        base: ir::Value,
        expected: ir::Value,
        new: ir::Value,
    ) -> Value {
        let of = self.source.ty(expected);
        let [base, expected, new] = [base, expected, new].map(|value| self.value(value));
        self.ins().atomic_cas(memory(of, of.bytes()), base, expected, new)
    }

    pub(crate) fn ptr_add(&mut self, base: ir::Value, offset: ir::Value) -> Value {
        let (base, offset) = (self.value(base), self.value(offset));
        self.ins().iadd(base, offset)
    }

    pub(crate) fn binary(&mut self, op: Binary, lhs: ir::Value, rhs: ir::Value) -> Value {
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

    /// Writes checked arithmetic; keeps its flag. Cranelift 0.135 has instructions for it where machines have a flag.
    pub(crate) fn checked(&mut self, op: Checked, lhs: ir::Value, rhs: ir::Value) -> Value {
        let (lhs, rhs) = (self.value(lhs), self.value(rhs));
        let has_flag = self.machine().is_none_or(|machine| machine.facts().overflow_flag);
        let ins = self.ins();
        let (result, overflowed) = match op {
            Checked::CheckedAdd if !has_flag => {
                let sum = ins.iadd(lhs, rhs);
                (sum, self.leaves([lhs, sum], [rhs, sum]))
            }
            Checked::CheckedSub if !has_flag => {
                let difference = ins.isub(lhs, rhs);
                (difference, self.leaves([lhs, rhs], [lhs, difference]))
            }
            Checked::CheckedMul if !has_flag => {
                let product = ins.imul(lhs, rhs);
                let high = self.ins().smulhi(lhs, rhs);
                let sign = self.ins().sshr_imm_u(product, 63);
                (product, self.ins().icmp(IntCC::NotEqual, high, sign))
            }
            Checked::CheckedAdd => ins.sadd_overflow(lhs, rhs),
            Checked::CheckedSub => ins.ssub_overflow(lhs, rhs),
            Checked::CheckedMul => ins.smul_overflow(lhs, rhs),
        };
        self.overflowed = Some(overflowed);
        result
    }

    /// Returns the machine that the code is for.
    fn machine(&self) -> Option<Machine> {
        Machine::of_architecture(self.module.isa().triple().architecture)
    }

    /// Returns true if the numbers of both pairs differ in their signs.
    fn leaves(&mut self, first: [Value; 2], second: [Value; 2]) -> Value {
        let first = self.ins().bxor(first[0], first[1]);
        let second = self.ins().bxor(second[0], second[1]);
        let both = self.ins().band(first, second);
        self.ins().icmp_imm_s(IntCC::SignedLessThan, both, 0)
    }

    pub(crate) fn compare(&mut self, cond: Cond, lhs: ir::Value, rhs: ir::Value) -> Value {
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

    pub(crate) fn select(
        &mut self,
        cond: ir::Value,
        then: ir::Value,
        otherwise: ir::Value,
    ) -> Value {
        let [cond, then, otherwise] = [cond, then, otherwise].map(|value| self.value(value));
        self.ins().select(cond, then, otherwise)
    }

    /// Writes a conversion. Pointers are `i64` already, so that no instruction converts them.
    pub(crate) fn convert(&mut self, op: Convert, value: ir::Value, to: Type) -> Value {
        let (value, to) = (self.value(value), ty(to));
        let ins = self.ins();
        match op {
            // The operand is a `Bool`, the only type that widens to an `i8`; both are an `i8` natively.
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

    /// Writes a call of a function; `result` is the type of its result in the host IR, if it has one.
    pub(crate) fn call(
        &mut self,
        callee: ir::Symbol,
        args: &[ir::Value],
        result: Option<Type>,
    ) -> Option<Value> {
        let callee = self.callee(callee);
        let signature = self.cursor.func.dfg.ext_funcs[callee].signature;
        if types::is_preserving(&self.cursor.func.dfg.signatures[signature]) {
            return self.call_by_area(callee, args, result);
        }
        let args = self.arguments(signature, args);
        let call = self.ins().call(callee, &args);
        self.result(call)
    }

    pub(crate) fn call_indirect(
        &mut self,
        signature: &ir::Signature,
        callee: ir::Value,
        args: &[ir::Value],
    ) -> Option<Value> {
        let signature = types::signature(self.module.isa(), signature);
        let signature = types::import(self.cursor.func, &signature);
        let (callee, args) = (self.value(callee), self.arguments(signature, args));
        let call = self.ins().call_indirect(signature, callee, &args);
        self.result(call)
    }

    /// Converts arguments to the types of a signature: some floats are passed as integers, and the bits of 16-bit
    /// floats as floats.
    fn arguments(&mut self, signature: SigRef, args: &[ir::Value]) -> Vec<Value> {
        let mut args = self.passed(args);
        for (index, arg) in args.iter_mut().enumerate() {
            let dfg = &self.cursor.func.dfg;
            let wanted = dfg.signatures[signature].params[index].value_type;
            let given = dfg.value_type(*arg);
            if given != wanted {
                if wanted.bytes() > given.bytes() {
                    *arg = self.boxed(*arg);
                }
                *arg = self.ins().bitcast(wanted, MemFlagsData::new(), *arg);
            }
        }
        args
    }

    /// Widens the bits of a 16-bit float to those of a register of 32 bits. The upper ones are set, which riscv64 asks
    /// for and the others ignore.
    fn boxed(&mut self, bits: Value) -> Value {
        let bits = self.ins().uextend(types::ty(Type::I32), bits);
        self.ins().bor_imm_s(bits, i64::from(0xffff_0000_u32.cast_signed()))
    }

    fn result(&self, call: Inst) -> Option<Value> {
        self.cursor.func.dfg.inst_results(call).first().copied()
    }

    /// Writes `base + offset`.
    fn at(&mut self, base: ir::Value, offset: i32) -> Value {
        let base = self.value(base);
        if offset == 0 { base } else { self.ins().iadd_imm_s(base, i64::from(offset)) }
    }

    fn callee(&mut self, symbol: ir::Symbol) -> FuncRef {
        match self.reference(symbol) {
            Reference::Function(function) => function,
            Reference::Data(_) => unreachable!("verified host IR calls functions only"),
        }
    }

    fn reference(&mut self, symbol: ir::Symbol) -> Reference {
        let (module, func, linked) = (self.module, &mut *self.cursor.func, self.linked);
        let id = self.symbols[symbol.index()];
        let refer = || symbols::refer(module, id, func, linked);
        *self.references.entry(symbol).or_insert_with(refer)
    }
}

/// Returns the flags of an access that does not trap, and is aligned if the host IR says so.
fn memory(ty: Type, align: u32) -> MemFlagsData {
    if align >= ty.bytes() { MemFlagsData::trusted() } else { MemFlagsData::new().with_notrap() }
}
