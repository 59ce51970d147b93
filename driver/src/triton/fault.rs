//! Why a kernel of Triton cannot be imported.

use std::fmt;

/// Why a kernel of Triton cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The metadata is no JSON, or no object.
    Metadata {
        /// What it is.
        reason: String,
    },
    /// The metadata lacks what a launch needs; Triton 3.9 writes it.
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// The metadata has something else there than Triton 3.9 writes.
    Key {
        /// The key.
        key: &'static str,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The kernel is launched in a way that declarations cannot say.
    Unsupported {
        /// The key of the metadata that says so.
        key: &'static str,
        /// What it asks for.
        reason: String,
    },
    /// A parameter of the signature means nothing.
    Parameter {
        /// As it is written.
        text: String,
        /// Why not.
        reason: String,
    },
    /// The grid means nothing.
    Grid {
        /// Why not.
        reason: String,
    },
    /// The kernel has other parameters than the signature says.
    Kernel {
        /// The name of the kernel.
        name: String,
        /// What differs.
        reason: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Metadata { reason } => write!(f, "the metadata is not Triton's: {reason}"),
            Fault::MissingKey { key } => {
                write!(f, "the metadata lacks `{key}`, which Triton 3.9 writes")
            }
            Fault::Key { key, expected, found } => {
                write!(f, "`{key}` in the metadata is {found}, not {expected}")
            }
            Fault::Unsupported { key, reason } => {
                write!(f, "`{key}` in the metadata: {reason} cannot be declared")
            }
            Fault::Parameter { text, reason } => write!(f, "parameter `{text}`: {reason}"),
            Fault::Grid { reason } => write!(f, "grid: {reason}"),
            Fault::Kernel { name, reason } => write!(f, "kernel `{name}`: {reason}"),
        }
    }
}
