//! The import tree of a library, and its encoding in [`LIBRARY_BIN`](crate::symbol::LIBRARY_BIN).
//!
//! All numbers are little-endian `u64`:
//!
//! ```text
//! bytes after this number
//! rows + 1, then per row the index of its first child in the list below, and the length of that list
//! children, then per child the index of a module
//! per module   length, kind             `_lib` stands for the library that embeds the tree
//!              length, bytes            absent for `_lib`
//! ```
//!
//! The loader creates every module with `ffi.Module.load_from_bytes.<kind>`, then lets each import its children, and
//! returns module 0.
//!
//! The loader of libtvm_ffi crashes on some malformed trees and misreads others. [`encode`](ImportTree::encode) and
//! [`decode`](ImportTree::decode) refuse them by the same rules, so that each accepts the output of the other. A tree
//! has at least one module, no empty kinds or bytes, at most one library, only children that exist, no module that
//! imports itself, directly or not, and no chain of imports that exhausts the stack of the runtime ([`MAX_CHAIN`]).
//!
//! ```
//! use tvm_ffi_abi_spec::library_bin::{ImportTree, Module, Node};
//!
//! let library = Node { module: Module::Library, children: vec![1] };
//! let kernels = Module::Custom { kind: "cuda".into(), bytes: b"fatbin"[..].into() };
//! let tree = ImportTree { nodes: vec![library, Node { module: kernels, children: vec![] }] };
//!
//! let blob = tree.encode()?;
//! assert_eq!(ImportTree::decode(&blob)?, tree);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;
mod error;
mod validate;

use std::borrow::Cow;

pub use decode::blob_len;
pub use error::{DecodeError, Defect, TreeError};

/// The kind that stands for the library itself.
pub const LIBRARY_KIND: &str = "_lib";

/// The largest number of modules in a chain of imports. libtvm_ffi releases and searches a chain by recursion: 0.1.15
/// needs up to 800 bytes of stack per module, so that this is safe on the smallest stack that any system gives to a
/// thread, 512 KiB.
pub const MAX_CHAIN: usize = 256;

/// The prefix of the global function that creates the modules of a kind.
pub const LOADER_PREFIX: &str = "ffi.Module.load_from_bytes.";

/// The modules that a library embeds, and their imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportTree<'a> {
    /// The modules in the order of loading. Loading the library returns the first one, which need not be the library
    /// itself. The tree need not contain the library.
    pub nodes: Vec<Node<'a>>,
}

/// A module and its imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// The module.
    pub module: Module<'a>,
    /// Indices into [`ImportTree::nodes`]. Several modules may import the same one.
    pub children: Vec<usize>,
}

/// A module of an import tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Module<'a> {
    /// The library that embeds the tree.
    Library,
    /// A module that a loader creates from bytes.
    Custom {
        /// The kind, which selects the loader `ffi.Module.load_from_bytes.<kind>`.
        kind: Cow<'a, str>,
        /// The argument of the loader, at least one byte.
        bytes: Cow<'a, [u8]>,
    },
}

impl Module<'_> {
    /// Returns the kind as it is encoded.
    pub fn kind(&self) -> &str {
        match self {
            Module::Library => LIBRARY_KIND,
            Module::Custom { kind, .. } => kind,
        }
    }
}

#[cfg(test)]
mod tests;
