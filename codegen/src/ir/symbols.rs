//! Symbols: names, kinds and linkage.

use std::error;
use std::fmt;

use super::signature::Signature;

/// A symbol.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolData {
    /// The name in the object file, without the extra underscore of Mach-O.
    pub name: String,
    /// The linkage.
    pub linkage: Linkage,
    /// A function or data.
    pub kind: SymbolKind,
}

/// The linkage of a symbol: who defines it and who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Defined in another module, such as the runtime or the user's kernel.
    Import,
    /// Defined here and visible in this module only. A backend may rename it to avoid a collision.
    Local,
    /// Defined here, visible to the loader.
    Export,
    /// Defined alike in every module that uses it: a linker keeps one copy, which is not exported. In a JIT, or in a
    /// caller's module without such symbols, it is local.
    Once,
    /// A variable of zeros that modules define alike, visible to the loader: a linker keeps one, and one that is
    /// defined strongly stands for all.
    Weak,
}

/// The kind of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function of this signature.
    Function(Signature),
    /// A data object.
    Data,
}

/// The error of a declaration whose name has another declaration already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclareError {
    /// The name is declared as data, or as a function of another signature.
    Kind {
        /// The name.
        name: String,
    },
    /// The name is declared with a linkage that cannot be merged.
    Linkage {
        /// The name.
        name: String,
        /// The linkage of the first declaration.
        known: Linkage,
        /// The linkage of the second declaration.
        wanted: Linkage,
    },
}

impl fmt::Display for DeclareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeclareError::Kind { name } => write!(f, "`{name}` is declared as two things"),
            DeclareError::Linkage { name, known, wanted } => {
                write!(f, "`{name}` is declared as {known} and as {wanted}")
            }
        }
    }
}

impl error::Error for DeclareError {}

impl fmt::Display for Linkage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Linkage::Import => "import",
            Linkage::Local => "local",
            Linkage::Export => "export",
            Linkage::Once => "once",
            Linkage::Weak => "weak",
        })
    }
}

impl Linkage {
    /// Returns true if the loader sees the symbol.
    pub fn is_exported(self) -> bool {
        matches!(self, Linkage::Export | Linkage::Weak)
    }

    /// Returns the linkage of a symbol that is declared twice; an import yields to the other linkage.
    pub(super) fn merge(self, other: Linkage) -> Option<Linkage> {
        match (self, other) {
            (known, Linkage::Import) => Some(known),
            (Linkage::Import, wanted) => Some(wanted),
            (known, wanted) => (known == wanted).then_some(known),
        }
    }
}
