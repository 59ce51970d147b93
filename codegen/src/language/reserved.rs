//! Which words mean something by themselves.

use abi_spec::Scalar;

use crate::declaration::{Builtin, is_identifier};

/// What a word is at the start of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// `min`, `max`, `ceildiv`
    Builtin(Builtin),
    /// `stream`
    Stream,
    /// `null`
    Null,
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// `Shape`
    Shape,
    /// The name of a scalar type.
    Scalar(Scalar),
    /// Reserved, and no expression starts with it.
    Keyword,
    /// The name of a parameter or a symbol.
    Name,
}

/// The names of the types that are no scalars; `Shape` also starts an expression.
const TYPES: [&str; 18] = [
    "Tensor", "str", "bytes", "dtype", "Device", "Function", "Module", "Object", "Array", "List",
    "Map", "Dict", "Tuple", "Optional", "Union", "Literal", "Any", "Stream",
];

/// Looks a word up.
pub(super) fn classify(word: &str) -> Word {
    match word {
        "min" => Word::Builtin(Builtin::Min),
        "max" => Word::Builtin(Builtin::Max),
        "ceildiv" => Word::Builtin(Builtin::CeilDiv),
        "stream" => Word::Stream,
        "null" => Word::Null,
        "None" => Word::None,
        "True" => Word::Bool(true),
        "False" => Word::Bool(false),
        "Shape" => Word::Shape,
        "where" | "try" | "else" | "_" | "and" | "or" | "not" => Word::Keyword,
        other if TYPES.contains(&other) => Word::Keyword,
        other => scalar(other).map_or(Word::Name, Word::Scalar),
    }
}

/// The scalar type of this name. Unlike `parse` it does not allocate when there is none.
pub(super) fn scalar(word: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|scalar| scalar.name() == word)
}

/// True for words that cannot name a parameter or a symbol, nor a C symbol without quotes: whoever makes
/// declarations of names that others chose renames these first.
///
/// ```
/// use tvm_ffi_codegen::language::is_reserved;
///
/// let parameter = |name: &str| if is_reserved(name) { format!("{name}_") } else { name.to_owned() };
/// assert_eq!((parameter("stream"), parameter("x")), ("stream_".to_owned(), "x".to_owned()));
/// ```
pub fn is_reserved(word: &str) -> bool {
    classify(word) != Word::Name
}

/// True for words that name a C function without quotes wherever one is called. A statement that starts
/// with `if` or `return` is no call, since a parenthesis may follow these words.
pub(super) fn is_symbol(word: &str) -> bool {
    is_identifier(word) && !is_reserved(word) && !matches!(word, "if" | "return")
}
