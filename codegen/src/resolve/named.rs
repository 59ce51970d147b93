//! Entities that names in a function stand for: symbols, allocated tensors, and locals of the body.

use std::borrow::Cow;

use abi_spec::Scalar;

use super::Explained;
use super::ids::{Home, LocalId, ValueId};
use super::term::{Kind, Term};
use crate::declaration::Tensor;
use crate::declaration::reserved::may_be_symbol;
use crate::error::Part;

/// Checks that a name which no parameter and no local has may be a symbol's. A compiler that writes in Rust may have
/// given a number, an expression or a text as the text that names are.
pub(super) fn check_symbol(name: &str) -> Explained<()> {
    if may_be_symbol(name) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is no parameter and no local, and a symbol is a word of letters, digits and `_`, perhaps with a number after `.`: numbers, expressions and texts are no names"
    ))
}

/// A symbol: an integer that extents, strides and integer parameters share.
#[derive(Clone, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    /// Part that first mentions it.
    pub(crate) part: Part,
    /// Integer parameter of the same name.
    pub(crate) value: Option<ValueId>,
    /// Local that it stands for.
    pub(crate) local: Option<LocalId>,
    /// True if an extent, a stride or a number of a shape depends on it. It is then an `int64`, whatever the type of
    /// the parameter.
    pub(crate) measures: bool,
    /// Number of times that dims mention it. One in a loop counts as several.
    pub(crate) mentions: u32,
}

impl Symbol<'_> {
    /// Returns true if dims mention the symbol once, and nothing else determines it.
    pub(crate) fn is_alone(&self) -> bool {
        self.mentions == 1 && self.value.is_none() && self.local.is_none()
    }
}

/// A tensor that the function allocates.
#[derive(Clone, Debug)]
pub(crate) struct Output<'a> {
    pub(crate) name: &'a str,
    pub(crate) tensor: Cow<'a, Tensor>,
    pub(crate) extents: Vec<Term>,
    /// Tensor on whose device it is allocated; `None` for the first device of its type.
    pub(crate) home: Option<Home>,
    /// Tensor whose element type it has; `None` for the declared one.
    pub(crate) dtype_of: Option<ValueId>,
}

/// A number, truth or address that the body names.
#[derive(Clone, Debug)]
pub(crate) struct Local<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// True for an address that is a stream.
    pub(crate) is_stream: bool,
    /// C type in which a C function gets it; `None` for that of the kind. The number fits it.
    pub(crate) scalar: Option<Scalar>,
    /// True for an address in a value, or a number made of one: it is good as long as the value is there.
    pub(crate) is_lent: bool,
    /// True for an address in a tensor whose elements are only read, or a number made of one.
    pub(crate) is_read: bool,
    /// The value of the body whose number it is, if it stands for the symbol of that name in a type.
    pub(crate) of: Option<ValueId>,
}
