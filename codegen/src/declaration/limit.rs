//! Limits on the size of declarations.
//!
//! The limits are far above the needs of a compiler. They keep a hostile text from exhausting stack or memory, and
//! bound the recursion of every walk over an expression.

use std::fmt;

/// Limit on the bytes of a text.
pub const MAX_TEXT: usize = 16 << 20;
/// Limit on the functions of a library.
pub const MAX_FUNCTIONS: usize = 1_000_000;
/// Limit on the images of a library.
pub const MAX_IMAGES: usize = 65_536;
/// Limit on the parameters of a function.
pub const MAX_PARAMS: usize = 1024;
/// Limit on the values of a function: parameters and values nested in their types.
pub const MAX_VALUES: usize = 1024;
/// Limit on the extents or strides of a tensor, and on the numbers of a shape.
pub const MAX_RANK: usize = 64;
/// Limit on the element types of a tensor.
pub const MAX_DTYPES: usize = 256;
/// Limit on the values of a `Literal`.
pub const MAX_LITERALS: usize = 1024;
/// Limit on the types of a tuple or a union.
pub const MAX_TYPES: usize = 1024;
/// Limit on the conditions of a `where` clause.
pub const MAX_CONSTRAINTS: usize = 1024;
/// Limit on the tensors that a function returns.
pub const MAX_RESULTS: usize = 256;
/// Limit on the bytes of the message of a condition or a status.
pub const MAX_MESSAGE: usize = 1024;
/// Limit on the bytes of a file name.
pub const MAX_FILE: usize = 4096;
/// Limit on the arguments of a call, the elements of an array and the pieces of a message.
pub const MAX_ARGUMENTS: usize = 4096;
/// Limit on the entries of an `errors` clause.
pub const MAX_ERRORS: usize = 1024;
/// Limit on the statements of a function, nested ones included.
pub const MAX_STATEMENTS: usize = 100_000;
/// Limit on the height of an expression, where literals and names have height 1, and on the nesting of parentheses
/// and unary operators in a text. Blocks have the same limit of their own; `else if` counts as an `if` in a block.
pub const MAX_NESTING: usize = 64;
/// Limit on the bytes of the name of a function, parameter or symbol; the limit of exported names.
pub const MAX_NAME: usize = abi_spec::symbol::MAX_NAME;
/// Limit on the bytes of the symbol of a C function; mangled names are long.
pub const MAX_SYMBOL: usize = 65_536;

/// A limit. `Display` prints that it was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// [`MAX_TEXT`]
    Text,
    /// [`MAX_FUNCTIONS`]
    Functions,
    /// [`MAX_IMAGES`]
    Images,
    /// [`MAX_PARAMS`]
    Params,
    /// [`MAX_VALUES`]
    Values,
    /// [`MAX_RANK`]
    Rank,
    /// [`MAX_DTYPES`]
    Dtypes,
    /// [`MAX_LITERALS`]
    Literals,
    /// [`MAX_TYPES`]
    Types,
    /// [`MAX_CONSTRAINTS`]
    Constraints,
    /// [`MAX_RESULTS`]
    Results,
    /// [`MAX_MESSAGE`]
    Message,
    /// [`MAX_FILE`]
    File,
    /// [`MAX_ARGUMENTS`]
    Arguments,
    /// [`MAX_ERRORS`]
    Errors,
    /// [`MAX_STATEMENTS`]
    Statements,
    /// [`MAX_NESTING`]
    Nesting,
    /// [`MAX_NAME`]
    Name,
    /// [`MAX_SYMBOL`]
    Symbol,
}

impl Limit {
    /// Returns the largest allowed number.
    pub const fn max(self) -> usize {
        match self {
            Limit::Text => MAX_TEXT,
            Limit::Functions => MAX_FUNCTIONS,
            Limit::Images => MAX_IMAGES,
            Limit::Params => MAX_PARAMS,
            Limit::Values => MAX_VALUES,
            Limit::Rank => MAX_RANK,
            Limit::Dtypes => MAX_DTYPES,
            Limit::Literals => MAX_LITERALS,
            Limit::Types => MAX_TYPES,
            Limit::Constraints => MAX_CONSTRAINTS,
            Limit::Results => MAX_RESULTS,
            Limit::Message => MAX_MESSAGE,
            Limit::File => MAX_FILE,
            Limit::Arguments => MAX_ARGUMENTS,
            Limit::Errors => MAX_ERRORS,
            Limit::Statements => MAX_STATEMENTS,
            Limit::Nesting => MAX_NESTING,
            Limit::Name => MAX_NAME,
            Limit::Symbol => MAX_SYMBOL,
        }
    }

    /// Returns the name of the constant, and the noun for what it counts.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Limit::Text => ("MAX_TEXT", "bytes of text"),
            Limit::Functions => ("MAX_FUNCTIONS", "functions"),
            Limit::Images => ("MAX_IMAGES", "images"),
            Limit::Params => ("MAX_PARAMS", "parameters"),
            Limit::Values => ("MAX_VALUES", "parameters and nested values"),
            Limit::Rank => ("MAX_RANK", "dims"),
            Limit::Dtypes => ("MAX_DTYPES", "element types"),
            Limit::Literals => ("MAX_LITERALS", "values in a `Literal`"),
            Limit::Types => ("MAX_TYPES", "types in a tuple or union"),
            Limit::Constraints => ("MAX_CONSTRAINTS", "constraints"),
            Limit::Results => ("MAX_RESULTS", "results"),
            Limit::Message => ("MAX_MESSAGE", "bytes in a message"),
            Limit::File => ("MAX_FILE", "bytes in the name of a file"),
            Limit::Arguments => ("MAX_ARGUMENTS", "arguments"),
            Limit::Errors => ("MAX_ERRORS", "kinds of errors"),
            Limit::Statements => ("MAX_STATEMENTS", "statements"),
            Limit::Nesting => ("MAX_NESTING", "levels of nesting"),
            Limit::Name => ("MAX_NAME", "bytes in a name"),
            Limit::Symbol => ("MAX_SYMBOL", "bytes in a symbol"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, what) = self.texts();
        write!(f, "more than {} {what} ({name})", self.max())
    }
}
