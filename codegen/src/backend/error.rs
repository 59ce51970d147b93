//! The error of backends.

use std::error;
use std::fmt;

use target_lexicon::Triple;

use crate::ir::Malformed;

/// The error of an emission. After any error but [`Native`](Error::Native) the caller's module is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The host IR is malformed.
    Malformed(Malformed),
    /// A symbol exists in the caller's module as another kind or type.
    Kernel {
        /// The name of the symbol.
        symbol: String,
        /// The index of the argument that differs; `None` for the result, the number of arguments, or the kind of
        /// symbol.
        argument: Option<usize>,
        /// The type or kind that the host IR calls or defines.
        expected: String,
        /// The type or kind in the caller's module.
        found: String,
    },
    /// The caller's module defines a symbol that the host IR defines, or declares it with the linkage of a definition.
    Defined {
        /// The name of the symbol.
        symbol: String,
    },
    /// The host IR has constructors, which the interface of the caller's module cannot express: a JIT would never run
    /// them. Object files can.
    Constructors,
    /// The module belongs to another context than the given one.
    Context,
    /// No code generator supports the target.
    Target {
        /// The target.
        triple: Triple,
        /// The reason.
        reason: String,
    },
    /// The object for Windows would not export the symbol. It lists its exports for linkers, to which `"`, `,`, `=` and
    /// `\` in a name mean something else.
    Export {
        /// The name of the symbol.
        symbol: String,
    },
    /// The backend does not have this form.
    Unsupported {
        /// The missing form, and the backends that have it.
        reason: &'static str,
    },
    /// The native compiler failed. The caller's module may be half emitted, and is to be discarded.
    Native {
        /// The name of the backend.
        backend: &'static str,
        /// The message of the compiler.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Malformed(malformed) => write!(f, "{malformed}"),
            Error::Kernel { symbol, argument: Some(i), expected, found } => {
                write!(f, "`{symbol}`: argument {i} is {found} in the module, expected {expected}")
            }
            Error::Kernel { symbol, argument: None, expected, found } => {
                write!(f, "`{symbol}` is {found} in the module, expected {expected}")
            }
            Error::Defined { symbol } => write!(f, "`{symbol}` is defined in the module already"),
            Error::Constructors => f.write_str("constructors need an object file"),
            Error::Context => f.write_str("the module belongs to another context"),
            Error::Target { triple, reason } => write!(f, "unsupported target {triple}: {reason}"),
            Error::Export { symbol } => write!(
                f,
                "`{symbol}` cannot be exported on Windows, where `\"`, `,`, `=` and `\\` in lists of exports are no part of a name"
            ),
            Error::Unsupported { reason } => f.write_str(reason),
            Error::Native { backend, reason } => write!(f, "{backend}: {reason}"),
        }
    }
}

/// The message contains that of an inner error, so the chain goes on behind that one.
impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Malformed(malformed) = self { malformed.source() } else { None }
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Error::Malformed(malformed)
    }
}

/// A difference between a symbol of the host IR and the symbol of the same name in the caller's module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The argument that differs, as in [`Error::Kernel`].
    pub argument: Option<usize>,
    /// The wording of the host IR.
    pub expected: String,
    /// The wording of the caller's module.
    pub found: String,
}

impl Mismatch {
    /// Returns a difference of two kinds or types.
    pub fn new(expected: impl ToString, found: impl ToString) -> Mismatch {
        Mismatch::at(None, expected, found)
    }

    /// Returns a difference of an argument, or of the result.
    pub fn at(argument: Option<usize>, expected: impl ToString, found: impl ToString) -> Mismatch {
        Mismatch { argument, expected: expected.to_string(), found: found.to_string() }
    }

    /// Returns the error for a symbol.
    pub fn of(self, symbol: &str) -> Error {
        let Mismatch { argument, expected, found } = self;
        Error::Kernel { symbol: symbol.to_owned(), argument, expected, found }
    }
}
