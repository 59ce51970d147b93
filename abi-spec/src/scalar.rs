//! The scalar types of a signature.

/// A number or an opaque pointer, as the C function behind a declaration sees it.
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
