//! What is wrong, as the runtime knows errors: a kind, which Python has an exception for, and a text.

use std::io;

/// An error to raise.
#[derive(Debug)]
pub(crate) struct Fault {
    /// One of [`abi_spec::error_kind::PYTHON`], or one that the Python package registers: `OSError`,
    /// `FileNotFoundError` and that of [`Fault::internal`].
    pub(crate) kind: String,
    /// What is wrong.
    pub(crate) message: String,
}

impl Fault {
    fn new(kind: &str, message: impl ToString) -> Fault {
        Fault { kind: kind.to_owned(), message: message.to_string() }
    }

    /// A value of the right type that cannot be.
    pub(crate) fn value(message: impl ToString) -> Fault {
        Fault::new("ValueError", message)
    }

    /// A value of a wrong type.
    pub(crate) fn ty(message: impl ToString) -> Fault {
        Fault::new("TypeError", message)
    }

    /// Another program, or the system, fails.
    pub(crate) fn runtime(message: impl ToString) -> Fault {
        Fault::new("RuntimeError", message)
    }

    /// A file cannot be read or written.
    pub(crate) fn file(error: io::Error) -> Fault {
        Fault::new(of_file(&error), error)
    }

    /// A bug of this library. Its kind is ours alone: the runtime has an `InternalError` of its own.
    pub(crate) fn internal(message: impl ToString) -> Fault {
        Fault::new("tvm_ffi_codegen.InternalError", message)
    }
}

impl From<codegen::Error> for Fault {
    fn from(error: codegen::Error) -> Fault {
        Fault::value(error)
    }
}

impl From<driver::Error> for Fault {
    fn from(error: driver::Error) -> Fault {
        use driver::Error as E;
        let kind = match &error {
            E::Read { source, .. } | E::Write { source, .. } => of_file(source),
            E::Declaration { .. }
            | E::Import { .. }
            | E::Target { .. }
            | E::UnknownBackend { .. }
            | E::Object { .. }
            | E::MissingSymbols { .. }
            | E::DuplicateSymbol { .. }
            | E::LibraryContext { .. }
            | E::NoLibrary { .. }
            | E::Triton { .. }
            | E::UnsupportedLink { .. } => "ValueError",
            E::NotBuilt { .. } | E::Backend { .. } | E::Linker { .. } => "RuntimeError",
        };
        Fault::new(kind, error)
    }
}

fn of_file(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::NotFound { "FileNotFoundError" } else { "OSError" }
}

impl From<jit::Error> for Fault {
    fn from(error: jit::Error) -> Fault {
        use jit::Error as E;
        if let E::Call(error) = error {
            return error.into();
        }
        let is_input = matches!(
            error,
            E::Declaration(_)
                | E::Undefined { .. }
                | E::Unknown { .. }
                | E::Context { .. }
                | E::Imports(_)
                | E::Import { .. }
        );
        let kind = if is_input {
            "ValueError"
        } else if matches!(error, E::Memory { .. }) {
            "MemoryError"
        } else {
            "RuntimeError"
        };
        Fault::new(kind, error)
    }
}

/// Somebody else's error, as it is.
impl From<jit::CallError> for Fault {
    fn from(error: jit::CallError) -> Fault {
        Fault { kind: error.kind, message: error.message }
    }
}
