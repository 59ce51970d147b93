//! Errors: of compiling, loading and converting, and of calls.

use std::any::Any;
use std::error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use abi_spec::library_bin::DecodeError;
use tvm_ffi_codegen::ir::Signature;

/// An error of compiling, loading, registering or converting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The declarations are not valid.
    Declaration(tvm_ffi_codegen::Error),
    /// The backend refused: a kernel of the native module has another type, a name is taken, the machine is not
    /// supported.
    Backend(backend_cranelift::Error),
    /// Symbols that are used, and that are neither [kernels](crate::Jit::kernel) nor in the native module or the
    /// runtime.
    Undefined {
        /// Their names, in the order of first use.
        symbols: Vec<String>,
    },
    /// A kernel has another type than the declarations call it with.
    Kernel {
        /// The symbol of the kernel.
        symbol: String,
        /// The type that it is called with.
        called: Box<Signature>,
        /// The type of the function that was given to [`Jit::kernel`](crate::Jit::kernel).
        given: Box<Signature>,
    },
    /// A [typed function](crate::Compiled::typed) has other types than its declaration.
    Typed {
        /// The name of the function.
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
        /// The kind of name: `function`, `parameter` or `kernel`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A body does what nobody has vouched for: it launches a GPU kernel or gives a command to the GPU, which
    /// [`Jit::launches`](crate::Jit::launches) allows, or it calls an FFI function that the library does not define,
    /// which [`Jit::calls`](crate::Jit::calls) allows.
    Unvouched {
        /// The GPU kernel, the command or the function.
        what: String,
        /// The method of [`Jit`](crate::Jit) that vouches.
        method: &'static str,
    },
    /// There is no memory for code.
    Memory {
        /// The reason from the system.
        reason: String,
    },
    /// The functions could not be written into the map that profilers read.
    Profile {
        /// The reason from the system.
        reason: String,
    },
    /// A library is not a TVM FFI runtime.
    Runtime {
        /// The library, or the tool that should name one.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The runtime lacks a function, since it is an older release or the built-in one.
    Unavailable {
        /// The name of the function.
        function: &'static str,
    },
    /// The memory of a tensor has another number of elements than its shape needs.
    Shape {
        /// Number of elements that the shape needs.
        needed: usize,
        /// Number of elements of the memory.
        len: usize,
    },
    /// A value is of another type than the requested one, or not in its range.
    Mismatch {
        /// The requested type.
        expected: String,
        /// The value or its type.
        found: String,
    },
    /// The tensor has other references, whose holders may write to it at any time.
    Shared,
    /// The object belongs to another runtime than its receiver, or the code than its importer; a process may have two.
    Foreign,
    /// A closure, whose declaration starts with `self: ptr`, was given no context.
    Context {
        /// The name of the function.
        function: String,
    },
    /// The import tree of the library is damaged.
    Imports(DecodeError),
    /// A module that the library imports cannot be made.
    Import {
        /// The kind of the module.
        kind: String,
        /// The reason.
        reason: &'static str,
    },
    /// A call of the function or of the runtime failed.
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
            Error::Unvouched { what, method } => {
                write!(f, "nobody vouches for `{what}`: see `Jit::{method}`")
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

/// The message contains that of an inner error, so the chain goes on behind that one.
impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Declaration(error) = self {
            error.source()
        } else if let Error::Backend(error) = self {
            error.source()
        } else if let Error::Call(error) = self {
            error.source()
        } else if let Error::Imports(error) = self {
            error.source()
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

/// An error that a function raised, or that prevented the call.
///
/// A closure that is a function ([`Jit::function`](crate::Jit::function)) raises one with its kind; one that a call has
/// returned is raised unchanged, as the same object of the runtime.
#[derive(Clone, Debug)]
pub struct CallError {
    /// The kind, such as `TypeError`.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The backtrace: one line per frame, most recent first. It may be empty.
    pub backtrace: String,
    /// The error object of the runtime that these texts are from.
    pub(crate) object: Option<Arc<dyn Any + Send + Sync>>,
}

impl CallError {
    /// Makes an error without a backtrace. [`raise`](crate::raise()) has more about kinds.
    ///
    /// ```
    /// use tvm_ffi_codegen_jit::CallError;
    ///
    /// let error = CallError::new("ValueError", format!("no layout for {}", 3));
    /// assert_eq!(error.to_string(), "ValueError: no layout for 3");
    /// ```
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> CallError {
        let (kind, message) = (kind.into(), message.into());
        CallError { kind, message, backtrace: String::new(), object: None }
    }

    /// The kind, the message and the backtrace.
    pub(crate) fn texts(&self) -> [&String; 3] {
        [&self.kind, &self.message, &self.backtrace]
    }
}

/// Equal errors have the same texts.
impl PartialEq for CallError {
    fn eq(&self, other: &CallError) -> bool {
        self.texts() == other.texts()
    }
}

impl Eq for CallError {}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl error::Error for CallError {}
