//! Reserved words, and the spelling of names that are reserved.

use std::fmt::{self, Display, Formatter};

use abi_spec::Scalar;

use crate::declaration::{Builtin, is_identifier};

/// The role of a word at the start of an expression.
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
    /// A reserved word that starts no expression.
    Keyword,
    /// The name of a value, without backticks.
    Name,
}

/// The reserved words except the names of scalar types.
const WORDS: [(&str, Word); 34] = [
    ("min", Word::Builtin(Builtin::Min)),
    ("max", Word::Builtin(Builtin::Max)),
    ("ceildiv", Word::Builtin(Builtin::CeilDiv)),
    ("stream", Word::Stream),
    ("null", Word::Null),
    ("None", Word::None),
    ("True", Word::Bool(true)),
    ("False", Word::Bool(false)),
    ("where", Word::Keyword),
    ("try", Word::Keyword),
    ("else", Word::Keyword),
    ("_", Word::Keyword),
    ("and", Word::Keyword),
    ("or", Word::Keyword),
    ("not", Word::Keyword),
    // The types; `Shape` also starts an expression.
    ("Shape", Word::Shape),
    ("Tensor", Word::Keyword),
    ("str", Word::Keyword),
    ("bytes", Word::Keyword),
    ("dtype", Word::Keyword),
    ("Device", Word::Keyword),
    ("Function", Word::Keyword),
    ("Module", Word::Keyword),
    ("Object", Word::Keyword),
    ("Array", Word::Keyword),
    ("List", Word::Keyword),
    ("Map", Word::Keyword),
    ("Dict", Word::Keyword),
    ("Tuple", Word::Keyword),
    ("Optional", Word::Keyword),
    ("Union", Word::Keyword),
    ("Literal", Word::Keyword),
    ("Any", Word::Keyword),
    ("Stream", Word::Keyword),
];

/// For each first letter a set of bits: the lengths of the reserved words that start with it. Every name is looked up,
/// and this set alone rules out most of them.
const LENGTHS: [u16; 128] = {
    let mut lengths = [0; 128];
    let (mut word, mut scalar) = (0, 0);
    while word < WORDS.len() {
        mark(&mut lengths, WORDS[word].0);
        word += 1;
    }
    while scalar < Scalar::ALL.len() {
        mark(&mut lengths, Scalar::ALL[scalar].name());
        scalar += 1;
    }
    lengths
};

const fn mark(lengths: &mut [u16; 128], word: &str) {
    lengths[word.as_bytes()[0] as usize] |= 1 << word.len();
}

/// Returns false for nearly all words that are not reserved.
fn may_be_known(word: &str) -> bool {
    let first = word.bytes().next().and_then(|first| LENGTHS.get(usize::from(first)));
    first.is_some_and(|lengths| word.len() < 16 && lengths >> word.len() & 1 == 1)
}

/// Returns the role of a word.
pub(super) fn classify(word: &str) -> Word {
    if !may_be_known(word) {
        return Word::Name;
    }
    let known = WORDS.iter().find(|(known, _)| *known == word).map(|(_, word)| *word);
    known.or_else(|| scalar(word).map(Word::Scalar)).unwrap_or(Word::Name)
}

/// Returns the scalar type of a name. Unlike `str::parse` it allocates no error.
pub(super) fn scalar(word: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|scalar| scalar.name() == word)
}

/// Returns true for reserved words. In text they stand in backticks as names of values, and in quotes as C symbols;
/// [`spelled`] writes the backticks. Rust values hold them as they are.
///
/// ```
/// use tvm_ffi_codegen::language::is_reserved;
///
/// assert!(is_reserved("stream") && !is_reserved("x"));
/// ```
pub fn is_reserved(word: &str) -> bool {
    classify(word) != Word::Name
}

/// Returns true for words that name a C function without quotes wherever one is called. `if` and `return` always start
/// a statement, since a parenthesis may follow them.
pub(super) fn is_symbol(word: &str) -> bool {
    is_identifier(word) && !is_reserved(word) && !matches!(word, "if" | "return")
}

/// Returns the spelling of a name in text: [reserved](is_reserved) words get backticks. Code that writes text with
/// names of others needs it; code that builds values does not.
///
/// ```
/// use tvm_ffi_codegen::language::spelled;
/// use tvm_ffi_codegen::{Call, Scalar, Signature, exprs};
///
/// let text = |name| format!("f({0}: int64) -> None\n    = k({0});", spelled(name));
/// assert_eq!(text("n"), "f(n: int64) -> None\n    = k(n);");
/// assert_eq!(text("min"), "f(`min`: int64) -> None\n    = k(`min`);");
/// let value = Signature::new("f").param("min", Scalar::Int64).body(Call::kernel("k", exprs!["min"]));
/// assert_eq!(value.to_string(), text("min"));
/// ```
pub fn spelled(name: &str) -> impl Display {
    Spelled(name)
}

struct Spelled<'a>(&'a str);

impl Display for Spelled<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_reserved(self.0) { write!(f, "`{}`", self.0) } else { f.write_str(self.0) }
    }
}
