//! How large a declaration may be.
//!
//! The limits are far above what a compiler needs. They keep a hostile text from exhausting the stack or
//! the memory, and they bound the recursion of everything that walks an expression.

use std::fmt;

/// Bytes of a text.
pub const MAX_TEXT: usize = 16 << 20;
/// Functions of a library.
pub const MAX_FUNCTIONS: usize = 1_000_000;
/// Images of a library.
pub const MAX_IMAGES: usize = 65_536;
/// Parameters of a function.
pub const MAX_PARAMS: usize = 1024;
/// Parameters of a function and what is nested in their types.
pub const MAX_VALUES: usize = 1024;
/// Extents or strides of a tensor, numbers of a shape.
pub const MAX_RANK: usize = 64;
/// Element types of a tensor.
pub const MAX_DTYPES: usize = 256;
/// Values of a choice.
pub const MAX_LITERALS: usize = 1024;
/// Types of a tuple or a union.
pub const MAX_TYPES: usize = 1024;
/// Conditions of a `where` clause.
pub const MAX_CONSTRAINTS: usize = 1024;
/// Tensors that a function returns.
pub const MAX_RESULTS: usize = 256;
/// Bytes of the message of a condition or a status.
pub const MAX_MESSAGE: usize = 1024;
/// Bytes of the name of a file.
pub const MAX_FILE: usize = 4096;
/// Arguments of a call, elements of an array, parts of a message.
pub const MAX_ARGUMENTS: usize = 4096;
/// Entries of what statuses mean.
pub const MAX_ERRORS: usize = 1024;
/// Statements of a function, those of inner blocks included.
pub const MAX_STATEMENTS: usize = 100_000;
/// Height of an expression, where a literal and a name have height 1; also how deep parentheses and
/// unary operators nest in a text. Blocks nest as deep once more, where `else if` is an `if` in a block.
pub const MAX_NESTING: usize = 64;
/// Bytes of the name of a function, parameter or symbol; those of an exported name.
pub const MAX_NAME: usize = abi_spec::symbol::MAX_NAME;
/// Bytes of the symbol that a body calls; mangled names are long.
pub const MAX_SYMBOL: usize = 65_536;

/// One of the limits; `Display` says that it was exceeded.
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
    /// The largest number that is allowed.
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

    /// The name of the constant, and what it counts.
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
