//! What can go wrong while emitting.

use std::error;
use std::fmt;

use inkwell::builder::BuilderError;
use inkwell::support::LLVMString;
use inkwell::values::InstructionValueError;
use target_lexicon::Triple;

/// Why a module could not be emitted. The caller's module is then as it was.
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
    /// A name to export is defined in the caller's module.
    Defined {
        /// The name.
        symbol: String,
    },
    /// There is no code generator for the target.
    Target {
        /// The target asked for.
        triple: Triple,
        /// Why not.
        reason: String,
    },
    /// LLVM refused.
    Native {
        /// What it says.
        reason: String,
    },
}

impl Error {
    /// LLVM's own words.
    pub(crate) fn native(reason: &LLVMString) -> Self {
        Error::Native { reason: reason.to_string_lossy().trim_end().to_owned() }
    }

    /// Says in which input it went wrong.
    pub(crate) fn within(self, input: &str) -> Self {
        match self {
            Error::Native { reason } => Error::Native { reason: format!("{input}: {reason}") },
            Error::Kernel { .. } | Error::Defined { .. } | Error::Target { .. } => self,
        }
    }
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
            Error::Target { triple, reason } => write!(f, "unsupported target {triple}: {reason}"),
            Error::Native { reason } => write!(f, "llvm: {reason}"),
        }
    }
}

impl error::Error for Error {}

impl From<BuilderError> for Error {
    fn from(error: BuilderError) -> Self {
        Error::Native { reason: error.to_string() }
    }
}

impl From<InstructionValueError> for Error {
    fn from(error: InstructionValueError) -> Self {
        Error::Native { reason: error.to_string() }
    }
}
