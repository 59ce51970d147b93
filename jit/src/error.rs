//! What can go wrong before a function can be called.

use std::error;
use std::fmt;
use std::path::PathBuf;

use abi_spec::library_bin::DecodeError;

use crate::value::CallError;

/// Why something could not be compiled, loaded or registered.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The declarations are wrong.
    Declaration(codegen::Error),
    /// The backend refused: a kernel has another type, a name is taken, the machine is not supported.
    Backend(backend_cranelift::Error),
    /// Symbols that are called, and that neither [`Jit::kernel`](crate::Jit::kernel) nor the module
    /// nor the runtime defines.
    Undefined {
        /// Their names, in the order of first use.
        symbols: Vec<String>,
    },
    /// Memory for code could not be had.
    Memory {
        /// What the system says.
        reason: String,
    },
    /// A library is not a TVM FFI runtime.
    Runtime {
        /// Which library.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The runtime lacks a function: it is older, or the built-in one.
    Unavailable {
        /// The C function.
        function: &'static str,
    },
    /// The memory of a tensor does not have the elements that its shape needs.
    Shape {
        /// Elements that the shape needs.
        needed: usize,
        /// Elements that there are.
        len: usize,
    },
    /// A closure, whose declaration starts with `self: ptr`, was given no context.
    Context {
        /// The function.
        function: String,
    },
    /// The import tree of the library is damaged.
    Imports(DecodeError),
    /// A module that the library imports cannot be made.
    Import {
        /// Its kind.
        kind: String,
        /// Why not.
        reason: &'static str,
    },
    /// The runtime refused.
    Call(CallError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Declaration(error) => write!(f, "{error}"),
            Error::Backend(error) => write!(f, "{error}"),
            Error::Undefined { symbols } => {
                let list: Vec<String> = symbols.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "undefined: {}", list.join(", "))
            }
            Error::Memory { reason } => write!(f, "no memory for code: {reason}"),
            Error::Runtime { path, reason } => {
                write!(f, "{} is not a TVM FFI runtime: {reason}", path.display())
            }
            Error::Unavailable { function } => write!(f, "the runtime has no {function}"),
            Error::Shape { needed, len } => {
                write!(f, "the shape needs {needed} elements and there are {len}")
            }
            Error::Context { function } => write!(f, "closure `{function}` needs a context"),
            Error::Imports(error) => write!(f, "import tree: {error}"),
            Error::Import { kind, reason } => write!(f, "import of kind {kind:?}: {reason}"),
            Error::Call(error) => write!(f, "{error}"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Declaration(error) => Some(error),
            Error::Backend(error) => Some(error),
            Error::Call(error) => Some(error),
            Error::Imports(error) => Some(error),
            Error::Undefined { .. }
            | Error::Memory { .. }
            | Error::Runtime { .. }
            | Error::Unavailable { .. }
            | Error::Shape { .. }
            | Error::Context { .. }
            | Error::Import { .. } => None,
        }
    }
}

impl From<codegen::Error> for Error {
    fn from(error: codegen::Error) -> Self {
        Error::Declaration(error)
    }
}

impl From<backend_cranelift::Error> for Error {
    fn from(error: backend_cranelift::Error) -> Self {
        Error::Backend(error)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Error::Imports(error)
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Error::Call(error)
    }
}
