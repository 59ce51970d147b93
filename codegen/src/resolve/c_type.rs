//! C types: how the ABI passes them, and how C spells them.

use abi_spec::Scalar;

use crate::declaration::ParamType;
use crate::ir::{AbiType, Extend, Signature, Type};

/// Returns the ABI type in which a C function takes or returns a scalar.
pub(crate) fn abi_type(scalar: Scalar) -> AbiType {
    let ty = match scalar {
        Scalar::Bool | Scalar::Int8 | Scalar::Uint8 => Type::I8,
        Scalar::Int16 | Scalar::Uint16 | Scalar::Float16 | Scalar::BFloat16 => Type::I16,
        Scalar::Int32 | Scalar::Uint32 => Type::I32,
        Scalar::Int64 | Scalar::Uint64 => Type::I64,
        Scalar::Float32 => Type::F32,
        Scalar::Float64 => Type::F64,
        Scalar::Ptr => Type::Ptr,
    };
    let extend = match ty {
        Type::I8 if scalar == Scalar::Bool => Extend::Truth,
        Type::I8 | Type::I16 if scalar.is_signed() => Extend::Sign,
        Type::I8 | Type::I16 => Extend::Zero,
        Type::Bool | Type::I32 | Type::I64 | Type::F32 | Type::F64 | Type::Ptr => Extend::No,
    };
    AbiType { ty, extend }
}

/// A C type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CType {
    /// A number or an opaque pointer. A 16-bit float is its bits, a `uint16_t`.
    Scalar(Scalar),
    /// C's `_Float16`, in a floating-point register.
    Float16,
    /// C's `__bf16`, in a floating-point register.
    BFloat16,
    /// A pointer to const scalars.
    In(Scalar),
    /// A pointer through which a scalar is written.
    Out(Scalar),
    /// Any other pointer, by its spelling.
    Pointer(&'static str),
}

/// Pointers of the FFI.
impl CType {
    pub(crate) const TENSOR: CType = CType::Pointer("DLTensor*");
    /// A tensor whose elements are only read.
    pub(crate) const READ_TENSOR: CType = CType::Pointer("const DLTensor*");
    /// An address of elements that are only read.
    pub(crate) const READ_DATA: CType = CType::Pointer("const void*");
    pub(crate) const OBJECT: CType = CType::Pointer("TVMFFIObject*");
    pub(crate) const ANY: CType = CType::Pointer("const TVMFFIAny*");
    pub(crate) const OUT_ANY: CType = CType::Pointer("TVMFFIAny*");
    pub(crate) const TEXT: CType = CType::Pointer("const char*");
}

impl CType {
    /// Returns the type of an argument that is written as a conversion to a scalar: a 16-bit float is one of C's.
    pub(super) fn of_conversion(scalar: Scalar) -> CType {
        if scalar == Scalar::Float16 {
            CType::Float16
        } else if scalar == Scalar::BFloat16 {
            CType::BFloat16
        } else {
            CType::Scalar(scalar)
        }
    }

    /// Returns the type that takes what this one and another one take: a pointer to `const` if the other one is the
    /// same but for that.
    fn merged(self, other: CType) -> CType {
        let is_same = match other {
            CType::READ_TENSOR => self == CType::TENSOR,
            CType::READ_DATA => self == CType::Scalar(Scalar::Ptr),
            CType::Scalar(_)
            | CType::Float16
            | CType::BFloat16
            | CType::In(_)
            | CType::Out(_)
            | CType::Pointer(_) => false,
        };
        if is_same { other } else { self }
    }

    /// Returns true for the address of a tensor, or in one, whose elements are only read.
    fn is_read(self) -> bool {
        self == CType::READ_TENSOR || self == CType::READ_DATA
    }

    /// Returns the ABI type.
    pub(crate) fn abi(self) -> AbiType {
        match self {
            CType::Scalar(scalar) => abi_type(scalar),
            CType::Float16 => AbiType { ty: Type::I16, extend: Extend::Float16 },
            CType::BFloat16 => AbiType { ty: Type::I16, extend: Extend::BFloat16 },
            CType::In(_) | CType::Out(_) | CType::Pointer(_) => Type::Ptr.into(),
        }
    }

    /// Returns the spelling in C.
    pub(crate) fn spelling(self) -> String {
        match self {
            CType::Scalar(scalar) => c_name(scalar).to_owned(),
            CType::Float16 => "_Float16".to_owned(),
            CType::BFloat16 => "__bf16".to_owned(),
            CType::In(scalar) => format!("const {}*", c_name(scalar)),
            CType::Out(scalar) => format!("{}*", c_name(scalar)),
            CType::Pointer(name) => name.to_owned(),
        }
    }
}

/// Returns the spelling of a scalar in C. A `bool` is one byte in every dialect.
fn c_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool | Scalar::Uint8 => "uint8_t",
        Scalar::Int8 => "int8_t",
        Scalar::Int16 => "int16_t",
        Scalar::Int32 => "int32_t",
        Scalar::Int64 => "int64_t",
        Scalar::Uint16 | Scalar::Float16 | Scalar::BFloat16 => "uint16_t",
        Scalar::Uint32 => "uint32_t",
        Scalar::Uint64 => "uint64_t",
        Scalar::Float32 => "float",
        Scalar::Float64 => "double",
        Scalar::Ptr => "void*",
    }
}

/// Type of a C function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prototype {
    /// Types of the parameters.
    pub(crate) params: Vec<CType>,
    /// Type of the result.
    pub(crate) result: Option<CType>,
}

impl Prototype {
    /// Makes the type that of all calls: takes over the `const` of another call of the same function. A function that
    /// is given memory that is only read writes to none that it is given at this place.
    pub(crate) fn merge(&mut self, other: &Prototype) {
        for (param, other) in self.params.iter_mut().zip(&other.params) {
            *param = param.merged(*other);
        }
    }

    /// Returns the type under the C calling convention.
    pub(crate) fn signature(&self) -> Signature {
        let params = self.params.iter().map(|ty| ty.abi()).collect();
        let reads = self.params.iter().enumerate().filter(|(_, ty)| ty.is_read());
        let reads = reads.map(|(index, _)| index).collect();
        Signature { params, result: self.result.map(CType::abi), reads }
    }
}

/// Way in which a C function yields its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResultConvention {
    /// No result.
    None,
    /// A scalar, returned.
    Returned(Scalar),
    /// A status, returned, and a scalar, written through the last argument in its C type.
    Stored(Scalar),
    /// A status, returned, and scalars, each written through an argument of its own in its C type: a tuple.
    StoredAll(Vec<Scalar>),
    /// A value, written through the last argument as a `TVMFFIAny`.
    Written,
}

impl ResultConvention {
    /// Chooses the way for a result of a type, or for none. `status` is true if the function returns a status.
    pub(super) fn of(ty: Option<&ParamType>, status: bool) -> ResultConvention {
        match (ty, status) {
            (None, _) => ResultConvention::None,
            (Some(ParamType::Scalar(scalar)), false) => ResultConvention::Returned(*scalar),
            (Some(ParamType::Scalar(scalar)), true) => ResultConvention::Stored(*scalar),
            (Some(ty), true) => match scalars(ty) {
                Some(scalars) => ResultConvention::StoredAll(scalars),
                None => ResultConvention::Written,
            },
            (Some(_), false) => ResultConvention::Written,
        }
    }

    /// Returns the scalars that the function writes, each through an argument of its own.
    pub(crate) fn stored(&self) -> &[Scalar] {
        match self {
            ResultConvention::Stored(scalar) => std::slice::from_ref(scalar),
            ResultConvention::StoredAll(scalars) => scalars,
            ResultConvention::None | ResultConvention::Returned(_) | ResultConvention::Written => {
                &[]
            }
        }
    }
}

/// Returns the elements of a tuple of scalars; `None` for other types and for the empty tuple.
fn scalars(ty: &ParamType) -> Option<Vec<Scalar>> {
    let ParamType::Tuple(elements) = ty else { return None };
    let scalars: Option<Vec<Scalar>> = elements.iter().map(|element| element.ty.scalar()).collect();
    scalars.filter(|scalars| !scalars.is_empty())
}
