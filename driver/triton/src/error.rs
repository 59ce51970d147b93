//! Errors of the import.

use std::error;
use std::fmt;

/// Reason why a kernel of Triton cannot be declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The metadata is not a JSON object.
    Metadata {
        /// The error of the JSON parser, or the kind of value found.
        reason: String,
    },
    /// The metadata lacks a key that launches need and Triton 3.9 writes.
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A key of the metadata has a value that Triton 3.9 does not write.
    Key {
        /// The key.
        key: &'static str,
        /// The kind of value expected.
        expected: &'static str,
        /// The value found, as JSON.
        found: String,
    },
    /// The kernel needs a launch that declarations cannot express.
    Unsupported {
        /// The key of the metadata that asks for the launch.
        key: &'static str,
        /// The feature that is missing.
        reason: String,
    },
    /// A parameter of the signature is malformed or contradicts itself.
    Parameter {
        /// The parameter as it is written.
        text: String,
        /// The mistake.
        reason: String,
    },
    /// The grid is malformed.
    Grid {
        /// The mistake.
        reason: String,
    },
    /// The parameters of the kernel differ from those of the signature.
    Kernel {
        /// The name of the kernel.
        name: String,
        /// The difference.
        reason: String,
    },
    /// The names, shapes and expressions of the signature form no valid declaration.
    Declaration {
        /// The error of the declaration.
        source: Box<codegen::Error>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Metadata { reason } => write!(f, "the metadata is not Triton's: {reason}"),
            Error::MissingKey { key } => {
                write!(f, "the metadata lacks `{key}`, which Triton 3.9 writes")
            }
            Error::Key { key, expected, found } => {
                write!(f, "`{key}` in the metadata is {found}, not {expected}")
            }
            Error::Unsupported { key, reason } => {
                write!(f, "`{key}` in the metadata: {reason} cannot be declared")
            }
            Error::Parameter { text, reason } => write!(f, "parameter `{text}`: {reason}"),
            Error::Grid { reason } => write!(f, "grid: {reason}"),
            Error::Kernel { name, reason } => write!(f, "kernel `{name}`: {reason}"),
            Error::Declaration { source } => write!(f, "{source}"),
        }
    }
}

/// The message contains that of an inner error, so the chain goes on behind that one.
impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Declaration { source } = self { source.source() } else { None }
    }
}
