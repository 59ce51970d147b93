//! Errors between a file of declarations and a library on disk.

use std::error;
use std::fmt::{self, Write};
use std::io;
use std::path::PathBuf;

use codegen::backend;
use link::printable::Printable;

use crate::BackendName;

/// A failure of the input or of the machine. Bugs of this library panic.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read, is not a usable object, or cannot be linked.
    Link {
        /// The error of the crate that reads and links files.
        source: link::Error,
    },
    /// The output could not be written. A file that existed is unchanged.
    Write {
        /// The file; `-` for standard output.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The declarations are wrong.
    Declaration {
        /// The file, if there is one; `-` for standard input.
        path: Option<PathBuf>,
        /// The faults, with their positions.
        source: codegen::Errors,
    },
    /// A module for a library to import cannot be embedded.
    Import {
        /// The file with the description or the bytes of the module.
        path: PathBuf,
        /// Line and column, counted from 1, if known.
        position: Option<(usize, usize)>,
        /// The mistake.
        reason: String,
    },
    /// A kernel of Triton cannot be imported.
    Triton {
        /// The reason.
        source: triton::Error,
    },
    /// An option makes no sense with the others.
    Usage {
        /// The field of [`Request`](crate::Request), which Python's option is named after.
        option: &'static str,
        /// The rest of the sentence that begins with the option.
        reason: String,
    },
    /// A target is unknown.
    Target {
        /// The name.
        name: String,
        /// The error of the parser.
        source: target_lexicon::ParseError,
    },
    /// There is no backend of this name.
    UnknownBackend {
        /// The name asked for.
        name: String,
    },
    /// A backend exists but was left out of this build.
    NotBuilt {
        /// The backend.
        name: &'static str,
        /// The cargo feature of this crate that adds it.
        feature: &'static str,
    },
    /// The backend refused, for example because it has no code generator for the target.
    Backend {
        /// The name of the backend.
        name: &'static str,
        /// The error of the backend.
        source: Box<dyn error::Error + Send + Sync>,
    },
    /// The declarations call functions that no linked file defines.
    MissingSymbols {
        /// Their names, in the order in which the declarations use them.
        names: Vec<String>,
        /// A function of C++ in a linked file that has one of these names in the source, by its symbol.
        mangled: Option<String>,
    },
    /// The declarations call something that a linked file defines, and that is no function.
    Data {
        /// Its name.
        name: String,
        /// The file.
        file: String,
    },
    /// A linked file uses the variable `__tvm_ffi__library_ctx`, which is defined only in a library whose import tree
    /// holds the library itself.
    LibraryContext {
        /// The file.
        file: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Untrusted inputs are quoted.
        let mut f = Printable(f);
        match self {
            Error::Link { source } => write!(f, "{source}"),
            Error::Write { path, source } => write!(f, "cannot write {}: {source}", path.display()),
            Error::Declaration { path: Some(path), source } => {
                for (index, error) in source.as_slice().iter().enumerate() {
                    let between = if index == 0 { "" } else { "\n" };
                    let separator = if error.position().is_some() { ":" } else { ": " };
                    write!(f, "{between}{}{separator}{error}", path.display())?;
                }
                Ok(())
            }
            Error::Declaration { path: None, source } => write!(f, "{source}"),
            Error::Import { path, position: Some((line, column)), reason } => {
                write!(f, "{}:{line}:{column}: {reason}", path.display())
            }
            Error::Import { path, position: None, reason } => {
                write!(f, "{}: {reason}", path.display())
            }
            Error::Triton { source } => write!(f, "{source}"),
            Error::Usage { option, reason } => write!(f, "option {option} {reason}"),
            Error::Target { name, source } => write!(f, "unknown target `{name}`: {source}"),
            Error::UnknownBackend { name } => {
                let known: Vec<&str> = BackendName::ALL.iter().map(|known| known.name()).collect();
                write!(f, "unknown backend `{name}`, expected one of {}", known.join(", "))
            }
            Error::NotBuilt { name, feature } => {
                write!(
                    f,
                    "{name} is not part of this build: enable the cargo feature `{feature}`"
                )?;
                // Backends that are left out are LLVM's.
                if BackendName::ALL.iter().any(|backend| backend.name() == *feature) {
                    write!(
                        f,
                        ", in Python `TVM_FFI_CODEGEN_FEATURES={feature} pip install --no-binary \
                         tvm-ffi-codegen tvm-ffi-codegen`, where LLVM 22 and Rust are installed"
                    )?;
                }
                Ok(())
            }
            Error::Backend { name, source } => match source.downcast_ref() {
                // An error of a native compiler begins with the name of its backend.
                Some(backend::Error::Native { backend, reason }) if backend == name => {
                    write!(f, "backend {name}: {reason}")
                }
                Some(_) | None => write!(f, "backend {name}: {source}"),
            },
            Error::MissingSymbols { names, mangled } => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                let names = names.join(", ");
                write!(f, "{names} {verb} called by a declaration and defined by no linked file")?;
                if let Some(mangled) = mangled {
                    write!(
                        f,
                        "; `{mangled}` is one of C++, to which `extern \"C\"` gives that name"
                    )?;
                }
                Ok(())
            }
            Error::Data { name, file } => {
                write!(f, "`{name}` is called by a declaration, and is data in {file}")
            }
            Error::LibraryContext { file } => {
                write!(
                    f,
                    "{file} uses `__tvm_ffi__library_ctx`, which a library has that imports "
                )?;
                f.write_str("something: give --import or --import-tree (`Library::imports`)")
            }
        }
    }
}

impl Error {
    /// Returns the error, of which those about declarations have their positions in the text from which they were
    /// parsed.
    pub fn locate(self, text: &str) -> Error {
        if let Error::Declaration { path, source } = self {
            return Error::Declaration { path, source: source.locate(text) };
        }
        self
    }

    /// Returns the messages of an error: one for each error of a declaration in a file.
    pub(crate) fn messages(&self) -> Vec<String> {
        let Error::Declaration { path: Some(path), source } = self else {
            return vec![self.to_string()];
        };
        let message = |error: &codegen::Error| {
            let (path, source) = (Some(path.clone()), error.clone().into());
            Error::Declaration { path, source }.to_string()
        };
        source.as_slice().iter().map(message).collect()
    }
}

/// The message contains that of an inner error, so the chain goes on behind that one.
impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Link { source } = self {
            source.source()
        } else if let Error::Write { source, .. } = self {
            source.source()
        } else if let Error::Declaration { source, .. } = self {
            source.source()
        } else if let Error::Triton { source } = self {
            source.source()
        } else if let Error::Backend { source, .. } = self {
            source.source()
        } else {
            None
        }
    }
}

impl From<triton::Error> for Error {
    fn from(source: triton::Error) -> Error {
        if let triton::Error::Declaration { source } = source {
            return Error::Declaration { path: None, source: (*source).into() };
        }
        Error::Triton { source }
    }
}

impl From<link::Error> for Error {
    fn from(source: link::Error) -> Error {
        Error::Link { source }
    }
}
