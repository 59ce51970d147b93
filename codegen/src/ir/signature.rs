//! The types of values and the signatures of functions.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The type of a value. Integers have no sign; operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// The result of a comparison. Never stored, passed or returned: it is widened first.
    Bool,
    /// 8 bits.
    I8,
    /// 16 bits; also the bits of a 16-bit float.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A 64-bit address.
    Ptr,
}

impl Type {
    /// Returns the size in memory in bytes, which is also the natural alignment.
    pub const fn bytes(self) -> u32 {
        match self {
            Type::Bool | Type::I8 => 1,
            Type::I16 => 2,
            Type::I32 | Type::F32 => 4,
            Type::I64 | Type::F64 | Type::Ptr => 8,
        }
    }

    /// Returns true for `I8` to `I64`.
    pub const fn is_int(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// Returns true for `F32` and `F64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// Returns true for types that every processor reads and writes in one piece.
    pub(super) const fn is_atomic(self) -> bool {
        matches!(self, Type::I32 | Type::I64 | Type::Ptr)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Bool => "bool",
            Type::I8 => "i8",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Ptr => "ptr",
        })
    }
}

/// Extension by which the sender of a narrow integer fills the upper bits of its register. C compilers expect integers
/// below 32 bits to be extended. Platforms that extend 32 bits too (riscv64) are the business of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extend {
    /// No extension: 32 bits and wider, floats, pointers.
    No,
    /// Sign extension.
    Sign,
    /// Zero extension.
    Zero,
    /// Zero extension of a byte that is 0 or 1: C's `bool`. LLVM's C compilers declare it as `i1`, which backends
    /// accept in place of the byte in functions that exist already.
    Truth,
    /// No extension: the 16 bits are those of C's `_Float16`, passed as it is, in a floating-point register.
    Float16,
    /// No extension: the 16 bits are those of C's `__bf16`, passed as it is, in a floating-point register.
    BFloat16,
}

impl Extend {
    /// Returns true for the bits of a 16-bit float that is passed as a float.
    pub const fn is_half(self) -> bool {
        matches!(self, Extend::Float16 | Extend::BFloat16)
    }
}

/// The type of a parameter or result under the C calling convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AbiType {
    /// The type of the value; never [`Type::Bool`].
    pub ty: Type,
    /// The extension of the value.
    pub extend: Extend,
}

impl AbiType {
    /// Returns true if a C function can take or return this: C extends integers of 8 and 16 bits only.
    pub(super) fn is_of_c(self) -> bool {
        match self.extend {
            Extend::No => self.ty != Type::Bool,
            Extend::Sign | Extend::Zero => matches!(self.ty, Type::I8 | Type::I16),
            Extend::Truth => self.ty == Type::I8,
            Extend::Float16 | Extend::BFloat16 => self.ty == Type::I16,
        }
    }
}

impl From<Type> for AbiType {
    fn from(ty: Type) -> Self {
        AbiType { ty, extend: Extend::No }
    }
}

impl fmt::Display for AbiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extend {
            Extend::No => write!(f, "{}", self.ty),
            Extend::Sign => write!(f, "{} sext", self.ty),
            Extend::Zero => write!(f, "{} zext", self.ty),
            Extend::Truth => write!(f, "{} bool", self.ty),
            Extend::Float16 => write!(f, "{} float16", self.ty),
            Extend::BFloat16 => write!(f, "{} bfloat16", self.ty),
        }
    }
}

/// The signature of a function under the C calling convention of the target.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// Parameters, in order.
    pub params: Vec<AbiType>,
    /// The result; `None` for C's `void`.
    pub result: Option<AbiType>,
    /// The indices of parameters that are addresses of memory that the function only reads, in ascending order. They
    /// serve readers of text: nothing else depends on them, and signatures that differ in nothing else are equal.
    pub reads: Box<[usize]>,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        (&self.params, &self.result) == (&other.params, &other.result)
    }
}

impl Eq for Signature {}

impl Hash for Signature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.params, &self.result).hash(state);
    }
}

impl Signature {
    /// Returns a signature of types without extension.
    pub fn new(params: &[Type], result: Option<Type>) -> Self {
        Signature {
            params: params.iter().map(|&ty| ty.into()).collect(),
            result: result.map(AbiType::from),
            reads: Box::default(),
        }
    }

    /// Adds the memory that an equal signature says is only read.
    pub(super) fn merge(&mut self, other: &Signature) {
        if other.reads.iter().all(|index| self.reads.contains(index)) {
            return;
        }
        let both = self.reads.iter().chain(&other.reads).copied();
        self.reads = both.collect::<BTreeSet<usize>>().into_iter().collect();
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, param) in self.params.iter().enumerate() {
            write!(f, "{}{param}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")?;
        self.result.map_or(Ok(()), |result| write!(f, " -> {result}"))
    }
}
