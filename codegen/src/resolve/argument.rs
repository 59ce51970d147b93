//! What C functions and kernels of images are given, and where tensors live.

use abi_spec::Scalar;

use super::ids::{OutputId, ValueId};
use super::term::{Node, Term};

/// What a C function is given.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value, in the C types of its kind.
    Value(ValueId),
    /// A term, converted to the C type of a scalar.
    Term(Term, Scalar),
    /// Text: its address, NUL-terminated, and its size.
    Text(String),
}

impl Argument {
    /// True for what is known only once a tensor is allocated: its address and that of its elements.
    pub(crate) fn is_allocated(&self) -> bool {
        match self {
            Argument::Value(_) | Argument::Text(_) => false,
            Argument::Term(term, _) => {
                term.any(&mut |node| matches!(node, Node::Output(_) | Node::OutputData(_)))
            }
        }
    }
}

/// The device of a tensor that is allocated, or of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// That of a tensor.
    Value(ValueId),
    /// That of another tensor that was allocated.
    Output(OutputId),
}

/// Scalars in memory, as C lays them out in a struct.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    /// In bytes, a multiple of the alignment.
    pub(crate) size: u32,
    /// In bytes, a power of two.
    pub(crate) align: u32,
    /// Each scalar, and where it is.
    pub(crate) parts: Vec<(u32, Argument)>,
}

impl Packing {
    /// Nothing so far.
    pub(crate) fn new() -> Packing {
        Packing { size: 0, align: 1, parts: Vec::new() }
    }

    /// One scalar of so many bytes.
    pub(crate) fn scalar(argument: Argument, bytes: u32) -> Packing {
        Packing { size: bytes, align: bytes, parts: vec![(0, argument)] }
    }

    /// Fields behind each other, each where its alignment puts it.
    pub(crate) fn of(fields: impl IntoIterator<Item = Packing>) -> Packing {
        let mut whole = Packing::new();
        for field in fields {
            let start = whole.size.next_multiple_of(field.align);
            whole.parts.extend(field.parts.into_iter().map(|(at, part)| (start + at, part)));
            whole.size = start + field.size;
            whole.align = whole.align.max(field.align);
        }
        whole.size = whole.size.next_multiple_of(whole.align);
        whole
    }
}
