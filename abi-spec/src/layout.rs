//! How the structs of the ABI lie in memory, on every 64-bit little-endian target.
//!
//! A struct is a constant ([`ANY`]), its fields are the constants of a module of the same name
//! ([`any`]): `layout::ANY.size`, `layout::any::PAYLOAD.offset`.
//!
//! An object is an [`OBJECT`] header directly followed by a *cell* that depends on its type. The fields
//! of a cell count from the cell; [`Field::in_object`] counts from the object.

mod cell;
mod dlpack;
mod reflection;
mod value;

pub use cell::*;
pub use dlpack::*;
pub use reflection::*;
pub use value::*;

/// The size, alignment and fields of a C struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its C name.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: u32,
    /// Its alignment in bytes.
    pub align: u32,
    /// Its fields in ascending order, a nested struct before the fields of it that are listed too.
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its C name, with a path where it is inside a nested struct: `device.device_id`.
    pub name: &'static str,
    /// Bytes from the start of the struct. Signed, as the offsets of load and store instructions are.
    pub offset: i32,
    /// What is there.
    pub ty: FieldType,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `uint8_t`
    U8,
    /// `uint16_t`
    U16,
    /// `int32_t`, or an enum of that size.
    I32,
    /// `uint32_t`
    U32,
    /// `int64_t`
    I64,
    /// `uint64_t` or `size_t`
    U64,
    /// A data or function pointer, 8 bytes.
    Ptr,
    /// A union of 8 bytes; a field beside it says what is in it.
    Union,
    /// A struct by value.
    Struct(&'static Struct),
}

impl Field {
    /// The offset from the address of an object of a field of its cell.
    pub const fn in_object(self) -> i32 {
        OBJECT.size as i32 + self.offset
    }
}

impl FieldType {
    /// Size in bytes.
    pub const fn size(self) -> u32 {
        match self {
            FieldType::U8 => 1,
            FieldType::U16 => 2,
            FieldType::I32 | FieldType::U32 => 4,
            FieldType::I64 | FieldType::U64 | FieldType::Ptr | FieldType::Union => 8,
            FieldType::Struct(inner) => inner.size,
        }
    }
}

/// Every struct of this module.
pub fn all() -> impl Iterator<Item = Struct> {
    [value::STRUCTS, cell::STRUCTS, dlpack::STRUCTS, reflection::STRUCTS].concat().into_iter()
}

/// Defines, per struct, the constant and the module of its fields; and the list of all of them.
macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident = $c_name:ident size $size:literal align $align:literal, $module:ident {
        $($(#[$field_doc:meta])* $field:ident = $c_field:literal at $offset:literal: $ty:expr;)*
    })*) => {
        $(
            $(#[$doc])*
            pub const $name: Struct = Struct {
                name: stringify!($c_name),
                size: $size,
                align: $align,
                fields: &[$($module::$field),*],
            };

            #[doc = concat!("Fields of `", stringify!($c_name), "`.")]
            pub mod $module {
                use crate::layout::{Field, FieldType};
                $(
                    $(#[$field_doc])*
                    pub const $field: Field = Field { name: $c_field, offset: $offset, ty: $ty };
                )*
            }
        )*

        pub(super) const STRUCTS: &[Struct] = &[$($name),*];
    };
}
use structs;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_ascend_inside_their_struct() {
        for Struct { name, size, fields, .. } in all() {
            assert!(fields.is_sorted_by_key(|field| field.offset), "{name}");
            for field in fields {
                assert!(field.offset as u32 + field.ty.size() <= size, "{name}.{}", field.name);
            }
        }
    }

    #[test]
    fn tensor_objects_hold_their_dl_tensor_after_the_header() {
        let offsets = DL_TENSOR.fields.iter().map(|field| (field.name, field.in_object()));
        let expected = [
            ("data", 24),
            ("device", 32),
            ("device.device_type", 32),
            ("device.device_id", 36),
            ("ndim", 40),
            ("dtype", 44),
            ("shape", 48),
            ("strides", 56),
            ("byte_offset", 64),
        ];
        assert!(offsets.eq(expected));
    }
}
