//! What can go wrong while emitting, and how MLIR's diagnostics become values.

use std::cell::RefCell;
use std::error;
use std::fmt;
use std::rc::Rc;

use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use target_lexicon::Triple;

/// Why a module could not be emitted. The caller's module is then as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
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
    /// A name to export is defined in the caller's module.
    Defined {
        /// The name.
        symbol: String,
    },
    /// There is no code generator for the target.
    Target {
        /// The target asked for.
        triple: Triple,
        /// Why not.
        reason: String,
    },
    /// MLIR or LLVM refused.
    Native {
        /// What they say.
        reason: String,
    },
    /// The module belongs to another context than the one given.
    Context,
}

impl Error {
    /// MLIR's own words.
    pub(crate) fn native(reason: String) -> Self {
        Error::Native { reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Kernel { symbol, argument: Some(i), expected, found } => {
                write!(f, "`{symbol}`: argument {i} is {found} in the module, expected {expected}")
            }
            Error::Kernel { symbol, argument: None, expected, found } => {
                write!(f, "`{symbol}` is {found} in the module, expected {expected}")
            }
            Error::Defined { symbol } => write!(f, "`{symbol}` is defined in the module already"),
            Error::Target { triple, reason } => write!(f, "unsupported target {triple}: {reason}"),
            Error::Native { reason } => write!(f, "mlir: {reason}"),
            Error::Context => f.write_str("the module belongs to another context"),
        }
    }
}

impl error::Error for Error {}

impl From<backend_llvm::Error> for Error {
    fn from(error: backend_llvm::Error) -> Self {
        match error {
            backend_llvm::Error::Kernel { symbol, argument, expected, found } => {
                Error::Kernel { symbol, argument, expected, found }
            }
            backend_llvm::Error::Defined { symbol } => Error::Defined { symbol },
            backend_llvm::Error::Target { triple, reason } => Error::Target { triple, reason },
            backend_llvm::Error::Native { reason } => Error::Native { reason },
        }
    }
}

/// Runs `action`; where it yields nothing, the error is what MLIR said meanwhile. Nothing reaches stderr.
pub(crate) fn diagnosed<T>(
    context: &Context,
    action: impl FnOnce() -> Option<T>,
) -> Result<T, String> {
    let said = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&said);
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
            heard.borrow_mut().push(describe(&diagnostic));
        }
        true
    });
    let result = action();
    context.detach_diagnostic_handler(handler);
    result.ok_or_else(|| said.borrow().join("; "))
}

/// The message, after the line and column of a text or the function it is about.
fn describe(diagnostic: &Diagnostic<'_>) -> String {
    let location = diagnostic.location();
    if location.is_file_line_col_range() {
        let (line, column) = (
            location.file_line_col_range_start_line(),
            location.file_line_col_range_start_column(),
        );
        return format!("{line}:{column}: {diagnostic}");
    }
    let name = location.is_name().then(|| location.name_value());
    match name.as_ref().and_then(|name| name.as_string_ref().as_str().ok().map(str::to_owned)) {
        Some(name) => format!("@{name}: {diagnostic}"),
        None => diagnostic.to_string(),
    }
}
