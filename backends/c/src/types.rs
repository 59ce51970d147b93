//! Types.
//!
//! A value of an integer type is a signed integer of C; operations convert where the sign matters. A truth value is an
//! `int` that is 0 or 1.

use codegen::ir::{AbiType, Extend, Type};

/// Returns the type of a variable.
pub(crate) fn ty(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "int",
        Type::I8 => "int8_t",
        Type::I16 => "int16_t",
        Type::I32 => "int32_t",
        Type::I64 => "int64_t",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::Ptr => "void *",
    }
}

/// Returns the type of the same size without a sign; that of addresses for pointers.
pub(crate) fn unsigned(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "unsigned",
        Type::I8 => "uint8_t",
        Type::I16 => "uint16_t",
        Type::I32 | Type::F32 => "uint32_t",
        Type::I64 | Type::F64 => "uint64_t",
        Type::Ptr => "uintptr_t",
    }
}

/// Returns the type without a sign in which arithmetic of a type wraps: C computes narrow integers as `int`.
pub(crate) fn wrapping(ty: Type) -> &'static str {
    match ty {
        Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::F32 => "uint32_t",
        Type::I64 | Type::F64 => "uint64_t",
        Type::Ptr => "uintptr_t",
    }
}

/// Returns the end of the names of helpers for a type.
pub(crate) fn suffix(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::I8 => "i8",
        Type::I16 => "i16",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::Ptr => "ptr",
    }
}

/// Returns true if variables have the type of the parameter or result.
pub(crate) fn is_plain(abi: AbiType) -> bool {
    match abi.extend {
        Extend::No | Extend::Sign => true,
        Extend::Zero | Extend::Truth | Extend::Float16 | Extend::BFloat16 => false,
    }
}

/// Writes a type before a name: `void *p`, `int64_t n`.
pub(crate) fn declarator(ty: &str, name: &str) -> String {
    let space = if ty.ends_with('*') || name.is_empty() { "" } else { " " };
    format!("{ty}{space}{name}")
}
