//! The classes of element types.

/// Defines the type codes: number, C enumerator, name, and the bits that the name implies.
macro_rules! type_codes {
    ($($(#[$doc:meta])* $code:ident = $number:literal, $c_name:ident, $name:literal, $bits:expr;)*) => {
        /// `DLDataTypeCode` of DLPack 1.3.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum TypeCode {
            $($(#[$doc])* $code = $number,)*
        }

        impl TypeCode {
            /// All type codes, each at the index that is its number.
            pub const ALL: [TypeCode; [$($number),*].len()] = [$(TypeCode::$code),*];

            /// Returns the name in front of the bits.
            pub const fn name(self) -> &'static str {
                match self {
                    $(TypeCode::$code => $name,)*
                }
            }

            /// Returns the C enumerator in `dlpack.h`.
            pub const fn c_name(self) -> &'static str {
                match self {
                    $(TypeCode::$code => stringify!($c_name),)*
                }
            }

            /// Returns the bits of a lane that the name alone implies, as `float8_e4m3` does; `None` where the bits
            /// follow the name, as in `int4`.
            pub const fn implied_bits(self) -> Option<u8> {
                match self {
                    $(TypeCode::$code => $bits,)*
                }
            }
        }
    };
}

type_codes! {
    /// Two's complement integer.
    Int = 0, kDLInt, "int", None;
    /// Unsigned integer.
    UInt = 1, kDLUInt, "uint", None;
    /// IEEE 754 binary float.
    Float = 2, kDLFloat, "float", None;
    /// Opaque pointer.
    Handle = 3, kDLOpaqueHandle, "handle", Some(64);
    /// The upper half of a binary32.
    Bfloat = 4, kDLBfloat, "bfloat", None;
    /// Pair of IEEE 754 floats; the bits count both. The runtime has no name for it.
    Complex = 5, kDLComplex, "complex", None;
    /// Truth value.
    Bool = 6, kDLBool, "bool", Some(8);
    /// 8-bit float.
    Float8E3m4 = 7, kDLFloat8_e3m4, "float8_e3m4", Some(8);
    /// 8-bit float.
    Float8E4m3 = 8, kDLFloat8_e4m3, "float8_e4m3", Some(8);
    /// 8-bit float.
    Float8E4m3b11fnuz = 9, kDLFloat8_e4m3b11fnuz, "float8_e4m3b11fnuz", Some(8);
    /// 8-bit float.
    Float8E4m3fn = 10, kDLFloat8_e4m3fn, "float8_e4m3fn", Some(8);
    /// 8-bit float.
    Float8E4m3fnuz = 11, kDLFloat8_e4m3fnuz, "float8_e4m3fnuz", Some(8);
    /// 8-bit float.
    Float8E5m2 = 12, kDLFloat8_e5m2, "float8_e5m2", Some(8);
    /// 8-bit float.
    Float8E5m2fnuz = 13, kDLFloat8_e5m2fnuz, "float8_e5m2fnuz", Some(8);
    /// 8-bit float.
    Float8E8m0fnu = 14, kDLFloat8_e8m0fnu, "float8_e8m0fnu", Some(8);
    /// 6-bit float.
    Float6E2m3fn = 15, kDLFloat6_e2m3fn, "float6_e2m3fn", Some(6);
    /// 6-bit float.
    Float6E3m2fn = 16, kDLFloat6_e3m2fn, "float6_e3m2fn", Some(6);
    /// 4-bit float.
    Float4E2m1fn = 17, kDLFloat4_e2m1fn, "float4_e2m1fn", Some(4);
}

impl TypeCode {
    /// Returns the type code of a number.
    pub fn from_number(number: u8) -> Option<TypeCode> {
        TypeCode::ALL.get(usize::from(number)).copied()
    }

    /// Returns true if the name, with or without the bits, denotes elements of `bits` bits a lane.
    pub fn names_bits(self, bits: u8) -> bool {
        self == TypeCode::Bool || self.implied_bits().is_none_or(|implied| implied == bits)
    }

    /// Returns true if `FromStr` accepts a name of elements of `bits` bits a lane.
    pub(crate) const fn accepts_bits(self, bits: u8) -> bool {
        match self {
            TypeCode::Int | TypeCode::UInt => 1 <= bits && bits <= 64,
            TypeCode::Float => matches!(bits, 16 | 32 | 64),
            TypeCode::Bfloat => bits == 16,
            TypeCode::Complex => matches!(bits, 64 | 128),
            TypeCode::Handle | TypeCode::Bool => false,
            TypeCode::Float8E3m4 | TypeCode::Float8E4m3 | TypeCode::Float8E4m3b11fnuz => false,
            TypeCode::Float8E4m3fn | TypeCode::Float8E4m3fnuz | TypeCode::Float8E5m2 => false,
            TypeCode::Float8E5m2fnuz | TypeCode::Float8E8m0fnu => false,
            TypeCode::Float6E2m3fn | TypeCode::Float6E3m2fn | TypeCode::Float4E2m1fn => false,
        }
    }
}
