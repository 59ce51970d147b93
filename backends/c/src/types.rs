//! Types, signatures and prototypes.
//!
//! A value of an integer type is a signed integer of C; operations convert where the sign matters. A truth value is an
//! `int` that is 0 or 1.

use codegen::ir::{self, AbiType, Extend, Pointee, Type};

use crate::prelude::Prelude;

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

/// Returns the type of a parameter or result. C extends what is narrow as the platform says. A truth value is a byte, so
/// that compilers do not rely on functions elsewhere to return 0 or 1.
fn abi(abi: AbiType) -> &'static str {
    match abi.extend {
        Extend::No | Extend::Sign => ty(abi.ty),
        Extend::Zero | Extend::Truth => unsigned(abi.ty),
    }
}

/// Returns true if variables have the type of the parameter or result.
pub(crate) fn is_plain(abi: AbiType) -> bool {
    match abi.extend {
        Extend::No | Extend::Sign => true,
        Extend::Zero | Extend::Truth => false,
    }
}

/// Writes a type before a name: `void *p`, `int64_t n`.
pub(crate) fn declarator(ty: &str, name: &str) -> String {
    let space = if ty.ends_with('*') || name.is_empty() { "" } else { " " };
    format!("{ty}{space}{name}")
}

/// Returns a function declaration without its end. Parameters without names are declared by type alone; `pointees` says
/// what addresses point to.
pub(crate) fn prototype(
    name: &str,
    signature: &ir::Signature,
    params: &[String],
    pointees: &[Option<Pointee>],
    prelude: &mut Prelude,
) -> String {
    let result = signature.result.map_or("void", abi);
    let named = signature.params.iter().enumerate().map(|(i, &param)| {
        let ty = match pointees.get(i).copied().flatten() {
            Some(pointee) => prelude.pointer(pointee),
            None => abi(param).to_owned(),
        };
        declarator(&ty, params.get(i).map_or("", String::as_str))
    });
    let list: Vec<String> = named.collect();
    let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
    format!("{}({list})", declarator(result, name))
}

/// Returns the type of pointers to functions of a signature.
pub(crate) fn pointer(signature: &ir::Signature, prelude: &mut Prelude) -> String {
    prototype("(*)", signature, &[], &[], prelude)
}
