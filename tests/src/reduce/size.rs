//! Size of a text: what a reader has to read.

/// Size of a text. A word counts more than a literal, so that a name may be replaced by a longer literal.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size<'a> {
    tokens: usize,
    bytes: usize,
    text: &'a str,
}

/// Words that are literals.
const LITERALS: [&str; 8] = ["null", "None", "True", "False", "true", "false", "const", "_"];

impl Size<'_> {
    /// Measures a text.
    pub(super) fn of(text: &str) -> Size<'_> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        let is_literal =
            |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) || LITERALS.contains(&word);
        let words = words.map(|word| if is_literal(word) { 1 } else { 2 });
        let others = text.chars().filter(|&c| !is_word(c) && !c.is_whitespace()).count();
        Size { tokens: words.sum::<usize>() + others, bytes: text.len(), text }
    }
}
