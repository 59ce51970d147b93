//! Parsing texts to values, and the positions of errors in them.

use std::str::FromStr;

use super::parser::{Parser, Sought, unmarked};
use crate::declaration::{Expr, Function, Library, Signature};
use crate::error::{Error, Errors, Position};

/// Parses and validates a library: its images, without their bytes, and its functions. The other fields, such as
/// imports, entry and inquiry, are no part of a text, and are `None`.
impl FromStr for Library {
    type Err = Error;

    fn from_str(text: &str) -> Result<Library, Error> {
        let library = parse_library(text)?;
        match library.validate() {
            Ok(()) => Ok(library),
            Err(errors) => Err(errors.into_first().locate(text)),
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
            Err(errors) => Err(errors.locate(text)),
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
        library.validate().map_err(|errors| errors.into_first().locate(text))?;
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

impl Error {
    /// Returns the error with its position in the text from which the library was parsed.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    ///
    /// let text = r#"image code;
    /// f(x: Tensor([n], int8, device=cuda)) -> None = { launch code."k"(x.data) grid(n) block(1); };"#;
    /// let library: Library = text.parse()?;
    /// let error = library.resolve().unwrap_err();
    /// assert!(error.to_string().starts_with("image \"code\": its bytes are not given"));
    /// assert!(error.locate(text).to_string().starts_with("1:1: image \"code\": its bytes"));
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    #[must_use]
    pub fn locate(self, text: &str) -> Error {
        Errors::from(self).locate(text).into_first()
    }
}

impl Errors {
    /// Returns the errors with their positions in the text from which the library was parsed. Those that are about no
    /// part of it stay without.
    #[cold]
    #[must_use]
    pub fn locate(self, text: &str) -> Errors {
        let text = unmarked(text);
        // The parser stores no positions: it runs again, looking for the parts at fault.
        let sought = |error: &Error| {
            if let Error::Image { index, .. } = error {
                return Some(Sought::Image(*index));
            }
            error.site().map(|site| Sought::Part(site.function, site.part))
        };
        let found = Parser::find(text, self.as_slice().iter().filter_map(sought));
        let located = |error: Error| {
            let offset = sought(&error).and_then(|sought| found.get(&sought).copied().flatten());
            match offset {
                Some(offset) => error.at(Position::new(text, offset)),
                None => error,
            }
        };
        Errors::new(self.into_iter().map(located).collect())
    }
}
