//! The scalar types of a signature.

use std::fmt;
use std::str::FromStr;

use crate::{DType, ParseError, TypeIndex};

/// Defines the scalar types: name, bits and element type.
macro_rules! scalars {
    ($($(#[$doc:meta])* $scalar:ident = $name:literal, $bits:literal, $dtype:expr;)*) => {
        /// A scalar type: a number or an opaque pointer, as C functions take it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scalar {
            $($(#[$doc])* $scalar,)*
        }

        impl Scalar {
            /// All scalar types, in the order of the enum.
            pub const ALL: [Scalar; [$($bits),*].len()] = [$(Scalar::$scalar),*];

            /// Returns the name in the declaration language.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Scalar::$scalar => $name,)*
                }
            }

            /// Returns the size in memory in bits; 8 for `bool`.
            pub const fn bits(self) -> u32 {
                match self {
                    $(Scalar::$scalar => $bits,)*
                }
            }

            /// Returns the element type of a tensor of these values; `None` for `ptr`, which tensors cannot hold.
            pub const fn dtype(self) -> Option<DType> {
                match self {
                    $(Scalar::$scalar => $dtype,)*
                }
            }
        }
    };
}

scalars! {
    /// One byte, 0 or 1.
    Bool = "bool", 8, Some(DType::BOOL);
    /// `int8_t`
    Int8 = "int8", 8, Some(DType::INT8);
    /// `int16_t`
    Int16 = "int16", 16, Some(DType::INT16);
    /// `int32_t`
    Int32 = "int32", 32, Some(DType::INT32);
    /// `int64_t`
    Int64 = "int64", 64, Some(DType::INT64);
    /// `uint8_t`
    Uint8 = "uint8", 8, Some(DType::UINT8);
    /// `uint16_t`
    Uint16 = "uint16", 16, Some(DType::UINT16);
    /// `uint32_t`
    Uint32 = "uint32", 32, Some(DType::UINT32);
    /// `uint64_t`
    Uint64 = "uint64", 64, Some(DType::UINT64);
    /// IEEE 754 binary16, passed as its bits in a `uint16_t`.
    Float16 = "float16", 16, Some(DType::FLOAT16);
    /// bfloat16, passed as its bits in a `uint16_t`.
    BFloat16 = "bfloat16", 16, Some(DType::BFLOAT16);
    /// `float`
    Float32 = "float32", 32, Some(DType::FLOAT32);
    /// `double`
    Float64 = "float64", 64, Some(DType::FLOAT64);
    /// `void*`
    Ptr = "ptr", 64, None;
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
