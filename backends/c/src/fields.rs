//! The fields of structs.

use codegen::ir::{Field, FieldType, Struct, Type};

/// Returns the field at an offset that has a type.
pub(crate) fn field(pointee: &Struct, at: u32, of: Type) -> Option<&Field> {
    let is_same = |field: &&Field| {
        let is_same = match field.ty {
            FieldType::I32 => of == Type::I32,
            FieldType::I64 | FieldType::Union => of == Type::I64,
            FieldType::Ptr => of == Type::Ptr,
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::Struct(_) => false,
        };
        is_same && field.offset as u32 == at
    };
    pointee.fields.iter().find(is_same)
}

/// Returns the names of the fields that a value of a type at an offset covers.
pub(crate) fn covered(pointee: &Struct, at: u32, of: Type) -> String {
    let is_covered = |field: &&Field| {
        let start = field.offset as u32;
        let is_own = !field.name.contains('.') || !matches!(field.ty, FieldType::Struct(_));
        is_own && at <= start && start + field.ty.size() <= at + of.bytes()
    };
    let fields: Vec<&Field> = pointee.fields.iter().filter(is_covered).collect();
    // A struct stands for its own fields.
    let is_outer = |name: &str| {
        !fields
            .iter()
            .any(|other| name.strip_prefix(other.name).is_some_and(|rest| rest.starts_with('.')))
    };
    let names = fields.iter().map(|field| field.name).filter(|name| is_outer(name));
    names.collect::<Vec<_>>().join(", ")
}
