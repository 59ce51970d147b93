//! Arguments of C functions and GPU kernels.

use abi_spec::Scalar;

use super::ids::ValueId;
use super::term::{Node, Term};

/// An argument of a C function or a GPU kernel.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value, passed in the C types of its type.
    Value(ValueId),
    /// A term, converted to the C type of a scalar.
    Term(Term, Scalar),
    /// Text, passed as the address of a NUL-terminated copy, and its size.
    Text(String),
}

impl Argument {
    /// Returns the value of an integer literal.
    pub(crate) fn constant(&self) -> Option<i64> {
        if let Argument::Term(term, _) = self { term.constant() } else { None }
    }

    /// Returns true if the argument is an address that exists only after a tensor is allocated.
    pub(crate) fn is_allocated(&self) -> bool {
        match self {
            Argument::Value(_) | Argument::Text(_) => false,
            Argument::Term(term, _) => {
                let of_output = |node: &Node| {
                    matches!(node, Node::Output(_) | Node::OutputData(_) | Node::OutputObject(_))
                };
                term.any(&mut |node| of_output(node))
            }
        }
    }
}
