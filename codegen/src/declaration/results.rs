//! What a function returns.

use abi_spec::Scalar;

use super::{Dim, Expr, Mapping, Sequence, Shape, Tensor};

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultType {
    /// Nothing; the caller sees None.
    None,
    /// What the kernel returns.
    Scalar(Scalar),
    /// What the kernel writes through a `TVMFFIAny*`, its last argument. The kernel finds None there and
    /// leaves a value that it owns, which the wrapper checks and hands on.
    Written(ValueType),
    /// Tensors that the wrapper allocates and the kernel fills: one is returned as it is, several as an
    /// array of them.
    Allocated(Vec<Output>),
}

/// A tensor that the wrapper allocates: compact, on the device of the first tensor parameter that is
/// declared for the same device, else on the first device of that type.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name, which the arguments of the body may mention.
    pub name: String,
    /// Its extents are expressions over symbols, its strides contiguous.
    pub tensor: Tensor,
}

impl Output {
    /// Its extents.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Expr> {
        let dims = match &self.tensor.shape {
            Shape::AnyRank => &[],
            Shape::Dims(dims) => &dims[..],
        };
        dims.iter().filter_map(|dim| match dim {
            Dim::Any => None,
            Dim::Expr(expr) => Some(expr),
        })
    }
}

/// What a kernel may write.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueType {
    /// Every value that may be returned.
    Any,
    /// A number or an opaque pointer, of a type that values have: `bool`, `int64`, `float64` or `ptr`.
    Scalar(Scalar),
    /// A value with a type of its own.
    Kind(ValueKind),
    /// None, or a value of this type.
    Optional(Box<ValueType>),
    /// An array with one element of each of these types. Of an element only the outer type is checked.
    Tuple(Vec<ValueType>),
    /// A sequence of elements of one type. Of an element only the outer type is checked.
    Sequence(Sequence, Box<ValueType>),
    /// A mapping with keys and values of these types, which are not checked.
    Mapping(Mapping, Box<[ValueType; 2]>),
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal;)*) => {
        /// Types of values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ValueKind {
            $($(#[$doc])* $kind,)*
        }

        impl ValueKind {
            /// Every kind.
            pub const ALL: &[ValueKind] = &[$(ValueKind::$kind),*];

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ValueKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A string: small or an object.
    Str "str";
    /// Bytes: small or an object.
    Bytes "bytes";
    /// A type of elements.
    DType "dtype";
    /// A device.
    Device "Device";
    /// An object of any class.
    Object "Object";
    /// An array of `int64_t`.
    Shape "Shape";
    /// A tensor.
    Tensor "Tensor";
    /// An immutable sequence.
    Array "Array";
    /// A mutable sequence.
    List "List";
    /// An immutable map.
    Map "Map";
    /// A mutable map.
    Dict "Dict";
    /// A function.
    Function "Function";
    /// A module.
    Module "Module";
}
