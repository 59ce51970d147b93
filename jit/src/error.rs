//! What can go wrong: before a function can be called, in a call, and with what it returns.

use std::error;
use std::fmt;
use std::path::PathBuf;

use abi_spec::library_bin::DecodeError;
use tvm_ffi_codegen::ir::Signature;

/// Why something could not be compiled, loaded, registered or read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The declarations are wrong.
    Declaration(tvm_ffi_codegen::Error),
    /// The backend refused: a kernel has another type, a name is taken, the machine is not supported.
    Backend(backend_cranelift::Error),
    /// Symbols that are called, and that neither [`Jit::kernel`](crate::Jit::kernel) nor the module
    /// nor the runtime defines.
    Undefined {
        /// Their names, in the order of first use.
        symbols: Vec<String>,
    },
    /// A kernel has another type than the declarations call it with.
    Kernel {
        /// Its name.
        symbol: String,
        /// The type that it is called with.
        called: Signature,
        /// The type of the function that was given to [`Jit::kernel`](crate::Jit::kernel).
        given: Signature,
    },
    /// A [typed function](crate::Compiled::typed) has other types than its declaration.
    Typed {
        /// The function.
        function: String,
        /// `argument #1`, `the number of arguments` or `the result`.
        part: String,
        /// The type in the declaration.
        declared: String,
        /// The Rust type.
        given: String,
    },
    /// The declarations have no such function, parameter or kernel.
    Unknown {
        /// What is looked for: `function`, `parameter`, `kernel`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The declarations launch a kernel, for which nobody has vouched: [`Jit::launches`](crate::Jit::launches).
    Launch {
        /// Its name.
        kernel: String,
    },
    /// Memory for code could not be had.
    Memory {
        /// What the system says.
        reason: String,
    },
    /// The functions could not be written into the file that profilers read.
    Profile {
        /// What the system says.
        reason: String,
    },
    /// A library is not a TVM FFI runtime.
    Runtime {
        /// Which library, or the tool that was to name one.
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
    /// A value is of another type, or cannot be seen as what was asked for.
    Mismatch {
        /// What was asked for.
        expected: String,
        /// What there is.
        found: String,
    },
    /// Somebody else holds the tensor too, and may write to it at any time.
    Shared,
    /// Two runtimes are in the process, and this belongs to the other one.
    Foreign,
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

impl Error {
    pub(crate) fn mismatch(expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::Mismatch { expected: expected.into(), found: found.into() }
    }
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
            Error::Kernel { symbol, called, given } => {
                write!(f, "kernel `{symbol}` is called as {called} and was given as {given}")
            }
            Error::Typed { function, part, declared, given } => {
                write!(f, "{part} of `{function}` is declared as {declared} but typed as {given}")
            }
            Error::Unknown { what, name } => write!(f, "no {what} `{name}` is declared"),
            Error::Launch { kernel } => {
                write!(f, "`{kernel}` is launched, for which `Jit::launches` has to vouch")
            }
            Error::Memory { reason } => write!(f, "no memory for code: {reason}"),
            Error::Profile { reason } => write!(f, "no map for profilers: {reason}"),
            Error::Runtime { path, reason } => {
                write!(f, "{} is not a TVM FFI runtime: {reason}", path.display())
            }
            Error::Unavailable { function } => write!(f, "the runtime has no {function}"),
            Error::Shape { needed, len } => {
                write!(f, "the shape needs {needed} elements and there are {len}")
            }
            Error::Mismatch { expected, found } => write!(f, "expected {expected} but got {found}"),
            Error::Shared => f.write_str("the tensor has other holders, who may write to it"),
            Error::Foreign => f.write_str("the object belongs to another runtime"),
            Error::Context { function } => write!(f, "closure `{function}` needs a context"),
            Error::Imports(error) => write!(f, "import tree: {error}"),
            Error::Import { kind, reason } => write!(f, "import of kind {kind:?}: {reason}"),
            Error::Call(error) => write!(f, "{error}"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Declaration(error) = self {
            Some(error)
        } else if let Error::Backend(error) = self {
            Some(error)
        } else if let Error::Call(error) = self {
            Some(error)
        } else if let Error::Imports(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

impl From<tvm_ffi_codegen::Error> for Error {
    fn from(error: tvm_ffi_codegen::Error) -> Self {
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

/// An error that a function raised, or that kept a call from being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// `TypeError` and the like.
    pub kind: String,
    /// The text.
    pub message: String,
    /// One line per frame, most recent first; may be empty.
    pub backtrace: String,
}

impl CallError {
    pub(crate) fn new(kind: &str, message: String) -> CallError {
        CallError { kind: kind.to_owned(), message, backtrace: String::new() }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl error::Error for CallError {}
