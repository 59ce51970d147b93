//! The memory layout of the structs of the ABI, on every 64-bit little-endian target.
//!
//! Each struct is a constant ([`ANY`]), and its fields are the constants of a module of the same name ([`any`]):
//! `layout::ANY.size`, `layout::any::PAYLOAD.offset`.
//!
//! An object is an [`OBJECT`] header followed by a *cell* that depends on its type. Offsets of a cell's fields count
//! from the cell; [`Field::in_object`] counts from the object.

mod cell;
mod dlpack;
mod reflection;
mod value;

pub use cell::*;
pub use dlpack::*;
pub use reflection::*;
pub use value::*;

/// Byte offset of the object header in a module as [`LIBRARY_CTX`](crate::symbol::LIBRARY_CTX) points at it. The
/// context is a pointer to the C++ class `ModuleObj`, whose table of virtual functions precedes its base, the object:
/// so the C++ ABI of Itanium has it as long as the class has virtual functions and its base has none. Measured on
/// 0.1.15.
pub const MODULE_OBJECT: u32 = 8;

/// The size, alignment and fields of a C struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struct {
    /// The C name.
    pub name: &'static str,
    /// The size in bytes.
    pub size: u32,
    /// The alignment in bytes.
    pub align: u32,
    /// The fields in ascending order; a nested struct precedes its own fields where those are listed too.
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The C name, with a path inside nested structs: `device.device_id`.
    pub name: &'static str,
    /// The byte offset in the struct. Signed, as the offsets of load and store instructions are.
    pub offset: i32,
    /// The type.
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
    /// A union of 8 bytes; another field determines its member.
    Union,
    /// A struct by value.
    Struct(&'static Struct),
}

impl Field {
    /// Returns the offset of a cell's field from the address of the object.
    pub const fn in_object(self) -> i32 {
        OBJECT.size as i32 + self.offset
    }
}

impl FieldType {
    /// Returns the size in bytes.
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

/// Returns every struct of this module.
pub fn all() -> impl Iterator<Item = Struct> {
    [value::STRUCTS, cell::STRUCTS, dlpack::STRUCTS, reflection::STRUCTS].concat().into_iter()
}

/// Defines for each struct a constant and a module of its fields, and the list of all structs.
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

        /// Every struct of this module.
        pub(crate) const STRUCTS: &[Struct] = &[$($name),*];
    };
}
pub(crate) use structs;

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
