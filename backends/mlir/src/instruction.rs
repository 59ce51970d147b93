//! The translation of each instruction of host IR to the `llvm` dialect.

use codegen::ir::{self, Binary, Checked, Cond, Convert, Type};
use melior::ir::operation::{OperationLike, OperationResult};
use melior::ir::{Value, ValueLike};

use crate::function::Body;
use crate::op::{FCMP, ICMP, Ops};
use crate::raw;

impl<'c, 'a> Body<'_, '_, 'c, 'a> {
    pub(crate) fn constant(&self, of: Type, bits: u64) -> Value<'c, 'a> {
        self.constant_by(&self.ops, of, bits)
    }

    fn constant_by(&self, ops: &Ops<'c>, of: Type, bits: u64) -> Value<'c, 'a> {
        let ty = ops.types.ty(of);
        let value = match of {
            Type::Bool => ops.integer(ty, i64::from(bits != 0)),
            Type::I8 => ops.integer(ty, i64::from(bits as i8)),
            Type::I16 => ops.integer(ty, i64::from(bits as i16)),
            Type::I32 => ops.integer(ty, i64::from(bits as i32)),
            Type::I64 => ops.integer(ty, bits as i64),
            Type::Ptr if bits == 0 => return self.push(ops.op("llvm.mlir.zero", &[], &[ty], &[])),
            Type::Ptr => {
                let address = self.constant_by(&self.plain, Type::I64, bits);
                return self.push(ops.op("llvm.inttoptr", &[address], &[ty], &[]));
            }
            // The conversion to `f64` would make a signalling NaN quiet.
            Type::F32 if f32::from_bits(bits as u32).is_nan() => {
                let bits = self.constant_by(&self.plain, Type::I32, bits);
                return self.push(ops.op("llvm.bitcast", &[bits], &[ty], &[]));
            }
            Type::F32 => ops.float(ty, f64::from(f32::from_bits(bits as u32))),
            Type::F64 => ops.float(ty, f64::from_bits(bits)),
        };
        self.push(ops.constant(ty, value))
    }

    pub(crate) fn address(&self, symbol: ir::Symbol, offset: i32) -> Value<'c, 'a> {
        let name = self.functions.references[symbol.index()].name;
        if offset == 0 {
            return self.push(self.ops.address_of(name));
        }
        let base = self.push(self.plain.address_of(name));
        self.push_offset(self.ops, base, offset)
    }

    pub(crate) fn stack_slot(&self, size: u32, align: u32) -> Value<'c, 'a> {
        let one = self.constant_by(&self.plain, Type::I32, 1);
        self.push(self.ops.alloca(one, size, align))
    }

    pub(crate) fn load(&self, of: Type, base: ir::Value, offset: i32, align: u32) -> Value<'c, 'a> {
        let at = self.at(base, offset, self.result);
        self.push(self.ops.load(self.ops.types.ty(of), at, align))
    }

    pub(crate) fn store(
        &self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
        align: u32,
    ) -> Option<Value<'c, 'a>> {
        let at = self.at(base, offset, Some(value));
        self.append(self.ops.store(self.value(value), at, align))
    }

    pub(crate) fn atomic_load(&self, of: Type, base: ir::Value, offset: i32) -> Value<'c, 'a> {
        let at = self.at(base, offset, self.result);
        self.push(self.ops.atomic_load(self.ops.types.ty(of), at, of.bytes()))
    }

    pub(crate) fn atomic_store(
        &self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
    ) -> Option<Value<'c, 'a>> {
        let at = self.at(base, offset, Some(value));
        let align = self.source.ty(value).bytes();
        self.append(self.ops.atomic_store(self.value(value), at, align))
    }

    pub(crate) fn compare_exchange(
        &self,
        base: ir::Value,
        expected: ir::Value,
        new: ir::Value,
    ) -> Value<'c, 'a> {
        let ty = self.ty(expected);
        let operands = [base, expected, new].map(|value| self.value(value));
        let both = self.push(self.plain.compare_exchange(ty, operands));
        self.push(self.ops.extract(ty, both, 0))
    }

    pub(crate) fn ptr_add(&self, base: ir::Value, offset: ir::Value) -> Value<'c, 'a> {
        self.push(self.ops.ptr_add(self.value(base), self.value(offset)))
    }

    pub(crate) fn binary(&self, op: Binary, lhs: ir::Value, rhs: ir::Value) -> Value<'c, 'a> {
        let name = match op {
            Binary::Add => "llvm.add",
            Binary::Sub => "llvm.sub",
            Binary::Mul => "llvm.mul",
            Binary::Sdiv => "llvm.sdiv",
            Binary::Srem => "llvm.srem",
            Binary::Udiv => "llvm.udiv",
            Binary::Urem => "llvm.urem",
            Binary::And => "llvm.and",
            Binary::Or => "llvm.or",
            Binary::Xor => "llvm.xor",
            Binary::Shl => "llvm.shl",
            Binary::Lshr => "llvm.lshr",
            Binary::Ashr => "llvm.ashr",
            Binary::Fadd => "llvm.fadd",
            Binary::Fsub => "llvm.fsub",
            Binary::Fmul => "llvm.fmul",
            Binary::Fdiv => "llvm.fdiv",
        };
        let operands = [self.value(lhs), self.value(rhs)];
        self.push(self.ops.op(name, &operands, &[self.ty(lhs)], &[]))
    }

    /// Writes checked arithmetic; keeps its flag.
    pub(crate) fn checked(&self, op: Checked, lhs: ir::Value, rhs: ir::Value) -> Value<'c, 'a> {
        let name = match op {
            Checked::CheckedAdd => "llvm.intr.sadd.with.overflow",
            Checked::CheckedSub => "llvm.intr.ssub.with.overflow",
            Checked::CheckedMul => "llvm.intr.smul.with.overflow",
        };
        let (ty, truth) = (self.ty(lhs), self.ops.types.i1);
        let operands = [self.value(lhs), self.value(rhs)];
        let both = self.push(self.plain.with_flag(name, ty, operands));
        let result = self.push(self.ops.extract(ty, both, 0));
        self.overflowed.set(Some(self.push(self.plain.extract(truth, both, 1))));
        result
    }

    /// Writes a comparison. Predicates are the numbers of `ICmpPredicate` and `FCmpPredicate`.
    pub(crate) fn compare(&self, cond: Cond, lhs: ir::Value, rhs: ir::Value) -> Value<'c, 'a> {
        let (name, predicate) = match cond {
            Cond::Eq => (ICMP, 0),
            Cond::Ne => (ICMP, 1),
            Cond::Slt => (ICMP, 2),
            Cond::Sle => (ICMP, 3),
            Cond::Sgt => (ICMP, 4),
            Cond::Sge => (ICMP, 5),
            Cond::Ult => (ICMP, 6),
            Cond::Ule => (ICMP, 7),
            Cond::Ugt => (ICMP, 8),
            Cond::Uge => (ICMP, 9),
            Cond::Feq => (FCMP, 1),
            Cond::Fne => (FCMP, 13),
            Cond::Flt => (FCMP, 4),
            Cond::Fle => (FCMP, 5),
            Cond::Fgt => (FCMP, 2),
            Cond::Fge => (FCMP, 3),
        };
        self.push(self.ops.compare(name, predicate, self.value(lhs), self.value(rhs)))
    }

    pub(crate) fn select(
        &self,
        cond: ir::Value,
        then: ir::Value,
        otherwise: ir::Value,
    ) -> Value<'c, 'a> {
        let operands = [self.value(cond), self.value(then), self.value(otherwise)];
        let selected = self.push(self.ops.op("llvm.select", &operands, &[self.ty(then)], &[]));
        if self.source.ty(then).is_float() && is_result_of(operands[0], "llvm.fcmp") {
            return self.fence(selected);
        }
        selected
    }

    /// Hides the minimum or maximum of two floats from the optimizer, at no cost. LLVM 22 folds `max(c, max(x, c))` to
    /// `max(x, c)`, which differs if `x` is a NaN.
    fn fence(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.push(self.ops.intrinsic("llvm.arithmetic.fence", value))
    }

    pub(crate) fn convert(&self, op: Convert, value: ir::Value, to: Type) -> Value<'c, 'a> {
        let name = match op {
            Convert::Zext => "llvm.zext",
            Convert::Sext => "llvm.sext",
            Convert::Trunc => "llvm.trunc",
            Convert::SintToFloat => "llvm.sitofp",
            Convert::UintToFloat => "llvm.uitofp",
            Convert::Promote => "llvm.fpext",
            Convert::Demote => "llvm.fptrunc",
            Convert::Bitcast => "llvm.bitcast",
            Convert::PtrToInt => "llvm.ptrtoint",
            Convert::IntToPtr => "llvm.inttoptr",
        };
        self.push(self.ops.op(name, &[self.value(value)], &[self.ops.types.ty(to)], &[]))
    }

    pub(crate) fn call(&self, callee: ir::Symbol, args: &[ir::Value]) -> Option<Value<'c, 'a>> {
        let signature = self.functions.source.signature(callee).expect("functions are called");
        let reference = &self.functions.references[callee.index()];
        if reference.alias {
            let mut operands = vec![self.push(self.plain.address_of(reference.name))];
            operands.extend(self.arguments(signature, args));
            return self.append(self.ops.call(None, signature, &operands));
        }
        let arguments = self.arguments(signature, args);
        let Some(own) = reference.function else {
            return self.append(self.ops.call(Some(reference), signature, &arguments));
        };
        let params = raw::function_parts(self.ops.context, own).map_or(Vec::new(), |parts| parts.0);
        let halves = signature.params.iter().map(|abi| abi.extend.is_half());
        let operands =
            arguments.into_iter().zip(params).zip(halves).map(|((value, param), half)| {
                if param == value.r#type() {
                    return value;
                }
                let conversion = if half { "llvm.bitcast" } else { "llvm.trunc" };
                self.push(self.plain.op(conversion, &[value], &[param], &[]))
            });
        let operands: Vec<Value> = operands.collect();
        let result = self.append(self.ops.call(Some(reference), signature, &operands))?;
        let wanted = self.ops.types.ty(signature.result?.ty);
        if result.r#type() == wanted {
            return Some(result);
        }
        self.append(self.ops.op("llvm.zext", &[result], &[wanted], &[]))
    }

    pub(crate) fn call_indirect(
        &self,
        signature: &ir::Signature,
        callee: ir::Value,
        args: &[ir::Value],
    ) -> Option<Value<'c, 'a>> {
        let mut operands = vec![self.value(callee)];
        operands.extend(self.arguments(signature, args));
        self.append(self.ops.call(None, signature, &operands))
    }

    /// Converts arguments to the types of a signature: the bits of a 16-bit float are that float.
    fn arguments(&self, signature: &ir::Signature, args: &[ir::Value]) -> Vec<Value<'c, 'a>> {
        let each = args.iter().zip(&signature.params).map(|(&arg, &abi)| match self.value(arg) {
            bits if abi.extend.is_half() => {
                let half = self.ops.types.passed(abi);
                self.push(self.plain.op("llvm.bitcast", &[bits], &[half], &[]))
            }
            value => value,
        });
        each.collect()
    }

    /// Returns the address of an access, named after the value that is read or written.
    fn at(&self, base: ir::Value, offset: i32, accessed: Option<ir::Value>) -> Value<'c, 'a> {
        let base = self.value(base);
        match offset {
            0 => base,
            _ => self.push_offset(self.named(accessed, ".at"), base, offset),
        }
    }

    fn push_offset(&self, ops: Ops<'c>, base: Value<'c, 'a>, offset: i32) -> Value<'c, 'a> {
        // In the list of constant indices the smallest number means an operand.
        if offset == i32::MIN {
            let bits = i64::from(offset) as u64;
            let offset = self.constant_by(&self.plain, Type::I64, bits);
            return self.push(ops.ptr_add(base, offset));
        }
        self.push(ops.offset(base, offset))
    }
}

/// Returns true if an operation of this name computes a value.
fn is_result_of(value: Value<'_, '_>, operation: &str) -> bool {
    OperationResult::try_from(value)
        .is_ok_and(|result| result.owner().name().as_string_ref().as_str() == Ok(operation))
}
