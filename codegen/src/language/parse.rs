//! Parsing texts to values, and the positions of errors in them.

use std::str::FromStr;

use super::parser::{Parser, Sought};
use crate::declaration::{Expr, Function, Library, Signature};
use crate::error::{Error, Errors, Position};

/// Parses and validates a library. Its imports are no part of its text.
impl FromStr for Library {
    type Err = Error;

    fn from_str(text: &str) -> Result<Library, Error> {
        let library = parse_library(text)?;
        match library.validate() {
            Ok(()) => Ok(library),
            Err(errors) => Err(locate(text, errors.into_first())),
        }
    }
}

impl Library {
    /// Parses and validates a library, as `parse` of the text does.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    ///
    /// let errors = Library::parse("f(n: int64) -> None = k(m);\ng() -> int64 = { };").unwrap_err();
    /// let lines: Vec<usize> =
    ///     errors.as_slice().iter().filter_map(|error| Some(error.position()?.line)).collect();
    /// assert_eq!(lines, [1, 2]);
    /// ```
    ///
    /// # Errors
    /// The first fault of the grammar, or else those of [`validate`](Library::validate), with positions in the text.
    pub fn parse(text: &str) -> Result<Library, Errors> {
        let library = parse_library(text)?;
        match library.validate() {
            Ok(()) => Ok(library),
            Err(errors) => Err(locate_all(text, errors)),
        }
    }
}

/// Parses one declaration, `;` included, and validates it as if the images that it launches existed. It knows no other
/// function, so that a `let` says the type of what another one returns.
impl FromStr for Function {
    type Err = Error;

    fn from_str(text: &str) -> Result<Function, Error> {
        let function = Parser::whole(text, Parser::function)?;
        let mut library = Library::from(vec![function]);
        library.images = library.functions[0].images();
        library.validate().map_err(|errors| locate(text, errors.into_first()))?;
        Ok(library.functions.remove(0))
    }
}

/// Parses a signature. It is not validated, since its names depend on the body.
impl FromStr for Signature {
    type Err = Error;

    fn from_str(text: &str) -> Result<Signature, Error> {
        Parser::whole(text, Parser::signature)
    }
}

/// Parses an expression. It is not validated, since its names depend on the function.
impl FromStr for Expr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Expr, Error> {
        Parser::whole(text, Parser::expr)
    }
}

/// Parses a library without validation.
pub(super) fn parse_library(text: &str) -> Result<Library, Error> {
    Parser::whole(text, Parser::library)
}

/// Adds the position in `text` to an error about its declaration.
#[cold]
pub(crate) fn locate(text: &str, error: Error) -> Error {
    locate_all(text, error.into()).into_first()
}

/// Adds the positions in `text` to errors about its declarations. The parser stores no positions: it runs again, looking
/// for the parts at fault.
#[cold]
pub(crate) fn locate_all(text: &str, errors: Errors) -> Errors {
    let sought = |error: &Error| {
        if let Error::Image { index, .. } = error {
            return Some(Sought::Image(*index));
        }
        error.site().map(|site| Sought::Part(site.function, site.part))
    };
    let found = Parser::find(text, errors.as_slice().iter().filter_map(sought));
    let located = |error: Error| {
        let offset = sought(&error).and_then(|sought| found.get(&sought).copied().flatten());
        match offset {
            Some(offset) => error.at(Position::new(text, offset)),
            None => error,
        }
    };
    Errors::new(errors.into_iter().map(located).collect())
}
