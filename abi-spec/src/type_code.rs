//! The classes of element types.

/// `DLDataTypeCode` of DLPack 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TypeCode {
    /// Two's complement integer.
    Int = 0,
    /// Unsigned integer.
    UInt = 1,
    /// IEEE 754 binary float.
    Float = 2,
    /// Opaque pointer.
    Handle = 3,
    /// The upper half of a binary32.
    Bfloat = 4,
    /// Pair of IEEE 754 floats; the bits count both. The runtime has no name for it, we do.
    Complex = 5,
    /// Truth value.
    Bool = 6,
    /// 8-bit float.
    Float8E3m4 = 7,
    /// 8-bit float.
    Float8E4m3 = 8,
    /// 8-bit float.
    Float8E4m3b11fnuz = 9,
    /// 8-bit float.
    Float8E4m3fn = 10,
    /// 8-bit float.
    Float8E4m3fnuz = 11,
    /// 8-bit float.
    Float8E5m2 = 12,
    /// 8-bit float.
    Float8E5m2fnuz = 13,
    /// 8-bit float.
    Float8E8m0fnu = 14,
    /// 6-bit float.
    Float6E2m3fn = 15,
    /// 6-bit float.
    Float6E3m2fn = 16,
    /// 4-bit float.
    Float4E2m1fn = 17,
}

impl TypeCode {
    /// All type codes, each at the index that is its number.
    pub const ALL: [TypeCode; 18] = [
        TypeCode::Int,
        TypeCode::UInt,
        TypeCode::Float,
        TypeCode::Handle,
        TypeCode::Bfloat,
        TypeCode::Complex,
        TypeCode::Bool,
        TypeCode::Float8E3m4,
        TypeCode::Float8E4m3,
        TypeCode::Float8E4m3b11fnuz,
        TypeCode::Float8E4m3fn,
        TypeCode::Float8E4m3fnuz,
        TypeCode::Float8E5m2,
        TypeCode::Float8E5m2fnuz,
        TypeCode::Float8E8m0fnu,
        TypeCode::Float6E2m3fn,
        TypeCode::Float6E3m2fn,
        TypeCode::Float4E2m1fn,
    ];

    /// Returns the type code of a number.
    pub fn from_number(number: u8) -> Option<TypeCode> {
        TypeCode::ALL.get(usize::from(number)).copied()
    }

    /// Returns the name in front of the bits.
    pub const fn name(self) -> &'static str {
        match self {
            TypeCode::Int => "int",
            TypeCode::UInt => "uint",
            TypeCode::Float => "float",
            TypeCode::Handle => "handle",
            TypeCode::Bfloat => "bfloat",
            TypeCode::Complex => "complex",
            TypeCode::Bool => "bool",
            TypeCode::Float8E3m4 => "float8_e3m4",
            TypeCode::Float8E4m3 => "float8_e4m3",
            TypeCode::Float8E4m3b11fnuz => "float8_e4m3b11fnuz",
            TypeCode::Float8E4m3fn => "float8_e4m3fn",
            TypeCode::Float8E4m3fnuz => "float8_e4m3fnuz",
            TypeCode::Float8E5m2 => "float8_e5m2",
            TypeCode::Float8E5m2fnuz => "float8_e5m2fnuz",
            TypeCode::Float8E8m0fnu => "float8_e8m0fnu",
            TypeCode::Float6E2m3fn => "float6_e2m3fn",
            TypeCode::Float6E3m2fn => "float6_e3m2fn",
            TypeCode::Float4E2m1fn => "float4_e2m1fn",
        }
    }

    /// Returns the C enumerator in `dlpack.h`.
    pub const fn c_name(self) -> &'static str {
        match self {
            TypeCode::Int => "kDLInt",
            TypeCode::UInt => "kDLUInt",
            TypeCode::Float => "kDLFloat",
            TypeCode::Handle => "kDLOpaqueHandle",
            TypeCode::Bfloat => "kDLBfloat",
            TypeCode::Complex => "kDLComplex",
            TypeCode::Bool => "kDLBool",
            TypeCode::Float8E3m4 => "kDLFloat8_e3m4",
            TypeCode::Float8E4m3 => "kDLFloat8_e4m3",
            TypeCode::Float8E4m3b11fnuz => "kDLFloat8_e4m3b11fnuz",
            TypeCode::Float8E4m3fn => "kDLFloat8_e4m3fn",
            TypeCode::Float8E4m3fnuz => "kDLFloat8_e4m3fnuz",
            TypeCode::Float8E5m2 => "kDLFloat8_e5m2",
            TypeCode::Float8E5m2fnuz => "kDLFloat8_e5m2fnuz",
            TypeCode::Float8E8m0fnu => "kDLFloat8_e8m0fnu",
            TypeCode::Float6E2m3fn => "kDLFloat6_e2m3fn",
            TypeCode::Float6E3m2fn => "kDLFloat6_e3m2fn",
            TypeCode::Float4E2m1fn => "kDLFloat4_e2m1fn",
        }
    }

    /// Returns the bits of a lane that the name alone implies, as `float8_e4m3` does; `None` where the bits follow the
    /// name, as in `int4`.
    pub const fn implied_bits(self) -> Option<u8> {
        match self {
            TypeCode::Int | TypeCode::UInt | TypeCode::Float => None,
            TypeCode::Bfloat | TypeCode::Complex => None,
            TypeCode::Handle => Some(64),
            TypeCode::Bool => Some(8),
            TypeCode::Float8E3m4 | TypeCode::Float8E4m3 | TypeCode::Float8E4m3b11fnuz => Some(8),
            TypeCode::Float8E4m3fn | TypeCode::Float8E4m3fnuz | TypeCode::Float8E5m2 => Some(8),
            TypeCode::Float8E5m2fnuz | TypeCode::Float8E8m0fnu => Some(8),
            TypeCode::Float6E2m3fn | TypeCode::Float6E3m2fn => Some(6),
            TypeCode::Float4E2m1fn => Some(4),
        }
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
