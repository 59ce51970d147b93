//! Limits on the size of declarations.
//!
//! The limits are far above the needs of a compiler. They keep a hostile text from exhausting stack or memory, and
//! bound the recursion of every walk over an expression. A value of any depth may be built in Rust; it is refused, and
//! dropped, without a frame for each level. To clone, compare or print one that is refused takes stack for its depth.

use std::fmt;

/// Declares limits: the constant, the variant of [`Limit`], the number, and the noun for what it counts.
macro_rules! limits {
    ($($(#[$doc:meta])* $constant:ident $limit:ident = $max:expr, $what:literal;)*) => {
        $($(#[$doc])* pub const $constant: usize = $max;)*

        /// A limit. `Display` prints that it was exceeded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Limit {
            $(#[doc = concat!("[`", stringify!($constant), "`]")] $limit,)*
        }

        impl Limit {
            /// Returns the largest allowed number.
            pub const fn max(self) -> usize {
                match self {
                    $(Limit::$limit => $constant,)*
                }
            }

            /// Returns the name of the constant, and the noun for what it counts.
            const fn texts(self) -> (&'static str, &'static str) {
                match self {
                    $(Limit::$limit => (stringify!($constant), $what),)*
                }
            }
        }
    };
}

limits! {
    /// Limit on the bytes of a text.
    MAX_TEXT Text = 16 << 20, "bytes of text";
    /// Limit on the functions of a library.
    MAX_FUNCTIONS Functions = 1_000_000, "functions";
    /// Limit on the images of a library.
    MAX_IMAGES Images = 65_536, "images";
    /// Limit on the parameters of a function.
    MAX_PARAMS Params = 1024, "parameters";
    /// Limit on the values of a function: parameters and values nested in their types.
    MAX_VALUES Values = 1024, "parameters and nested values";
    /// Limit on the extents or strides of a tensor, and on the numbers of a shape.
    MAX_RANK Rank = 64, "dims";
    /// Limit on the element types of a tensor.
    MAX_DTYPES Dtypes = 256, "element types";
    /// Limit on the values of a `Literal`.
    MAX_LITERALS Literals = 1024, "values in a `Literal`";
    /// Limit on the types of a tuple or a union.
    MAX_TYPES Types = 1024, "types in a tuple or union";
    /// Limit on the branches of an `if`.
    MAX_BRANCHES Branches = 4096, "branches of an `if`";
    /// Limit on the conditions of a `where` clause.
    MAX_CONSTRAINTS Constraints = 1024, "constraints";
    /// Limit on the tensors that a function returns.
    MAX_RESULTS Results = 256, "results";
    /// Limit on the bytes of the message of a condition or a status.
    MAX_MESSAGE Message = 1024, "bytes in a message";
    /// Limit on the bytes of a file name.
    MAX_FILE File = 4096, "bytes in the name of a file";
    /// Limit on the arguments of a call, the elements of an array and the pieces of a message.
    MAX_ARGUMENTS Arguments = 4096, "arguments";
    /// Limit on the keys of a cached call.
    MAX_KEYS Keys = 8, "keys";
    /// Limit on the entries of an `errors` clause.
    MAX_ERRORS Errors = 1024, "kinds of errors";
    /// Limit on the statements of a function, nested ones included.
    MAX_STATEMENTS Statements = 100_000, "statements";
    /// Limit on the height of an expression, where literals and names have height 1, and on the nesting of parentheses
    /// and unary operators in a text. Blocks have the same limit of their own, into which functions that a body makes
    /// count with the expressions around them; a chain of `else if` is one level.
    MAX_NESTING Nesting = 64, "levels of nesting or operators in a row";
    /// Limit on the bytes of the name of a function, parameter or symbol; the limit of exported names.
    MAX_NAME Name = abi_spec::symbol::MAX_NAME, "bytes in a name";
    /// Limit on the bytes of the symbol of a C function; mangled names are long.
    MAX_SYMBOL Symbol = 65_536, "bytes in a symbol";
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, what) = self.texts();
        write!(f, "more than {} {what} ({name})", self.max())
    }
}
