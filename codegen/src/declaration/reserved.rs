//! Identifiers and reserved words, and how texts spell names.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use abi_spec::Scalar;
use abi_spec::symbol::{NameError, validate_name};

use super::{Builtin, Leaf};

/// Meaning of a word at the start of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// `min`, `max`, `ceildiv`
    Builtin(Builtin),
    /// `stream`
    Stream,
    /// `current_device`
    CurrentDevice,
    /// `null`
    Null,
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// `Shape`
    Shape,
    /// A name of a scalar type.
    Scalar(Scalar),
    /// A reserved word that starts no expression.
    Keyword,
    /// A name that needs no backticks.
    Name,
}

/// Reserved words, except the names of scalars and of leaves.
const WORDS: [(&str, Word); 29] = [
    (Builtin::Min.text(), Word::Builtin(Builtin::Min)),
    (Builtin::Max.text(), Word::Builtin(Builtin::Max)),
    (Builtin::CeilDiv.text(), Word::Builtin(Builtin::CeilDiv)),
    ("stream", Word::Stream),
    ("current_device", Word::CurrentDevice),
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
    // The types. `Shape` also starts an expression.
    ("Shape", Word::Shape),
    ("Tensor", Word::Keyword),
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
];

/// Lengths of the reserved words by first letter, one bit for each length. Most names are told apart from reserved
/// words by this alone.
const LENGTHS: [u16; 128] = {
    let mut lengths = [0; 128];
    let (mut word, mut scalar, mut leaf) = (0, 0, 0);
    while word < WORDS.len() {
        mark(&mut lengths, WORDS[word].0);
        word += 1;
    }
    while scalar < Scalar::ALL.len() {
        mark(&mut lengths, Scalar::ALL[scalar].name());
        scalar += 1;
    }
    while leaf < Leaf::ALL.len() {
        mark(&mut lengths, Leaf::ALL[leaf].name());
        leaf += 1;
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

/// Returns the meaning of a word.
pub(crate) fn classify(word: &str) -> Word {
    if !may_be_known(word) {
        return Word::Name;
    }
    let known = WORDS.iter().find(|(known, _)| *known == word).map(|(_, word)| *word);
    let known = known.or_else(|| scalar(word).map(Word::Scalar));
    known.or_else(|| Leaf::named(word).map(|_| Word::Keyword)).unwrap_or(Word::Name)
}

/// Returns the scalar type of this name. Unlike `parse` it does not allocate on failure.
pub(crate) fn scalar(word: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|scalar| scalar.name() == word)
}

/// Returns true for reserved words. In a text they need backticks to name a parameter, a symbol or a local, and
/// quotes to name a C function; [`spelled`] adds the backticks. In values they are names like any other.
///
/// ```
/// use tvm_ffi_codegen::language::is_reserved;
///
/// assert!(is_reserved("stream") && !is_reserved("x"));
/// ```
pub fn is_reserved(word: &str) -> bool {
    classify(word) != Word::Name
}

/// Returns true for words that name a C function without quotes. `if` and `return` need quotes, since a statement
/// that starts with them may continue with a parenthesis.
pub(crate) fn is_symbol(word: &str) -> bool {
    is_identifier(word) && !is_reserved(word) && !matches!(word, "if" | "return")
}

/// Prints the name of a value as texts spell it: in backticks if it is [reserved](is_reserved) or no identifier.
/// Generators of texts need it for names that others choose.
///
/// ```
/// use tvm_ffi_codegen::language::spelled;
/// use tvm_ffi_codegen::{Call, Scalar, Signature, exprs};
///
/// let text = |name| format!("f({0}: int64) -> None\n    = k({0});", spelled(name));
/// assert_eq!(text("n"), "f(n: int64) -> None\n    = k(n);");
/// assert_eq!(text("min"), "f(`min`: int64) -> None\n    = k(`min`);");
/// assert_eq!(text("my n"), "f(`my n`: int64) -> None\n    = k(`my n`);");
/// let value = Signature::new("f").param("min", Scalar::Int64).body(Call::kernel("k", exprs!["min"]));
/// assert_eq!(value.to_string(), text("min"));
/// ```
pub fn spelled(name: &str) -> impl Display {
    Spelled::value(name)
}

/// Returns the text that [`spelled`] prints.
pub(crate) fn spelling(name: &str) -> String {
    Spelled::value(name).text().into_owned()
}

/// Prints the name of a function, or of an element behind `.`, as texts spell it: in backticks if it is no identifier.
/// No word is reserved there.
///
/// ```
/// use tvm_ffi_codegen::language::spelled_label;
///
/// assert_eq!(spelled_label("min").to_string(), "min");
/// assert_eq!(spelled_label("my.f").to_string(), "`my.f`");
/// ```
pub fn spelled_label(name: &str) -> impl Display {
    Spelled { name, quoted: !is_identifier(name) }
}

/// A name that is printed as it is, or in backticks.
struct Spelled<'a> {
    name: &'a str,
    quoted: bool,
}

impl<'a> Spelled<'a> {
    /// Makes that of the name of a value.
    fn value(name: &'a str) -> Self {
        Spelled { name, quoted: is_reserved(name) || !is_identifier(name) }
    }

    fn text(&self) -> Cow<'a, str> {
        if self.quoted { format!("`{}`", self.name).into() } else { self.name.into() }
    }
}

impl Display for Spelled<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Returns the reason why no text can spell a name; `None` if one can.
pub(crate) fn name_fault(name: &str) -> Option<String> {
    match validate_name(name) {
        Err(NameError::Reserved { .. }) | Ok(()) if name.contains('`') => {
            Some("the name holds a backtick".to_owned())
        }
        Err(NameError::Reserved { .. }) | Ok(()) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Returns true for words that may name a symbol: letters, digits and `_`, in any alphabet, and numbers after `.`, with
/// which compilers make names that no user has. Parameters and locals are named before they are used, symbols by their
/// use, so that other text is more likely an expression or a number.
pub(crate) fn may_be_symbol(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut parts = name.split('.');
    let word = parts.next().unwrap_or_default();
    let is_named = word != "_" && word.chars().all(is_word) && !word.starts_with(char::is_numeric);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    is_named && parts.all(is_number)
}

/// Returns true for text that a function of the FFI can be looked up by. [`MAX_NAME`](super::limit::MAX_NAME) bounds
/// its length.
pub(crate) fn is_callee(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_control)
}

/// Returns true for ASCII identifiers, reserved or not.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
