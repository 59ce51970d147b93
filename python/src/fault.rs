//! Errors as the runtime has them: a kind, which names an exception of Python, and a message.

use std::io;

/// An error to raise.
#[derive(Debug)]
pub(crate) struct Fault {
    /// One of [`abi_spec::error_kind::PYTHON`], or one that the Python package registers: `OSError`,
    /// `FileNotFoundError` and that of [`Fault::internal`].
    pub(crate) kind: String,
    /// The message.
    pub(crate) message: String,
}

impl Fault {
    fn new(kind: &str, message: impl ToString) -> Fault {
        Fault { kind: kind.to_owned(), message: message.to_string() }
    }

    /// Makes the error for a wrong value of the right type.
    pub(crate) fn value(message: impl ToString) -> Fault {
        Fault::new("ValueError", message)
    }

    /// Makes the error for a value of a wrong type.
    pub(crate) fn ty(message: impl ToString) -> Fault {
        Fault::new("TypeError", message)
    }

    /// Makes the error for a failure of another program or of the system.
    pub(crate) fn runtime(message: impl ToString) -> Fault {
        Fault::new("RuntimeError", message)
    }

    /// Makes the error for a file that cannot be read or written.
    pub(crate) fn file(error: io::Error) -> Fault {
        Fault::new(of_file(&error), error)
    }

    /// Makes the error for a bug of this library. Its kind has a prefix because the runtime has an `InternalError` too.
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
        if let E::Link { source } = error {
            return source.into();
        }
        let kind = if let E::Write { source, .. } = &error {
            of_file(source)
        } else if matches!(error, E::NotBuilt { .. } | E::Backend { .. }) {
            "RuntimeError"
        } else {
            "ValueError"
        };
        Fault::new(kind, error)
    }
}

impl From<link::Error> for Fault {
    fn from(error: link::Error) -> Fault {
        use link::Error as E;
        let kind = if let E::Read { source, .. } = &error {
            of_file(source)
        } else if matches!(error, E::NotBuilt { .. } | E::Routines { .. } | E::Linker { .. }) {
            "RuntimeError"
        } else {
            "ValueError"
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

/// An error that a callee raised, unchanged.
impl From<jit::CallError> for Fault {
    fn from(error: jit::CallError) -> Fault {
        Fault { kind: error.kind, message: error.message }
    }
}
