//! Symbols of host IR: names, who defines them, who sees them.

use std::error;
use std::fmt;

use super::types::Signature;

/// A name and what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolData {
    /// As the linker sees it, without the extra underscore of Mach-O.
    pub name: String,
    /// Who defines it and who sees it.
    pub linkage: Linkage,
    /// Function or data.
    pub kind: SymbolKind,
}

/// Who defines a symbol and who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Defined elsewhere: the runtime, the user's kernel.
    Import,
    /// Defined here, seen in this module only. A backend may rename it to avoid a collision.
    Local,
    /// Defined here, visible to the loader.
    Export,
    /// Defined in every module that uses it, always in the same way: a linker keeps one copy, which no
    /// loader sees. Inside a JIT, or another caller's module that has no place for it, it is local.
    Once,
}

/// What a symbol names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function of this signature.
    Function(Signature),
    /// A data object.
    Data,
}

/// Why a name cannot be declared: it stands for something else already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclareError {
    /// For data, or for a function of another signature.
    Kind {
        /// The name.
        name: String,
    },
    /// For something that is defined otherwise.
    Linkage {
        /// The name.
        name: String,
        /// How it was declared.
        known: Linkage,
        /// How it was to be declared.
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
        })
    }
}

impl Linkage {
    /// What a symbol is that was declared in two ways. A declaration that says only that the symbol
    /// exists yields to the other.
    pub(super) fn merge(self, other: Linkage) -> Option<Linkage> {
        match (self, other) {
            (known, Linkage::Import) => Some(known),
            (Linkage::Import, wanted) => Some(wanted),
            (known, wanted) => (known == wanted).then_some(known),
        }
    }
}
