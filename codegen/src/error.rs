//! What can be wrong with a declaration, and where.

use std::fmt;

use abi_spec::library_bin::TreeError;

use crate::declaration::is_identifier;
use crate::declaration::limit::{Limit, MAX_NAME};

/// Why a text or a [`Library`](crate::Library) is not valid.
///
/// `Display` prints one line, and below it the source line and a caret if the position is known:
///
/// ```
/// let error = "f(n: int7) -> None = k();".parse::<tvm_ffi_codegen::Library>().unwrap_err();
/// let text = "\
/// 1:6: expected `Tensor` or another type such as `float32`, found `int7`
///   | f(n: int7) -> None = k();
///   |      ^";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The text does not follow the [grammar](crate::language).
    Syntax {
        /// Where the parser gave up.
        position: Box<Position>,
        /// What could have stood there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// There is too much of something.
    Limit {
        /// Of what.
        limit: Limit,
        /// The part that is too large; `None` if the parser noticed, or if it is the whole.
        site: Option<Site>,
        /// Where it is, if it comes from a text.
        position: Option<Box<Position>>,
    },
    /// The declaration is well-formed and means nothing.
    Invalid {
        /// The part at fault.
        site: Site,
        /// What is wrong with it.
        reason: String,
        /// Where it is, if it comes from a text.
        position: Option<Box<Position>>,
    },
    /// The entry is no function of the library.
    Entry {
        /// The name asked for.
        name: String,
    },
    /// The prefix of a system library cannot be part of names.
    Prefix {
        /// The prefix.
        prefix: String,
        /// Why not.
        reason: String,
    },
    /// An image that cannot be launched from.
    Image {
        /// Its position among the images.
        index: usize,
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
        /// Where it is, if it comes from a text.
        position: Option<Box<Position>>,
    },
    /// What the library imports cannot be embedded.
    Imports {
        /// Why not.
        source: TreeError,
    },
}

impl Error {
    /// Where the fault is in the text; `None` if there is no text.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Error::Syntax { position, .. } => Some(position),
            Error::Limit { position, .. }
            | Error::Invalid { position, .. }
            | Error::Image { position, .. } => position.as_deref(),
            Error::Imports { .. } | Error::Entry { .. } | Error::Prefix { .. } => None,
        }
    }

    /// Which part of which function is at fault; `None` if that is not known.
    pub fn site(&self) -> Option<&Site> {
        match self {
            Error::Limit { site, .. } => site.as_ref(),
            Error::Invalid { site, .. } => Some(site),
            Error::Syntax { .. } | Error::Image { .. } => None,
            Error::Imports { .. } | Error::Entry { .. } | Error::Prefix { .. } => None,
        }
    }

    /// The same error at a position.
    pub(crate) fn at(mut self, found: Position) -> Error {
        match &mut self {
            Error::Syntax { position, .. } => **position = found,
            Error::Limit { position, .. }
            | Error::Invalid { position, .. }
            | Error::Image { position, .. } => {
                *position = Some(Box::new(found));
            }
            Error::Imports { .. } | Error::Entry { .. } | Error::Prefix { .. } => {}
        }
        self
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Error::Imports { source } = self { Some(source) } else { None }
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
            Error::Image { name, reason, .. } => write!(f, "image {name:?}: {reason}")?,
            Error::Prefix { prefix, reason } => {
                write!(f, "system library prefix {prefix:?}: {reason}")?;
            }
        }
        self.position().map_or(Ok(()), |position| write!(f, "\n{position}"))
    }
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The line, with blanks for tabs and other control characters; of a long line an excerpt around
    /// the place, with `…` at the ends where something was cut off.
    pub source_line: String,
    /// How many characters of `source_line` stand before the place.
    pub caret: usize,
}

/// Characters of a source line that are shown.
const WINDOW: usize = 100;

impl Position {
    /// The place `offset` bytes into `text`; a character starts or the text ends there.
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

/// The source line and, below it, a caret.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  | {}", self.source_line)?;
        write!(f, "  | {:width$}^", "", width = self.caret)
    }
}

/// What an error is about, independently of any text. `Display` prints `add_one: x.shape[0]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Index of the function in the library.
    pub function: usize,
    /// The function's name.
    pub name: String,
    /// Which part of the function.
    pub part: Part,
    /// The part in words, such as `x.shape[0]`; empty for the function's name.
    pub path: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_name(&self.name) {
            f.write_str(&self.name)?;
        } else {
            write!(f, "function {}", self.function)?;
        }
        if self.path.is_empty() { Ok(()) } else { write!(f, ": {}", self.path) }
    }
}

/// True for names that can be shown as they are.
pub(crate) fn is_name(name: &str) -> bool {
    is_identifier(name) && name.len() <= MAX_NAME
}

/// A part of a function. Numbers are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The documentation.
    Docs,
    /// Where the function comes from.
    Location,
    /// The function's name.
    Name,
    /// A parameter.
    Param(usize),
    /// The default of a parameter.
    Default(usize),
    /// The type of a value. Values are the parameters, each followed by the elements of tuples, sequences,
    /// mappings and unions that are nested in its type.
    Type(usize),
    /// An extent of a tensor, or a number of a shape: value, dim.
    Dim(usize, usize),
    /// A stride: value, dim.
    Stride(usize, usize),
    /// The alignment of a value.
    Align(usize),
    /// A condition of the `where` clause.
    Constraint(usize),
    /// The result type.
    Result,
    /// A tensor that is allocated.
    Output(usize),
    /// The symbol that a body without statements calls.
    Callee,
    /// An argument of the call.
    Argument(usize),
    /// What a status means.
    Status(usize),
    /// A statement of a program, those of inner blocks counted, in the order in which they are written.
    Statement(usize),
}

impl Part {
    /// Entry `index` of a list that starts with this one; what is no list has no other entries.
    pub(crate) fn number(self, index: usize) -> Part {
        if let Part::Argument(first) = self {
            return Part::Argument(first + index);
        }
        if let Part::Status(first) = self { Part::Status(first + index) } else { self }
    }
}
