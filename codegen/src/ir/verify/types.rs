//! Which types operations take.

use crate::ir::operator::{Binary, Cond, Convert};
use crate::ir::types::{AbiType, Extend, Type};

/// True for what a function of C takes or returns: integers are extended as C extends those of their width.
pub(super) fn is_of_c(abi: AbiType) -> bool {
    match abi.extend {
        Extend::No => abi.ty != Type::Bool,
        Extend::Sign | Extend::Zero => matches!(abi.ty, Type::I8 | Type::I16),
        Extend::Truth => abi.ty == Type::I8,
    }
}

/// True for types of which a processor reads and writes a value in one piece.
pub(super) fn is_atomic(ty: Type) -> bool {
    matches!(ty, Type::I32 | Type::I64 | Type::Ptr)
}

pub(super) fn binary_takes(op: Binary, ty: Type) -> bool {
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Shl | Binary::Lshr | Binary::Ashr => {
            ty.is_int()
        }
        Binary::Sdiv | Binary::Srem | Binary::Udiv | Binary::Urem => ty.is_int(),
        Binary::And | Binary::Or | Binary::Xor => ty.is_int() || ty == Type::Bool,
        Binary::Fadd | Binary::Fsub | Binary::Fmul | Binary::Fdiv => ty.is_float(),
    }
}

pub(super) fn cond_takes(cond: Cond, ty: Type) -> bool {
    match cond {
        Cond::Eq | Cond::Ne | Cond::Ult | Cond::Ule | Cond::Ugt | Cond::Uge => {
            ty.is_int() || ty == Type::Ptr
        }
        Cond::Slt | Cond::Sle | Cond::Sgt | Cond::Sge => ty.is_int(),
        Cond::Feq | Cond::Fne | Cond::Flt | Cond::Fle | Cond::Fgt | Cond::Fge => ty.is_float(),
    }
}

pub(super) fn convert_takes(op: Convert, from: Type, to: Type) -> bool {
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
