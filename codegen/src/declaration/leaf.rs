//! Leaf types, which have no parts: one table holds the facts about each.

use abi_spec::{DType, DeviceType, Scalar, TypeIndex};

use super::Literal;

/// Kind of a term, the resolved form of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An `int64`.
    Int,
    /// A truth, 0 or 1; an operand of arithmetic is converted to `int64`.
    Bool,
    /// A `uint64`. Arithmetic takes those that are an [`Int`](Kind::Int) too; comparisons and conversions take all.
    Unsigned,
    /// A `float64`.
    Float,
    /// An address.
    Ptr,
    /// An element type, as the 32 bits of a `DLDataType`.
    DType,
    /// A device: type and index.
    Device,
    /// Text or bytes: address and size.
    Text,
    /// Several numbers or values.
    Several,
}

impl Kind {
    /// Returns the noun that errors use for a term of this kind.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Kind::Int | Kind::Unsigned => "an integer",
            Kind::Bool => "a truth",
            Kind::Float => "a float",
            Kind::Ptr => "an address",
            Kind::DType => "an element type",
            Kind::Device => "a device",
            Kind::Text => "text",
            Kind::Several => "several values",
        }
    }

    /// Returns the scalar type with exactly the values of this kind; `None` if the kind is not numeric.
    pub(crate) const fn number(self) -> Option<Scalar> {
        match self {
            Kind::Int => Some(Scalar::Int64),
            Kind::Bool => Some(Scalar::Bool),
            Kind::Unsigned => Some(Scalar::Uint64),
            Kind::Float => Some(Scalar::Float64),
            Kind::Ptr | Kind::DType | Kind::Device | Kind::Text | Kind::Several => None,
        }
    }
}

/// Row of the table: facts about one leaf type.
#[derive(Debug)]
pub(crate) struct LeafFacts {
    /// Keyword of the language.
    pub(crate) name: &'static str,
    /// Name in type schemas.
    pub(crate) schema: &'static str,
    /// Kind of the term that an expression yields for a value of this type.
    pub(crate) kind: Kind,
    /// Scalars in which a C function gets a value.
    pub(crate) passed: &'static [Scalar],
    /// C type of the addresses in `passed`.
    pub(crate) address: &'static str,
    /// Type indices that values may have, first that of the type itself; `None` for all.
    pub(crate) accepted: Option<&'static [TypeIndex]>,
    /// True if every object but a text or a number is a value too.
    pub(crate) objects: bool,
    /// Literals that the default of a parameter may be.
    pub(crate) defaults: Defaults,
}

/// Literals that the default of a parameter of a leaf type may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Defaults {
    /// Text for which the function returns true.
    Text(fn(&str) -> bool),
    /// `None`.
    None,
    /// Any literal.
    Any,
    /// No literal.
    Never,
}

macro_rules! leaves {
    ($($(#[$doc:meta])* $leaf:ident: $facts:expr;)*) => {
        /// A type without parts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Leaf {
            $($(#[$doc])* $leaf,)*
        }

        impl Leaf {
            /// Every leaf.
            pub const ALL: &[Leaf] = &[$(Leaf::$leaf),*];

            /// Returns the row of this leaf.
            pub(crate) const fn facts(self) -> &'static LeafFacts {
                match self {
                    $(Leaf::$leaf => &$facts,)*
                }
            }
        }
    };
}

use TypeIndex as T;

leaves! {
    /// Text: a string object, a small string or a `const char*`.
    Str: LeafFacts {
        name: "str",
        schema: "ffi.String",
        kind: Kind::Text,
        passed: &[Scalar::Ptr, Scalar::Int64],
        address: "const char*",
        accepted: Some(&[T::RAW_STR, T::SMALL_STR, T::STR]),
        objects: false,
        defaults: Defaults::Text(|_| true),
    };
    /// Bytes: a bytes object, small bytes or a `TVMFFIByteArray*`.
    Bytes: LeafFacts {
        name: "bytes",
        schema: "ffi.Bytes",
        kind: Kind::Text,
        passed: &[Scalar::Ptr, Scalar::Int64],
        address: "const char*",
        accepted: Some(&[T::BYTE_ARRAY_PTR, T::SMALL_BYTES, T::BYTES]),
        objects: false,
        defaults: Defaults::Never,
    };
    /// An element type, or text that names one.
    DType: LeafFacts {
        name: "dtype",
        schema: "DataType",
        kind: Kind::DType,
        passed: &[Scalar::Uint32],
        address: "",
        accepted: Some(&[
            T::DATA_TYPE, T::RAW_STR, T::SMALL_STR, T::STR, T::BYTE_ARRAY_PTR, T::SMALL_BYTES, T::BYTES,
        ]),
        objects: false,
        defaults: Defaults::Text(|text| !text.is_empty() && DType::is_named_by(text)),
    };
    /// A device, or text that names one.
    Device: LeafFacts {
        name: "Device",
        schema: "Device",
        kind: Kind::Device,
        passed: &[Scalar::Int32, Scalar::Int32],
        address: "",
        accepted: Some(&[T::DEVICE, T::RAW_STR, T::SMALL_STR, T::STR]),
        objects: false,
        defaults: Defaults::Text(names_device),
    };
    /// Any value.
    Any: LeafFacts {
        name: "Any",
        schema: "Any",
        kind: Kind::Ptr,
        passed: &[Scalar::Ptr],
        address: "const TVMFFIAny*",
        accepted: None,
        objects: false,
        defaults: Defaults::Any,
    };
    /// A stream: an opaque pointer, its address as an integer, or None for the default stream.
    Stream: LeafFacts {
        name: "Stream",
        schema: "void*",
        kind: Kind::Ptr,
        passed: &[Scalar::Ptr],
        address: "void*",
        accepted: Some(&[T::OPAQUE_PTR, T::INT, T::NONE]),
        objects: false,
        defaults: Defaults::None,
    };
    /// An address of something that only the C function knows: None, an opaque pointer, a tensor or another object.
    Handle: LeafFacts {
        name: "handle",
        schema: "Any",
        kind: Kind::Ptr,
        passed: &[Scalar::Ptr],
        address: "void*",
        accepted: Some(&[T::OPAQUE_PTR, T::NONE, T::DL_TENSOR_PTR]),
        objects: true,
        defaults: Defaults::None,
    };
}

impl Leaf {
    /// Returns the leaf of this name.
    pub(crate) fn named(name: &str) -> Option<Leaf> {
        Leaf::ALL.iter().copied().find(|leaf| leaf.facts().name == name)
    }

    /// Returns the keyword of the language.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns true if text may name a value of this type, which the runtime parses.
    pub(crate) fn is_parsed(self) -> bool {
        self.word_index().is_some() && self.accepts(TypeIndex::STR)
    }

    /// Returns the type index of values whose payload is one word, the first that the type accepts; `None` for text,
    /// bytes, handles and any value.
    pub(crate) fn word_index(self) -> Option<TypeIndex> {
        let is_word = self.facts().kind != Kind::Text && !self.facts().objects;
        self.facts().accepted.filter(|_| is_word)?.first().copied()
    }

    /// Returns true if every value is one of this type.
    pub(crate) fn accepts_all(self) -> bool {
        self.facts().accepted.is_none()
    }

    /// Returns true if a value of this type may have the type index.
    pub(crate) fn accepts(self, index: TypeIndex) -> bool {
        let is_object = self.facts().objects && is_opaque(index);
        is_object || self.facts().accepted.is_none_or(|accepted| accepted.contains(&index))
    }

    /// Returns true if a literal can be the default of a parameter of this type.
    pub(crate) fn takes(self, literal: &Literal) -> bool {
        match self.facts().defaults {
            Defaults::Text(fits) => matches!(literal, Literal::Str(text) if fits(text)),
            Defaults::None => *literal == Literal::None,
            Defaults::Any => true,
            Defaults::Never => false,
        }
    }
}

/// Returns true for objects that are neither texts nor numbers.
fn is_opaque(index: TypeIndex) -> bool {
    index.is_object() && ![TypeIndex::STR, TypeIndex::BYTES, TypeIndex::BIG_INT].contains(&index)
}

/// Returns true if arguments of this text are read as devices, which a routine does.
fn names_device(text: &str) -> bool {
    let (name, id) = text.split_once(':').unwrap_or((text, "0"));
    let is_known = DeviceType::texts().any(|(known, _)| known == name);
    is_known && (1..=9).contains(&id.len()) && id.bytes().all(|digit| digit.is_ascii_digit())
}
