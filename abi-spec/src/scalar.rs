//! The scalar types of a signature.

use std::fmt;
use std::str::FromStr;

use crate::{DType, ParseError, TypeIndex};

/// A scalar type: a number or an opaque pointer, as C functions take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// One byte, 0 or 1.
    Bool,
    /// `int8_t`
    Int8,
    /// `int16_t`
    Int16,
    /// `int32_t`
    Int32,
    /// `int64_t`
    Int64,
    /// `uint8_t`
    Uint8,
    /// `uint16_t`
    Uint16,
    /// `uint32_t`
    Uint32,
    /// `uint64_t`
    Uint64,
    /// IEEE 754 binary16, passed as its bits in a `uint16_t`.
    Float16,
    /// bfloat16, passed as its bits in a `uint16_t`.
    BFloat16,
    /// `float`
    Float32,
    /// `double`
    Float64,
    /// `void*`
    Ptr,
}

impl Scalar {
    /// Returns the type index of results of this type.
    pub const fn type_index(self) -> TypeIndex {
        match self {
            Scalar::Bool => TypeIndex::BOOL,
            Scalar::Int8 | Scalar::Int16 | Scalar::Int32 | Scalar::Int64 => TypeIndex::INT,
            Scalar::Uint8 | Scalar::Uint16 | Scalar::Uint32 | Scalar::Uint64 => TypeIndex::INT,
            Scalar::Float16 | Scalar::BFloat16 => TypeIndex::FLOAT,
            Scalar::Float32 | Scalar::Float64 => TypeIndex::FLOAT,
            Scalar::Ptr => TypeIndex::OPAQUE_PTR,
        }
    }

    /// All scalar types, in the order of the enum.
    pub const ALL: [Scalar; 14] = [
        Scalar::Bool,
        Scalar::Int8,
        Scalar::Int16,
        Scalar::Int32,
        Scalar::Int64,
        Scalar::Uint8,
        Scalar::Uint16,
        Scalar::Uint32,
        Scalar::Uint64,
        Scalar::Float16,
        Scalar::BFloat16,
        Scalar::Float32,
        Scalar::Float64,
        Scalar::Ptr,
    ];

    /// Returns the name in the declaration language.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int8 => "int8",
            Scalar::Int16 => "int16",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Uint8 => "uint8",
            Scalar::Uint16 => "uint16",
            Scalar::Uint32 => "uint32",
            Scalar::Uint64 => "uint64",
            Scalar::Float16 => "float16",
            Scalar::BFloat16 => "bfloat16",
            Scalar::Float32 => "float32",
            Scalar::Float64 => "float64",
            Scalar::Ptr => "ptr",
        }
    }

    /// Returns the size in memory in bits; 8 for `bool`.
    pub const fn bits(self) -> u32 {
        match self {
            Scalar::Bool | Scalar::Int8 | Scalar::Uint8 => 8,
            Scalar::Int16 | Scalar::Uint16 | Scalar::Float16 | Scalar::BFloat16 => 16,
            Scalar::Int32 | Scalar::Uint32 | Scalar::Float32 => 32,
            Scalar::Int64 | Scalar::Uint64 | Scalar::Float64 | Scalar::Ptr => 64,
        }
    }

    /// Returns true for `int8` to `uint64`; `bool` is not an integer.
    pub const fn is_int(self) -> bool {
        matches!(self, Scalar::Uint8 | Scalar::Uint16 | Scalar::Uint32 | Scalar::Uint64)
            || self.is_signed()
    }

    /// Returns true for the signed integers, `int8` to `int64`.
    pub const fn is_signed(self) -> bool {
        matches!(self, Scalar::Int8 | Scalar::Int16 | Scalar::Int32 | Scalar::Int64)
    }

    /// Returns true for `float16`, `bfloat16`, `float32` and `float64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::Float16 | Scalar::BFloat16 | Scalar::Float32 | Scalar::Float64)
    }

    /// Returns the element type of a tensor of these values; `None` for `ptr`, which tensors cannot hold.
    pub const fn dtype(self) -> Option<DType> {
        Some(match self {
            Scalar::Bool => DType::BOOL,
            Scalar::Int8 => DType::INT8,
            Scalar::Int16 => DType::INT16,
            Scalar::Int32 => DType::INT32,
            Scalar::Int64 => DType::INT64,
            Scalar::Uint8 => DType::UINT8,
            Scalar::Uint16 => DType::UINT16,
            Scalar::Uint32 => DType::UINT32,
            Scalar::Uint64 => DType::UINT64,
            Scalar::Float16 => DType::FLOAT16,
            Scalar::BFloat16 => DType::BFLOAT16,
            Scalar::Float32 => DType::FLOAT32,
            Scalar::Float64 => DType::FLOAT64,
            Scalar::Ptr => return None,
        })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scalar {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Scalar, ParseError> {
        let found = Scalar::ALL.into_iter().find(|scalar| scalar.name() == text);
        found.ok_or_else(|| ParseError::Scalar(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for scalar in Scalar::ALL {
            assert_eq!(scalar.to_string().parse(), Ok(scalar));
        }
        for text in ["", "int", "float", "Int8", " int8", "uint128", "void*"] {
            assert_eq!(text.parse::<Scalar>(), Err(ParseError::Scalar(text.into())));
        }
    }

    #[test]
    fn classes_agree_with_names_and_dtypes() {
        for scalar in Scalar::ALL {
            let name = scalar.name();
            assert_eq!(scalar.is_float(), name.contains("float"), "{name}");
            assert_eq!(scalar.is_int(), name.contains("int"), "{name}");
            assert_eq!(scalar.is_signed(), name.starts_with("int"), "{name}");
            let Some(dtype) = scalar.dtype() else {
                assert_eq!(scalar, Scalar::Ptr);
                continue;
            };
            assert_eq!(dtype.to_string(), name);
            assert_eq!(u32::from(dtype.bits), scalar.bits());
        }
    }
}
