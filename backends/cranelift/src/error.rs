//! What can go wrong while emitting.

use std::error;
use std::fmt;

use cranelift_module::ModuleError;
use target_lexicon::Triple;

/// Why a module could not be emitted. After [`Kernel`](Error::Kernel), [`Defined`](Error::Defined) and
/// [`Constructors`](Error::Constructors) the caller's module is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A symbol exists in the caller's module as something else.
    Kernel {
        /// Its name.
        symbol: String,
        /// Which argument differs, counted from 0; `None` for the result, the number of arguments, or
        /// the kind of symbol.
        argument: Option<usize>,
        /// What the host code calls or defines.
        expected: String,
        /// What the caller's module has.
        found: String,
    },
    /// A name to export is defined, or promised to be defined, in the caller's module.
    Defined {
        /// The name.
        symbol: String,
    },
    /// The host IR has constructors, for which the interface of the caller's module has no place: a JIT
    /// would never run them. An object of [`Cranelift`](crate::Cranelift) has one.
    Constructors,
    /// There is no code generator for the target.
    Target {
        /// The target asked for.
        triple: Triple,
        /// Why not.
        reason: String,
    },
    /// Cranelift refused.
    Native {
        /// What it says.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Kernel { symbol, argument: Some(i), expected, found } => {
                write!(f, "`{symbol}`: argument {i} is {found} in the module, expected {expected}")
            }
            Error::Kernel { symbol, argument: None, expected, found } => {
                write!(f, "`{symbol}` is {found} in the module, expected {expected}")
            }
            Error::Defined { symbol } => write!(f, "`{symbol}` is defined in the module already"),
            Error::Constructors => f.write_str("constructors need an object file"),
            Error::Target { triple, reason } => write!(f, "unsupported target {triple}: {reason}"),
            Error::Native { reason } => write!(f, "cranelift: {reason}"),
        }
    }
}

impl error::Error for Error {}

impl From<ModuleError> for Error {
    fn from(error: ModuleError) -> Self {
        let reason = match &error {
            // Its `Display` says only that the verifier failed, not where.
            ModuleError::Compilation(error) => format!("{error:?}"),
            ModuleError::Undeclared(_)
            | ModuleError::IncompatibleDeclaration(_)
            | ModuleError::IncompatibleSignature(..)
            | ModuleError::DuplicateDefinition(_)
            | ModuleError::InvalidImportDefinition(_)
            | ModuleError::Allocation { .. }
            | ModuleError::Backend(_)
            | ModuleError::Flag(_) => error.to_string(),
        };
        Error::Native { reason }
    }
}
