//! Functions: the translation table from host IR to the `llvm` dialect.
//!
//! Host IR is in static single assignment form with block parameters, and so is MLIR: a value becomes
//! a value, a block the block of the same number.

use codegen::ir::{self, Binary, Cond, Convert, Inst, Target, Terminator, Type};
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, BlockRef, Operation, RegionLike, Value};

use crate::op::{FCMP, ICMP, Ops};
use crate::symbols::{Native, Reference};

/// Gives a declared function its body. `references` are to the symbols of `module`.
pub(crate) fn define<'c>(
    ops: &Ops<'c>,
    module: &ir::Module,
    references: &[Reference<'c>],
    source: &ir::Function,
    function: &mut Native<'c, '_>,
) {
    let ops = ops.at(module.name(source.symbol));
    for (name, value) in ops.body_attributes(source) {
        function.set(name, value);
    }
    let region = function.region();
    let mut values = vec![None; source.values.len()];
    let mut blocks = Vec::with_capacity(source.blocks.len());
    for data in &source.blocks {
        let params = data.params.iter().map(|&param| ops.types.ty(source.ty(param)));
        let block = region.append_block(ops.block(params));
        for (i, param) in data.params.iter().enumerate() {
            values[param.index()] = block.argument(i).ok().map(Value::from);
        }
        blocks.push(block);
    }
    let entry = blocks[0];
    let mut body = Body { ops, module, references, source, blocks, values, block: entry };
    for (block, data) in source.blocks() {
        body.block = body.blocks[block.index()];
        for (result, inst) in &data.insts {
            let value = body.inst(inst);
            if let Some(result) = result {
                body.values[result.index()] = value;
            }
        }
        data.end.iter().for_each(|end| body.terminator(end));
    }
}

/// One function while its instructions are written.
struct Body<'c, 'a> {
    ops: Ops<'c>,
    module: &'a ir::Module,
    references: &'a [Reference<'c>],
    source: &'a ir::Function,
    blocks: Vec<BlockRef<'c, 'a>>,
    values: Vec<Option<Value<'c, 'a>>>,
    /// The block at whose end instructions are written.
    block: BlockRef<'c, 'a>,
}

impl<'c, 'a> Body<'c, 'a> {
    /// The instruction table.
    fn inst(&self, inst: &Inst) -> Option<Value<'c, 'a>> {
        let ops = &self.ops;
        Some(match inst {
            Inst::Const { ty, bits } => self.constant(*ty, *bits),
            Inst::Address { symbol } => {
                self.push(ops.address_of(self.references[symbol.index()].name))
            }
            Inst::StackSlot { size, align } => self.stack_slot(*size, *align),
            Inst::Load { ty, base, offset, align } => {
                let address = self.address(*base, *offset);
                self.push(ops.load(ops.types.ty(*ty), address, *align))
            }
            Inst::Store { value, base, offset, align } => {
                let address = self.address(*base, *offset);
                self.append(ops.store(self.value(*value), address, *align));
                return None;
            }
            Inst::PtrAdd { base, offset } => {
                self.push(ops.ptr_add(self.value(*base), self.value(*offset)))
            }
            Inst::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs),
            Inst::Compare { cond, lhs, rhs } => self.compare(*cond, *lhs, *rhs),
            Inst::Select { cond, then, otherwise } => self.select(*cond, *then, *otherwise),
            Inst::Convert { op, value, to } => self.convert(*op, *value, *to),
            Inst::Call { callee, args } => {
                let signature = self.module.signature(*callee).expect("functions are called");
                let callee = &self.references[callee.index()];
                if callee.alias {
                    let mut operands = vec![self.push(ops.address_of(callee.name))];
                    operands.extend(self.list(args));
                    return self.append(ops.call(None, signature, &operands));
                }
                return self.append(ops.call(Some(callee), signature, &self.list(args)));
            }
            Inst::CallIndirect { signature, callee, args } => {
                let mut operands = vec![self.value(*callee)];
                operands.extend(self.list(args));
                return self.append(ops.call(None, signature, &operands));
            }
        })
    }

    /// How a block ends.
    fn terminator(&self, end: &Terminator) {
        let ops = &self.ops;
        self.append(match end {
            Terminator::Jump(target) => ops.br(&self.target(target), &self.list(&target.args)),
            Terminator::Branch { cond, then, otherwise } if then.block == otherwise.block => {
                // LLVM tells edges apart by the blocks that they leave.
                let pairs = then.args.iter().zip(&otherwise.args);
                let args: Vec<_> = pairs.map(|(&a, &b)| self.select(*cond, a, b)).collect();
                ops.br(&self.target(then), &args)
            }
            Terminator::Branch { cond, then, otherwise } => {
                let mut operands = vec![self.value(*cond)];
                operands.extend(self.list(&then.args));
                operands.extend(self.list(&otherwise.args));
                let targets = [then, otherwise];
                let cold = targets.map(|target| self.source.blocks[target.block.index()].cold);
                let [then, otherwise] = targets.map(|target| self.target(target));
                let args = targets.map(|target| target.args.len());
                ops.cond_br(&operands, [&then, &otherwise], args, cold)
            }
            Terminator::Return(value) => {
                let value = value.map(|value| self.value(value));
                ops.op("llvm.return", value.as_slice(), &[], &[])
            }
        });
    }

    fn binary(&self, op: Binary, lhs: ir::Value, rhs: ir::Value) -> Value<'c, 'a> {
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

    /// Predicates by their numbers in `ICmpPredicate` and `FCmpPredicate`.
    fn compare(&self, cond: Cond, lhs: ir::Value, rhs: ir::Value) -> Value<'c, 'a> {
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

    fn select(&self, cond: ir::Value, then: ir::Value, otherwise: ir::Value) -> Value<'c, 'a> {
        let operands = [self.value(cond), self.value(then), self.value(otherwise)];
        self.push(self.ops.op("llvm.select", &operands, &[self.ty(then)], &[]))
    }

    fn convert(&self, op: Convert, value: ir::Value, to: Type) -> Value<'c, 'a> {
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

    fn constant(&self, of: Type, bits: u64) -> Value<'c, 'a> {
        let ops = &self.ops;
        let ty = ops.types.ty(of);
        let value = match of {
            Type::Bool => ops.integer(ty, i64::from(bits != 0)),
            Type::I8 => ops.integer(ty, i64::from(bits as i8)),
            Type::I16 => ops.integer(ty, i64::from(bits as i16)),
            Type::I32 => ops.integer(ty, i64::from(bits as i32)),
            Type::I64 => ops.integer(ty, bits as i64),
            Type::Ptr if bits == 0 => return self.push(ops.op("llvm.mlir.zero", &[], &[ty], &[])),
            Type::Ptr => {
                let address = self.constant(Type::I64, bits);
                return self.push(ops.op("llvm.inttoptr", &[address], &[ty], &[]));
            }
            // On the way through `f64` a signalling NaN would become quiet.
            Type::F32 if f32::from_bits(bits as u32).is_nan() => {
                let bits = self.constant(Type::I32, bits);
                return self.push(ops.op("llvm.bitcast", &[bits], &[ty], &[]));
            }
            Type::F32 => ops.float(ty, f64::from(f32::from_bits(bits as u32))),
            Type::F64 => ops.float(ty, f64::from_bits(bits)),
        };
        self.push(ops.constant(ty, value))
    }

    fn stack_slot(&self, size: u32, align: u32) -> Value<'c, 'a> {
        let one = self.constant(Type::I32, 1);
        self.push(self.ops.alloca(one, size, align))
    }

    /// `base + offset`. The smallest offset is not constant, for its number stands for an operand.
    fn address(&self, base: ir::Value, offset: i32) -> Value<'c, 'a> {
        let base = self.value(base);
        match offset {
            0 => base,
            i32::MIN => {
                let offset = self.constant(Type::I64, i64::from(offset) as u64);
                self.push(self.ops.ptr_add(base, offset))
            }
            _ => self.push(self.ops.offset(base, offset)),
        }
    }

    /// Writes an operation that has a result.
    fn push(&self, operation: Operation<'c>) -> Value<'c, 'a> {
        self.append(operation).expect("the operation has a result")
    }

    /// Writes an operation; its result if it has one.
    fn append(&self, operation: Operation<'c>) -> Option<Value<'c, 'a>> {
        let operation = self.block.append_operation(operation);
        operation.results().next().map(Value::from)
    }

    fn value(&self, value: ir::Value) -> Value<'c, 'a> {
        self.values[value.index()].expect("a definition precedes its uses")
    }

    fn ty(&self, value: ir::Value) -> melior::ir::Type<'c> {
        self.ops.types.ty(self.source.ty(value))
    }

    fn list(&self, values: &[ir::Value]) -> Vec<Value<'c, 'a>> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    fn target(&self, target: &Target) -> BlockRef<'c, 'a> {
        self.blocks[target.block.index()]
    }
}
