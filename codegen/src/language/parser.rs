//! The parser's state: the current token, and the helpers that all rules share.

use std::ops::Range;

use logos::{Lexer, Logos};
use rustc_hash::FxHashMap;

use super::reserved::is_reserved;
use super::token::{Token, describe};
use crate::declaration::limit::{Limit, MAX_TEXT};
use crate::declaration::{CLOSURE, Location};
use crate::error::{Error, Part, Position};

/// The result of a rule. The error is boxed, so that the result stays small.
pub(super) type Parsed<T> = Result<T, Box<Error>>;

/// A part of a library whose position is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sought {
    /// A part of a function.
    Part(usize, Part),
    /// An image.
    Image(usize),
}

/// A parser of one text.
pub(super) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a, Token>,
    /// The current token.
    pub(super) token: Token,
    span: Range<usize>,
    /// The number of open parentheses, brackets and unary operators.
    pub(super) depth: usize,
    /// The index of the function that is being parsed.
    pub(super) function: usize,
    /// The number of values of the signature that have been parsed. In a body nothing reads it.
    pub(super) value: usize,
    /// The number of open blocks.
    pub(super) blocks: usize,
    /// The number of statements of the body that have been started.
    pub(super) statements: usize,
    /// The offset of the declared location of the statement that is being parsed, or of one around it, or of the
    /// function.
    pub(super) located: Option<usize>,
    /// The parts whose positions are wanted, each with its offset once it has been met.
    sought: FxHashMap<Sought, Option<usize>>,
}

/// Returns a text without the byte order mark that editors write at the start. Positions are counted without it.
pub(super) fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns true for a character that is seen: neither a control character nor an invisible one, such as a byte order
/// mark.
fn is_seen(c: char) -> bool {
    c == '\\' || c == '\'' || c.escape_debug().len() == 1
}

impl<'a> Parser<'a> {
    /// Builds a parser at the first token of a text that is [unmarked].
    fn new(text: &'a str) -> Parser<'a> {
        let mut parser = Parser {
            text,
            lexer: Token::lexer(text),
            token: Token::End,
            span: 0..0,
            depth: 0,
            function: 0,
            value: 0,
            blocks: 0,
            statements: 0,
            located: None,
            sought: FxHashMap::default(),
        };
        parser.advance();
        parser
    }

    /// Parses a text that consists of one `rule`.
    pub(super) fn whole<T>(text: &'a str, rule: fn(&mut Self) -> Parsed<T>) -> Result<T, Error> {
        let text = unmarked(text);
        if text.len() > MAX_TEXT {
            return Err(Error::excess(Limit::Text));
        }
        let mut parser = Parser::new(text);
        let value = rule(&mut parser).map_err(|error| *error)?;
        parser.expect(Token::End, "the end of the text").map_err(|error| *error)?;
        Ok(value)
    }

    /// Returns the offsets of parts in an [unmarked] text that parses as a library; `None` for those that it has not.
    pub(super) fn find(
        text: &'a str,
        sought: impl IntoIterator<Item = Sought>,
    ) -> FxHashMap<Sought, Option<usize>> {
        let mut parser = Parser::new(text);
        parser.sought = sought.into_iter().map(|sought| (sought, None)).collect();
        if parser.library().is_ok() { parser.sought } else { FxHashMap::default() }
    }

    /// Records the position of a part of the current function if it is a wanted part. Inside blocks only statements
    /// are parts.
    pub(super) fn mark(&mut self, part: Part) {
        let is_part = self.blocks == 0 || matches!(part, Part::Statement(_) | Part::Arm(..));
        if is_part {
            self.meet(Sought::Part(self.function, part));
        }
    }

    /// Records the position of an image if it is a wanted part.
    pub(super) fn mark_image(&mut self, index: usize) {
        self.meet(Sought::Image(index));
    }

    fn meet(&mut self, part: Sought) {
        if !self.sought.is_empty()
            && let Some(found) = self.sought.get_mut(&part)
        {
            *found = Some(self.span.start);
        }
    }

    /// Advances to the next token. The end of the text is directly after its last token.
    pub(super) fn advance(&mut self) {
        (self.token, self.span) = match self.lexer.next() {
            Some(Ok(token)) => (token, self.lexer.span()),
            Some(Err(())) => (Token::Unknown, self.lexer.span()),
            None => (Token::End, self.span.end..self.span.end),
        };
    }

    /// Returns true if this token follows the current one.
    pub(super) fn next_is(&self, token: Token) -> bool {
        self.next_are([token])
    }

    /// Returns true if these tokens follow the current one.
    pub(super) fn next_are<const N: usize>(&self, tokens: [Token; N]) -> bool {
        let mut next = self.lexer.clone();
        tokens.into_iter().all(|token| next.next() == Some(Ok(token)))
    }

    /// Returns the word that follows the current token.
    pub(super) fn next_word(&self) -> Option<&'a str> {
        let mut next = self.lexer.clone();
        (next.next() == Some(Ok(Token::Word))).then(|| next.slice())
    }

    /// Returns true if a list in parentheses that ends a statement follows the current token, as that of a call does.
    pub(super) fn next_is_call(&self) -> bool {
        let (mut next, mut depth) = (self.lexer.clone(), 0);
        loop {
            match next.next() {
                Some(Ok(Token::OpenParen)) => depth += 1,
                Some(Ok(Token::CloseParen)) if depth > 1 => depth -= 1,
                Some(Ok(Token::CloseParen)) => return next.next() == Some(Ok(Token::Semicolon)),
                // A list that never ends is taken for that of a call.
                None => return depth > 0,
                Some(_) if depth == 0 => return false,
                Some(_) => {}
            }
        }
    }

    /// Returns true where a closure starts, and not a value of that name: the list of its parameters follows.
    pub(super) fn starts_closure(&self) -> bool {
        if !self.is_word(CLOSURE) {
            return false;
        }
        let mut next = self.lexer.clone();
        let [open, first, second] = std::array::from_fn(|_| next.next().and_then(Result::ok));
        let has_params = match first {
            Some(Token::Word | Token::Name) => second == Some(Token::Colon),
            Some(Token::CloseParen | Token::Star | Token::Doc) | None => true,
            Some(_) => false,
        };
        open == Some(Token::OpenParen) && has_params
    }

    /// Returns the text before the current token.
    pub(super) fn before(&self) -> &'a str {
        &self.text[..self.span.start]
    }

    /// Returns the text of the current token.
    pub(super) fn slice(&self) -> &'a str {
        &self.text[self.span.clone()]
    }

    /// Returns the error for a current token that cannot stand here.
    #[cold]
    pub(super) fn unexpected(&self, expected: &str) -> Box<Error> {
        let found = describe(self.token, self.span.len(), &self.text[self.span.start..]);
        self.syntax(expected, found + &self.conversion())
    }

    /// Returns a syntax error at the current token.
    #[cold]
    pub(super) fn syntax(&self, expected: &str, found: String) -> Box<Error> {
        let position = Box::new(Position::new(self.text, self.span.start));
        let location = self.declared_location();
        Box::new(Error::Syntax { position, location, expected: expected.to_owned(), found })
    }

    /// Returns the error for a limit that the current token exceeds.
    #[cold]
    pub(super) fn excess(&self, limit: Limit) -> Box<Error> {
        let position = Some(Box::new(Position::new(self.text, self.span.start)));
        let location = self.declared_location();
        Box::new(Error::Limit { limit, site: None, location, position })
    }

    /// Returns the location that the declaration gives for the current token.
    fn declared_location(&self) -> Option<Box<Location>> {
        let mut parser = Parser::new(&self.text[self.located?..]);
        parser.location().ok().flatten().map(Box::new)
    }

    /// Returns the offset of the current token.
    pub(super) fn start(&self) -> usize {
        self.span.start
    }

    /// Skips the token if it is the current one; returns true if it was.
    pub(super) fn accept(&mut self, token: Token) -> bool {
        let here = self.token == token;
        if here {
            self.advance();
        }
        here
    }

    /// Skips the token, which must be the current one.
    pub(super) fn expect(&mut self, token: Token, expected: &str) -> Parsed<()> {
        if self.accept(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Returns true if the current token is this word.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word && self.slice() == word
    }

    /// Returns the current token if it is a word, else an empty text.
    pub(super) fn peek_word(&self) -> &'a str {
        if self.token == Token::Word { self.slice() } else { "" }
    }

    /// Skips a word and returns it.
    pub(super) fn word(&mut self, expected: &str) -> Parsed<&'a str> {
        let word = self.slice();
        self.expect(Token::Word, expected)?;
        Ok(word)
    }

    /// Returns the name that the current token is: a word that is not reserved, or any text in backticks.
    pub(super) fn peek_name(&self) -> Option<&'a str> {
        let text = self.slice();
        let plain = self.token == Token::Word && !is_reserved(text);
        if plain { Some(text) } else { self.in_backticks() }
    }

    fn in_backticks(&self) -> Option<&'a str> {
        let text = self.slice();
        (self.token == Token::Name).then(|| &text[1..text.len() - 1])
    }

    /// Skips the name of a value and returns it.
    pub(super) fn name(&mut self, expected: &str) -> Parsed<String> {
        let Some(name) = self.peek_name() else { return Err(self.no_name(expected)) };
        self.advance();
        Ok(name.to_owned())
    }

    /// Returns the error for a current token that is no name, but may begin one if that stands in backticks.
    #[cold]
    fn no_name(&self, expected: &str) -> Box<Error> {
        let found = describe(self.token, self.span.len(), &self.text[self.span.start..]);
        let is_sign = |c: char| is_seen(c) && !"`\"".contains(c);
        if self.token == Token::Unknown && self.slice().starts_with(is_sign)
            || matches!(self.token, Token::Word | Token::Int | Token::Float)
        {
            return self.syntax(expected, format!("{found}, which needs backticks"));
        }
        self.syntax(expected, found)
    }

    /// Skips the token that follows a name. A sign that stands directly behind the name could be meant as part of it.
    pub(super) fn expect_after_name(&mut self, token: Token, expected: &str) -> Parsed<()> {
        if self.accept(token) {
            return Ok(());
        }
        let before = self.text[..self.span.start].chars().next_back();
        let is_joined = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_sign =
            [Token::Dot, Token::Colon, Token::Minus, Token::Slash, Token::Lt, Token::Unknown];
        if is_joined && is_sign.contains(&self.token) {
            return Err(self.unexpected(&format!("{expected}, or backticks around the name")));
        }
        Err(self.unexpected(expected))
    }

    /// Skips the name of a function or an element and returns it. No word is reserved there.
    pub(super) fn label(&mut self, expected: &str) -> Parsed<&'a str> {
        let name =
            self.in_backticks().or_else(|| (self.token == Token::Word).then(|| self.slice()));
        let Some(name) = name else { return Err(self.no_name(expected)) };
        self.advance();
        Ok(name)
    }

    /// Returns the error for a reserved word that needs `marks` to be a name.
    #[cold]
    pub(super) fn needs(&self, expected: &str, marks: &str) -> Box<Error> {
        self.syntax(expected, format!("`{}`, which needs {marks}", self.slice()))
    }

    /// Skips the current word and returns its value in `lookup`.
    pub(super) fn lookup<T>(
        &mut self,
        expected: &str,
        lookup: impl Fn(&str) -> Option<T>,
    ) -> Parsed<T> {
        let value = if self.token == Token::Word { lookup(self.slice()) } else { None };
        let value = value.ok_or_else(|| self.unexpected(expected))?;
        self.advance();
        Ok(value)
    }

    /// Skips an integer literal and returns its value, at most `max`.
    pub(super) fn int(&mut self, max: u64, expected: &str) -> Parsed<u64> {
        let value = if self.token == Token::Int { self.slice().parse::<u64>().ok() } else { None };
        let value = value.filter(|value| *value <= max).ok_or_else(|| self.unexpected(expected))?;
        self.advance();
        Ok(value)
    }

    /// Parses entries separated by commas up to `close`, and skips `close`. `expected` names the tokens that may follow
    /// an entry.
    pub(super) fn list<T>(
        &mut self,
        close: Token,
        expected: &str,
        limit: Limit,
        mut entry: impl FnMut(&mut Self, usize) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut entries = Vec::new();
        if self.accept(close) {
            return Ok(entries);
        }
        loop {
            if entries.len() == limit.max() {
                return Err(self.excess(limit));
            }
            entries.push(entry(self, entries.len())?);
            if !self.accept(Token::Comma) {
                self.expect(close, expected)?;
                return Ok(entries);
            }
        }
    }
}
