//! Types without parts: all that is known of each stands in one table.

use abi_spec::{Scalar, TypeIndex};

use super::Literal;

/// What a value or an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An `int64`.
    Int,
    /// A truth, 0 or 1; a number where one is asked for.
    Bool,
    /// A `uint64`, which is an [`Int`](Kind::Int) that wraps but where it is compared or converted.
    Unsigned,
    /// A `float64`.
    Float,
    /// An address.
    Ptr,
    /// An element type, as its 32 bits.
    DType,
    /// A device: type and index.
    Device,
    /// Text or bytes: address and size.
    Text,
    /// Several numbers or values.
    Several,
}

/// What is known of a type without parts.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The word for it in the language.
    pub(crate) name: &'static str,
    /// Its name in type schemas.
    pub(crate) schema: &'static str,
    /// What it yields in expressions.
    pub(crate) kind: Kind,
    /// The C types in which a kernel gets it.
    pub(crate) passed: &'static [Scalar],
    /// The type indices that it accepts; `None` for all.
    pub(crate) accepted: Option<&'static [TypeIndex]>,
}

macro_rules! leaves {
    ($($(#[$doc:meta])* $leaf:ident $name:literal, $schema:literal, $kind:ident,
        [$($passed:ident),*], $accepted:expr;)*) => {
        /// A type without parts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Leaf {
            $($(#[$doc])* $leaf,)*
        }

        impl Leaf {
            /// All of them.
            pub const ALL: &[Leaf] = &[$(Leaf::$leaf),*];

            pub(crate) const fn facts(self) -> &'static Facts {
                match self {
                    $(Leaf::$leaf => &Facts {
                        name: $name,
                        schema: $schema,
                        kind: Kind::$kind,
                        passed: &[$(Scalar::$passed),*],
                        accepted: $accepted,
                    },)*
                }
            }
        }
    };
}

use TypeIndex as T;

leaves! {
    /// Text: a string object, a small string or a `const char*`.
    Str "str", "ffi.String", Text, [Ptr, Int64], Some(&[T::RAW_STR, T::SMALL_STR, T::STR]);
    /// Bytes: a bytes object, small bytes or a `TVMFFIByteArray*`.
    Bytes "bytes", "ffi.Bytes", Text, [Ptr, Int64],
        Some(&[T::BYTE_ARRAY_PTR, T::SMALL_BYTES, T::BYTES]);
    /// An element type, or text that names one.
    DType "dtype", "DataType", DType, [Uint32],
        Some(&[T::DATA_TYPE, T::RAW_STR, T::SMALL_STR, T::STR, T::BYTE_ARRAY_PTR, T::SMALL_BYTES,
            T::BYTES]);
    /// A device, or text that names one.
    Device "Device", "Device", Device, [Int32, Int32],
        Some(&[T::DEVICE, T::RAW_STR, T::SMALL_STR, T::STR]);
    /// Any value.
    Any "Any", "Any", Ptr, [Ptr], None;
    /// A stream: an opaque pointer, its address as an integer, or None for the default stream.
    Stream "Stream", "void*", Ptr, [Ptr], Some(&[T::OPAQUE_PTR, T::INT, T::NONE]);
}

impl Leaf {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Leaf> {
        Leaf::ALL.iter().copied().find(|leaf| leaf.facts().name == name)
    }

    /// The word for it in the language.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// True if a literal can be the default of such a parameter.
    pub(crate) fn takes(self, literal: &Literal) -> bool {
        match self {
            Leaf::Str | Leaf::DType | Leaf::Device => matches!(literal, Literal::Str(_)),
            Leaf::Stream => *literal == Literal::None,
            Leaf::Any => true,
            Leaf::Bytes => false,
        }
    }
}
