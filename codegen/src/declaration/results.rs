//! What a function returns.

use super::{Dim, Expr, ParamType, Shape, Tensor};

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultType {
    /// Nothing; the caller sees None.
    None,
    /// A value. A kernel returns a scalar in its C type, and writes anything else through a `TVMFFIAny*`, its
    /// last argument: it finds None there and leaves a value that it owns, which is checked as an argument of the type
    /// is, and handed on.
    Value(ParamType),
    /// Tensors that the wrapper allocates and the kernel fills: one is returned as it is, several as an
    /// array of them.
    Allocated(Vec<Output>),
}

/// A tensor that the wrapper allocates: compact, on the device of the first tensor parameter that is
/// declared for the same device, else on the first device of that type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// Its name, which the arguments of the body may mention.
    pub name: String,
    /// Its extents are expressions over symbols, its strides contiguous.
    pub tensor: Tensor,
}

impl Tensor {
    /// Its extents, as far as they are expressions.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Expr> {
        let dims = match &self.shape {
            Shape::AnyRank => &[],
            Shape::Dims(dims) => &dims[..],
        };
        dims.iter().filter_map(|dim| match dim {
            Dim::Any => None,
            Dim::Expr(expr) => Some(expr),
        })
    }
}
