//! The errors of import trees and of their encoding.

use std::error::Error;
use std::fmt;

use super::{LIBRARY_KIND, MAX_CHAIN};

/// The error of a tree that cannot be embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// There are no modules.
    Empty,
    /// The kind of a module is empty.
    EmptyKind {
        /// The index of the module.
        node: usize,
    },
    /// The kind of a custom module is `_lib`.
    ReservedKind {
        /// The index of the module.
        node: usize,
    },
    /// A custom module has no bytes; the loader takes that for the end of the blob.
    EmptyBytes {
        /// The index of the module.
        node: usize,
    },
    /// A second module is the library; the runtime would then leave the first one without its context.
    SecondLibrary {
        /// The index of the module.
        node: usize,
    },
    /// A module imports one that does not exist.
    MissingChild {
        /// The index of the module.
        node: usize,
        /// The index that it imports.
        child: usize,
    },
    /// A module imports itself, directly or through others.
    Cycle {
        /// The index of the module.
        node: usize,
    },
    /// A chain of imports has more than [`MAX_CHAIN`] modules.
    Deep {
        /// The index of the first module of the chain.
        node: usize,
    },
    /// The blob does not fit into memory.
    TooLarge,
}

/// The error of bytes that are no import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The offset of the defect, in bytes from the start of the blob.
    pub offset: usize,
    /// The defect.
    pub defect: Defect,
}

/// A defect of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The blob ends too early.
    Truncated {
        /// The bytes that should follow this offset.
        needed: u64,
        /// The bytes that follow.
        left: usize,
    },
    /// The blob goes on after its end.
    Trailing {
        /// The number of extra bytes.
        bytes: usize,
    },
    /// The rows do not split the list of children. The first row must start at 0, the last must end with the list, and
    /// none may start before its predecessor.
    Row {
        /// The start of the row, or the end of the last row.
        start: u64,
        /// The smallest valid start.
        min: u64,
        /// The largest valid start.
        max: u64,
    },
    /// A kind is not UTF-8.
    KindNotUtf8,
    /// The bytes are well-formed, but the tree cannot be loaded.
    Tree(TreeError),
}

impl TreeError {
    /// Returns the module at fault; `None` for an empty tree or one that is too large.
    pub fn node(&self) -> Option<usize> {
        match *self {
            TreeError::Empty | TreeError::TooLarge => None,
            TreeError::EmptyKind { node }
            | TreeError::ReservedKind { node }
            | TreeError::EmptyBytes { node }
            | TreeError::SecondLibrary { node }
            | TreeError::MissingChild { node, .. }
            | TreeError::Cycle { node }
            | TreeError::Deep { node } => Some(node),
        }
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::Empty => f.write_str("the import tree has no modules"),
            TreeError::EmptyKind { node } => write!(f, "the kind of module {node} is empty"),
            TreeError::ReservedKind { node } => {
                write!(
                    f,
                    "the kind of module {node} is `{LIBRARY_KIND}`, which stands for the library"
                )
            }
            TreeError::EmptyBytes { node } => write!(f, "module {node} has no bytes"),
            TreeError::SecondLibrary { node } => {
                write!(f, "module {node} is the library, which the tree already holds")
            }
            TreeError::MissingChild { node, child } => {
                write!(f, "module {node} imports module {child}, which does not exist")
            }
            TreeError::Cycle { node } => write!(f, "module {node} imports itself"),
            TreeError::Deep { node } => {
                write!(f, "a chain of more than {MAX_CHAIN} modules starts at module {node}")
            }
            TreeError::TooLarge => f.write_str("the import tree is larger than the memory"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed import tree at byte {:#x}: ", self.offset)?;
        match &self.defect {
            Defect::Truncated { needed, left } => {
                write!(f, "expected {needed} more bytes, found {left}")
            }
            Defect::Trailing { bytes } => write!(f, "expected the end, found {bytes} more bytes"),
            Defect::Row { start, min, max } => {
                write!(f, "expected the first child of a row to be in {min}..={max}, found {start}")
            }
            Defect::KindNotUtf8 => f.write_str("the kind of a module is not UTF-8"),
            Defect::Tree(error) => error.fmt(f),
        }
    }
}

impl Error for TreeError {}

/// The message contains that of an inner error, so the chain goes on behind that one.
impl Error for DecodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if let Defect::Tree(error) = &self.defect { error.source() } else { None }
    }
}
