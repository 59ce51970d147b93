//! What is wrong with an import tree or its bytes.

use std::error::Error;
use std::fmt;

use super::{LIBRARY_KIND, MAX_CHAIN};

/// Why a tree cannot be embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// There are no modules.
    Empty,
    /// The kind of a module is empty.
    EmptyKind {
        /// Which module.
        node: usize,
    },
    /// The kind of a custom module is `_lib`.
    ReservedKind {
        /// Which module.
        node: usize,
    },
    /// A custom module has no bytes; the loader takes that for the end of the blob.
    EmptyBytes {
        /// Which module.
        node: usize,
    },
    /// A second module is the library; the first one would be cut off from its context.
    SecondLibrary {
        /// Which module.
        node: usize,
    },
    /// A module imports one that does not exist.
    MissingChild {
        /// Which module.
        node: usize,
        /// What it imports.
        child: usize,
    },
    /// A module imports itself, directly or through others.
    Cycle {
        /// Which module.
        node: usize,
    },
    /// A chain of imports has more than [`MAX_CHAIN`] modules.
    Deep {
        /// Where such a chain starts.
        node: usize,
    },
    /// There is no room for the blob.
    TooLarge,
}

/// Why bytes are not an import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Where it shows, in bytes from the start of the blob.
    pub offset: usize,
    /// What it is.
    pub defect: Defect,
}

/// What is wrong at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The blob ends too early.
    Truncated {
        /// Bytes that were announced from this offset on.
        needed: u64,
        /// Bytes that are there.
        left: usize,
    },
    /// The blob goes on after its end.
    Trailing {
        /// By so many bytes.
        bytes: usize,
    },
    /// The rows do not split the list of children: the first starts at 0, the last ends with the list, and
    /// none starts before the one in front of it.
    Row {
        /// Where a row starts, or the last one ends.
        start: u64,
        /// The least that it could be.
        min: u64,
        /// The most that it could be.
        max: u64,
    },
    /// A kind is not UTF-8.
    KindNotUtf8,
    /// The bytes say what they should, but not of a tree that can be loaded.
    Tree(TreeError),
}

impl TreeError {
    /// Which module is at fault; `None` for a tree without any.
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

impl Error for DecodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if let Defect::Tree(error) = &self.defect { Some(error) } else { None }
    }
}
