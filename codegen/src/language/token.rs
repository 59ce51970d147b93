//! The lexer: tokens of the language.

use logos::Logos;

/// A token. Its text is the part of the source in its span.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    #[regex(r"///[^\n]*", allow_greedy = true)]
    Doc,
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    /// Any text in backticks but a backtick and control characters: a name.
    #[regex(r"`[^`\p{Cc}]+`")]
    Name,
    #[regex("[0-9]+")]
    Int,
    #[regex(r"[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+")]
    #[regex(r"[0-9]+\.[0-9]+")]
    Float,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Quoted,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(",")]
    Comma,
    #[token("@")]
    At,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token(".")]
    Dot,
    #[token("..")]
    Range,
    #[token("...")]
    Ellipsis,
    #[token("->")]
    Arrow,
    #[token("=>")]
    FatArrow,
    #[token("=")]
    Assign,
    #[token("==")]
    Eq,
    #[token("!=")]
    Ne,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("|")]
    Pipe,
    /// Text that is no token: an error of the lexer.
    Unknown,
    /// The end of the text.
    End,
}

/// Describes a token for an error; `rest` is the source from the start of the token on.
pub(super) fn describe(token: Token, length: usize, rest: &str) -> String {
    const SHOWN: usize = 40;
    if token == Token::End {
        "the end of the text".to_owned()
    } else if token == Token::Doc {
        "a doc comment".to_owned()
    } else if token == Token::Unknown && rest.starts_with('"') {
        "an unterminated quotation".to_owned()
    } else if token == Token::Unknown && rest.starts_with("``") {
        "an empty name".to_owned()
    } else if token == Token::Unknown && rest.starts_with('`') {
        match rest[1..].find(|c: char| c == '`' || c.is_control()) {
            Some(at) => format!(
                "a name with the character {:?}",
                rest[1 + at..].chars().next().unwrap_or_default()
            ),
            None => "a name without the second backtick".to_owned(),
        }
    } else if token == Token::Unknown {
        let character = rest.chars().next().unwrap_or_default();
        format!("the character {character:?}{}", meant(rest))
    } else {
        let text = &rest[..length];
        let cut = text.char_indices().nth(SHOWN).map_or(length, |(offset, _)| offset);
        let quote = if token == Token::Name { "" } else { "`" };
        let dots = if cut < length { "…" } else { "" };
        let meant = if token == Token::Pipe { meant(rest) } else { "" };
        format!("{quote}{}{dots}{quote}{meant}", &text[..cut])
    }
}

/// Returns what the operator of another language at the start of a text is here; nothing for other texts.
fn meant(rest: &str) -> &'static str {
    const OPERATORS: [(&str, &str); 4] = [
        ("&&", ", which is `and`"),
        ("||", ", which is `or`"),
        ("!", ", which is `not`"),
        ("'", ", but texts stand in double quotes"),
    ];
    let found = OPERATORS.iter().find(|(operator, _)| rest.starts_with(operator));
    found.map_or("", |(_, meant)| meant)
}
