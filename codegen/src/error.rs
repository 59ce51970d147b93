//! Errors about declarations, and the parts of a declaration that they are about.

use std::fmt;

use abi_spec::library_bin::TreeError;

use crate::declaration::Location;
use crate::declaration::limit::Limit;
use crate::declaration::reserved::{name_fault, spelled_label};

/// Reason why a text or a [`Library`](crate::Library) is not valid.
///
/// `Display` prints one line. It begins with the position in the text, if there is a text, and the
/// [location](Error::location) that the declaration gives, if it gives one: `demo.mt:2: `. The source line and a caret
/// follow a position:
///
/// ```
/// let error = "f(n: int7) -> None = k();".parse::<tvm_ffi_codegen::Library>().unwrap_err();
/// let text = "\
/// 1:6: expected `Tensor` or another type such as `float32`, found `int7`
///   | f(n: int7) -> None = k();
///   |      ^";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text does not follow the [grammar](crate::language).
    Syntax {
        /// Position of the first token that does not fit.
        position: Box<Position>,
        /// Declared location of the statement that has it, of one around that, or of the function.
        location: Option<Box<Location>>,
        /// Tokens that fit there.
        expected: String,
        /// Token that stands there.
        found: String,
    },
    /// A declaration exceeds a limit.
    Limit {
        /// The limit.
        limit: Limit,
        /// Part that is too large; `None` if the parser found it, or if the whole library is too large.
        site: Option<Site>,
        /// Declared location, if the parser found it: that of the statement, of one around it, or of the function.
        location: Option<Box<Location>>,
        /// Position of the part; `None` if the library does not come from a text.
        position: Option<Box<Position>>,
    },
    /// The declaration is well-formed but has no meaning.
    Invalid {
        /// Part at fault.
        site: Site,
        /// Reason, without the part.
        reason: String,
        /// Position of the part; `None` if the library does not come from a text.
        position: Option<Box<Position>>,
    },
    /// The entry is not a function of the library.
    Entry {
        /// Name of the entry.
        name: String,
    },
    /// A function that is meant for a host besides TVM FFI is no function of the library.
    Registered {
        /// The host: `handlers` or `torch`.
        host: &'static str,
        /// Name of the function.
        name: String,
    },
    /// The function that is [asked after calls of kernels](crate::Library::inquiry) has no name, or its kernels are not
    /// those of the library.
    Inquiry {
        /// Reason.
        reason: String,
    },
    /// The prefix of a system library cannot be used.
    Prefix {
        /// The prefix.
        prefix: String,
        /// Reason.
        reason: String,
    },
    /// An image cannot be used.
    Image {
        /// Index of the image in the library.
        index: usize,
        /// Name of the image.
        name: String,
        /// Reason.
        reason: String,
        /// Position of the image; `None` if the library does not come from a text.
        position: Option<Box<Position>>,
    },
    /// The import tree cannot be embedded.
    Imports {
        /// Reason.
        source: TreeError,
    },
}

impl Error {
    /// Returns the position of the fault in the text; `None` if there is no text.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Error::Syntax { position, .. } => Some(position),
            Error::Limit { position, .. }
            | Error::Invalid { position, .. }
            | Error::Image { position, .. } => position.as_deref(),
            Error::Imports { .. }
            | Error::Entry { .. }
            | Error::Registered { .. }
            | Error::Inquiry { .. }
            | Error::Prefix { .. } => None,
        }
    }

    /// Returns the part at fault; `None` if the error is not about a known part of a function.
    pub fn site(&self) -> Option<&Site> {
        match self {
            Error::Limit { site, .. } => site.as_ref(),
            Error::Invalid { site, .. } => Some(site),
            Error::Syntax { .. } | Error::Image { .. } => None,
            Error::Imports { .. }
            | Error::Entry { .. }
            | Error::Registered { .. }
            | Error::Inquiry { .. }
            | Error::Prefix { .. } => None,
        }
    }

    /// Returns the location of the statement at fault, or of one around it, or of the function; `None` if the
    /// declaration has none.
    pub fn location(&self) -> Option<&Location> {
        if let Error::Syntax { location, .. } | Error::Limit { location: location @ Some(_), .. } =
            self
        {
            return location.as_deref();
        }
        self.site().and_then(|site| site.location.as_deref())
    }

    /// Makes the error for a whole library that exceeds a limit.
    pub fn excess(limit: Limit) -> Error {
        Error::Limit { limit, site: None, location: None, position: None }
    }

    /// Returns the error with a position.
    pub(crate) fn at(mut self, found: Position) -> Error {
        match &mut self {
            Error::Syntax { position, .. } => **position = found,
            Error::Limit { position, .. }
            | Error::Invalid { position, .. }
            | Error::Image { position, .. } => {
                *position = Some(Box::new(found));
            }
            Error::Imports { .. }
            | Error::Entry { .. }
            | Error::Registered { .. }
            | Error::Inquiry { .. }
            | Error::Prefix { .. } => {}
        }
        self
    }
}

/// The message contains that of an inner error, so the chain goes on behind that one.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Error::Imports { source } = self { source.source() } else { None }
    }
}

impl From<TreeError> for Error {
    fn from(source: TreeError) -> Error {
        Error::Imports { source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position() {
            write!(f, "{}:{}: ", position.line, position.column)?;
        }
        self.location().map_or(Ok(()), |location| location.head(f))?;
        if let Some(site) = self.site() {
            write!(f, "{site}: ")?;
        }
        match self {
            Error::Syntax { expected, found, .. } => {
                write!(f, "expected {expected}, found {found}")?;
            }
            Error::Limit { limit, .. } => write!(f, "{limit}")?,
            Error::Invalid { reason, .. } => f.write_str(reason)?,
            Error::Imports { source } => write!(f, "imports: {source}")?,
            Error::Entry { name } => write!(f, "entry: there is no function {name:?}")?,
            Error::Registered { host, name } => {
                write!(f, "{host}: there is no function {name:?}")?;
            }
            Error::Inquiry { reason } => write!(f, "inquiry: {reason}")?,
            Error::Image { name, reason, .. } => write!(f, "image {name:?}: {reason}")?,
            Error::Prefix { prefix, reason } => {
                write!(f, "system library prefix {prefix:?}: {reason}")?;
            }
        }
        self.position().map_or(Ok(()), |position| write!(f, "\n{position}"))
    }
}

/// The faults of a library, at least one, in the order of its functions. `Display` prints them one below the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Vec<Error>);

impl Errors {
    /// Returns faults, of which there must be one.
    pub(crate) fn new(errors: Vec<Error>) -> Errors {
        assert!(!errors.is_empty(), "a failure has a fault");
        Errors(errors)
    }

    /// Returns the faults.
    pub fn as_slice(&self) -> &[Error] {
        &self.0
    }

    /// Returns the number of faults, which is not 0.
    #[expect(clippy::len_without_is_empty, reason = "there is a fault at least")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the faults, one after the other.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Error, Library};
    ///
    /// let errors = Library::parse("f() -> None = k(n); g() -> None = k(m);").unwrap_err();
    /// assert_eq!(errors.len(), 2);
    /// assert!(errors.iter().all(|error| error.site().is_some()));
    /// for error in &errors {
    ///     assert!(matches!(error, Error::Invalid { .. }));
    /// }
    /// ```
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.0.iter()
    }

    /// Returns the first fault.
    pub fn into_first(mut self) -> Error {
        self.0.swap_remove(0)
    }
}

impl IntoIterator for Errors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Errors {
        Errors(vec![error])
    }
}

/// Returns the first fault.
impl From<Errors> for Error {
    fn from(errors: Errors) -> Error {
        errors.into_first()
    }
}

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// A position in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line number, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Text of the line, with blanks for tabs and other control characters. Of a long line it is an excerpt around
    /// the position, with `…` at each end that is cut off.
    pub source_line: String,
    /// Number of characters of `source_line` before the position.
    pub caret: usize,
}

/// Number of characters of a source line that are shown.
const WINDOW: usize = 100;

impl Position {
    /// Computes the position of byte `offset` of `text`, which must be a character boundary.
    pub(crate) fn new(text: &str, offset: usize) -> Position {
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[offset..].find('\n').map_or(text.len(), |length| offset + length);
        let line = text[start..end].trim_end_matches('\r');
        let column = text[start..offset].chars().count();
        let length = line.chars().count();
        let first = column.saturating_sub(WINDOW / 2).min(length.saturating_sub(WINDOW));
        let (cut_before, cut_after) = (first > 0, first + WINDOW < length);
        let mut source_line = String::from(if cut_before { "…" } else { "" });
        let shown = line.chars().skip(first).take(WINDOW);
        source_line.extend(shown.map(|c| if c.is_control() { ' ' } else { c }));
        source_line.push_str(if cut_after { "…" } else { "" });
        Position {
            line: before.matches('\n').count() + 1,
            column: column + 1,
            source_line,
            caret: column - first + usize::from(cut_before),
        }
    }
}

/// Prints the source line and, below it, a caret.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  | {}", self.source_line)?;
        write!(f, "  | {:width$}^", "", width = self.caret)
    }
}

/// The subject of an error, independent of any text. `Display` prints `add_one: x.shape[0]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Index of the function in the library.
    pub function: usize,
    /// Name of the function.
    pub name: String,
    /// Part of the function.
    pub part: Part,
    /// Spelling of the part, such as `x.shape[0]`; empty for the function's name.
    pub path: String,
    /// Declared location of the statement, of one around it, or of the function.
    pub location: Option<Box<Location>>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_name(&self.name) {
            write!(f, "{}", spelled_label(&self.name))?;
        } else {
            write!(f, "function {}", self.function)?;
        }
        if self.path.is_empty() { Ok(()) } else { write!(f, ": {}", self.path) }
    }
}

/// Returns true if a name can be shown: a text can spell it.
pub(crate) fn is_name(name: &str) -> bool {
    name_fault(name).is_none()
}

/// A part of a function. Numbers are indices, counted from 0.
///
/// [`Param`](Part::Param) and [`Default`](Part::Default) count parameters. [`Type`](Part::Type), [`Dim`](Part::Dim),
/// [`Stride`](Part::Stride), [`Align`](Part::Align) and [`Dtype`](Part::Dtype) count *values*: the parameters, each
/// followed by what is nested in its type, as [`Type`](Part::Type) says. [`Part::param`] and [`Site::param`] return the
/// parameter of either, for a compiler that has a place of its own for each:
///
/// ```
/// use tvm_ffi_codegen::{Call, Library, Part, Signature};
///
/// // The values are t, its two elements, u, its two alternatives, and x.
/// let text = "f(t: Tuple[int64, float32], u: Optional[Union[int64, str]], x: Tensor([n + m], float32)) -> None";
/// let signature: Signature = text.parse()?;
/// let library = Library::new([signature.body(Call::kernel("k", ["x"]))]);
/// let error = library.validate().unwrap_err().into_first();
/// let site = error.site().expect("it is about a part of a function");
/// assert_eq!((site.part, &*site.path), (Part::Dim(6, 0), "x.shape[0]"));
/// assert_eq!(site.param(&library), Some(2));
///
/// let signature = &library.functions[0].signature;
/// assert_eq!(Part::Type(2).param(signature), Some(0));
/// assert_eq!(Part::Default(1).param(signature), Some(1));
/// assert_eq!(Part::Constraint(0).param(signature), None);
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The documentation.
    Docs,
    /// The source location of the function.
    Location,
    /// The name of the function.
    Name,
    /// A parameter.
    Param(usize),
    /// The default of a parameter.
    Default(usize),
    /// The type of a value. Values are the parameters, each followed by the values that are nested in its type: each
    /// element of a tuple, the elements of a sequence (one value), the keys and the values of a mapping (two), and each
    /// type of a union. `Optional` adds none.
    Type(usize),
    /// An extent of a tensor, or a number of a shape: index of the value, dim.
    Dim(usize, usize),
    /// A stride of a tensor: index of the value, dim.
    Stride(usize, usize),
    /// The alignment of a value.
    Align(usize),
    /// The element type of a tensor: index of the value.
    Dtype(usize),
    /// A condition of the `where` clause.
    Constraint(usize),
    /// The result type.
    Result,
    /// A tensor that the function allocates and returns.
    Output(usize),
    /// The C function that a body without statements calls.
    Callee,
    /// An argument of that call.
    Argument(usize),
    /// An entry of the `errors` clause of that call.
    Status(usize),
    /// A statement of a program. Statements of nested blocks are counted, in source order.
    Statement(usize),
    /// An arm of a `match`, or a branch of an `if` other than the first: index of the statement, number of the arm or
    /// branch.
    Arm(usize, usize),
}

impl Part {
    /// Returns entry `index` of the list that starts with this part; a part that starts no list is returned
    /// unchanged.
    pub(crate) fn number(self, index: usize) -> Part {
        if let Part::Argument(first) = self {
            return Part::Argument(first + index);
        }
        if let Part::Status(first) = self { Part::Status(first + index) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places can be kept in sets, and errors compared, by compilers.
    #[test]
    fn places_are_hashed_and_errors_are_equal() {
        fn is_hashed<T: Eq + std::hash::Hash>() {}
        fn is_equal<T: Eq>() {}
        is_hashed::<(Location, Position, Site, Part, Limit)>();
        is_equal::<(Error, Errors)>();
    }
}
