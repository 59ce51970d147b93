//! The lexer of one line of the text form.

use std::str::FromStr;

use super::Read;

/// The unread rest of a line, without leading blanks.
pub(super) struct Cursor<'a>(&'a str);

/// Returns true for the characters of words, and of names without quotes.
pub(in crate::ir) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '[' | ']')
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a str) -> Cursor<'a> {
        Cursor(line.trim())
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest.trim_start();
        taken
    }

    /// Returns the next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    /// Skips a sign if it is next; returns true if it was.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let found = self.0.starts_with(sign);
        if found {
            self.advance(sign.len());
        }
        found
    }

    /// Reads a word, which may be empty.
    pub(super) fn word(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !is_word(c)).unwrap_or(self.0.len());
        self.advance(end)
    }

    /// Skips a word if it is next; returns true if it was.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let rest = self.0.strip_prefix(word);
        let found = rest.is_some_and(|rest| !rest.starts_with(is_word));
        if found {
            self.advance(word.len());
        }
        found
    }

    /// Skips a word or a sign, which must be next.
    pub(super) fn expect(&mut self, what: &str) -> Read<()> {
        let is_sign = !what.starts_with(is_word);
        let found = if is_sign { self.eat(what) } else { self.keyword(what) };
        if found { Ok(()) } else { Err(format!("expected `{what}` before `{}`", self.0)) }
    }

    /// Checks that nothing is left.
    pub(super) fn end(&self) -> Read<()> {
        if self.0.is_empty() { Ok(()) } else { Err(format!("`{}` is left", self.0)) }
    }

    /// Reads a name behind its sigil, in quotes or not.
    pub(super) fn name(&mut self, sigil: char) -> Read<String> {
        let Some(rest) = self.0.strip_prefix(sigil) else {
            return Err(format!("expected a name with `{sigil}` before `{}`", self.0));
        };
        self.0 = rest;
        if self.0.starts_with('"') {
            let bytes = self.quoted()?;
            return String::from_utf8(bytes).map_err(|_| "a name is no UTF-8".to_owned());
        }
        let end = self.0.find(|c: char| !is_word(c)).unwrap_or(self.0.len());
        if end == 0 { Err("a name is empty".to_owned()) } else { Ok(self.advance(end).to_owned()) }
    }

    /// Reads bytes in quotes; `\"`, `\\` and `\hh` are one byte each.
    pub(super) fn quoted(&mut self) -> Read<Vec<u8>> {
        let unclosed = || "a quote is not closed".to_owned();
        let mut bytes = Vec::new();
        let text = self.0.as_bytes();
        let mut at = 1;
        loop {
            match (text.get(at).ok_or_else(unclosed)?, text.get(at + 1)) {
                (b'"', _) => break,
                (b'\\', Some(c @ (b'"' | b'\\'))) => {
                    bytes.push(*c);
                    at += 2;
                }
                (b'\\', _) => {
                    let digits = self.0.get(at + 1..at + 3).ok_or_else(unclosed)?;
                    let byte = u8::from_str_radix(digits, 16);
                    bytes.push(byte.map_err(|_| format!("`\\{digits}` is no byte"))?);
                    at += 3;
                }
                (c, _) => {
                    bytes.push(*c);
                    at += 1;
                }
            }
        }
        self.advance(at + 1);
        Ok(bytes)
    }

    /// Reads a number without a sign.
    pub(super) fn number<T: FromStr>(&mut self) -> Read<T> {
        let word = self.word();
        word.parse().map_err(|_| format!("expected a number, found `{word}`"))
    }

    /// Reads a number that starts with its sign.
    pub(super) fn offset<T: FromStr>(&mut self) -> Read<T> {
        let digits = self
            .0
            .get(1..)
            .map_or(0, |rest| rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()));
        let is_signed = matches!(self.peek(), Some('+' | '-'));
        if !is_signed {
            return Err(format!("expected an offset before `{}`", self.0));
        }
        let text = self.advance(1 + digits);
        text.parse().map_err(|_| format!("`{text}` is no offset"))
    }

    /// Reads the rest of the line.
    pub(super) fn rest(&mut self) -> &'a str {
        self.advance(self.0.len())
    }

    /// Reads entries in parentheses, separated by commas.
    pub(super) fn list(&mut self, mut entry: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect("(")?;
        if self.eat(")") {
            return Ok(());
        }
        loop {
            entry(self)?;
            if self.eat(")") {
                return Ok(());
            }
            self.expect(",")?;
        }
    }
}
