//! What can go wrong while emitting.

use std::error;
use std::fmt;

use target_lexicon::Triple;

use crate::ir::Malformed;

/// Why a module could not be emitted. After any error but [`Native`](Error::Native) the caller's module is
/// as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The host IR is malformed.
    Malformed(Malformed),
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
    /// A name to define is defined, or promised to be defined, in the caller's module.
    Defined {
        /// The name.
        symbol: String,
    },
    /// The host IR has constructors, for which the interface of the caller's module has no place: a JIT
    /// would never run them. Object files have one.
    Constructors,
    /// The module belongs to another context than the one given.
    Context,
    /// There is no code generator for the target.
    Target {
        /// The target asked for.
        triple: Triple,
        /// Why not.
        reason: String,
    },
    /// The backend has no such form.
    Unsupported {
        /// What it lacks, and who has it.
        reason: &'static str,
    },
    /// The native compiler refused. The caller's module may then hold some of what was emitted, and is
    /// to be thrown away.
    Native {
        /// The name of the backend.
        backend: &'static str,
        /// What it says.
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
            Error::Unsupported { reason } => f.write_str(reason),
            Error::Native { backend, reason } => write!(f, "{backend}: {reason}"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Malformed(malformed) = self { Some(malformed) } else { None }
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Error::Malformed(malformed)
    }
}

/// A difference between what the host IR says of a symbol and what the caller's module has.
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
