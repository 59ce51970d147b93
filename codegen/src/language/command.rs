//! Commands on streams: parser and printer.

use std::fmt::{self, Display, Formatter};

use super::launch::{AFTER, clauses};
use super::parser::{Parsed, Parser};
use super::print_items::enclosed;
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{Expr, MemoryCopy, MemoryFill, StatementKind, Target, Upload, Wait};

/// The tokens that may follow the last operand of a command.
const CLAUSES: &str = "an operator, `on`, `stream` or `;`";

impl Parser<'_> {
    /// `"upload" expr "(" [ given { "," given } ] ")" target ";"`
    pub(super) fn upload(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let to = self.expr()?;
        self.expect(Token::OpenParen, "an operator, or `(` and the values")?;
        let values =
            self.list(Token::CloseParen, AFTER, Limit::Arguments, |parser, _| parser.given())?;
        let mut upload = Upload::new(to, values);
        upload.target = self.target("`on`, `stream` or `;`")?;
        Ok(StatementKind::Upload(Box::new(upload)))
    }

    /// `"fill" expr "," expr "," expr target ";"`
    pub(super) fn fill(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let to = self.expr()?;
        let bytes = self.operand_after_comma("a number of bytes")?;
        let value = self.operand_after_comma("the value of a byte")?;
        let mut fill = MemoryFill::new(to, bytes, value);
        fill.target = self.target(CLAUSES)?;
        Ok(StatementKind::Fill(Box::new(fill)))
    }

    /// `"copy" expr "," expr "," expr target ";"`
    pub(super) fn copy(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let to = self.expr()?;
        let from = self.operand_after_comma("the address to read")?;
        let bytes = self.operand_after_comma("a number of bytes")?;
        let mut copy = MemoryCopy::new(to, from, bytes);
        copy.target = self.target(CLAUSES)?;
        Ok(StatementKind::Copy(Box::new(copy)))
    }

    /// `"wait" expr "," expr [ "on" expr ] ";"`
    pub(super) fn wait(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let waiter = self.expr()?;
        let other = self.operand_after_comma("the stream to wait for")?;
        let mut wait = Wait::new(waiter, other);
        if self.is_word("on") {
            self.advance();
            wait.on = Some(self.expr()?);
            self.expect(Token::Semicolon, "an operator or `;`")?;
        } else {
            self.expect(Token::Semicolon, "an operator, `on` or `;`")?;
        }
        Ok(StatementKind::Wait(Box::new(wait)))
    }

    /// Skips a comma and parses an operand, which is `what`.
    fn operand_after_comma(&mut self, what: &str) -> Parsed<Expr> {
        self.expect(Token::Comma, &format!("an operator, or `,` and {what}"))?;
        self.expr()
    }

    /// `[ "on" expr ] [ "stream" expr ] ";"`, in any order.
    fn target(&mut self, mut expected: &str) -> Parsed<Target> {
        let mut target = Target::default();
        while !self.accept(Token::Semicolon) {
            let word = self.peek_word();
            let place = match word {
                "on" => &mut target.on,
                "stream" => &mut target.stream,
                _ => return Err(self.unexpected(expected)),
            };
            if place.is_some() {
                return Err(self.syntax("every clause once", format!("a second `{word}`")));
            }
            self.advance();
            *place = Some(self.expr()?);
            expected = CLAUSES;
        }
        Ok(target)
    }
}

/// Prints one line, without `;`.
impl Display for Upload {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "upload {} ", self.to)?;
        enclosed(f, "(", &self.values, ")")?;
        self.target.fmt(f)
    }
}

/// Prints one line, without `;`.
impl Display for MemoryFill {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let MemoryFill { to, bytes, value, target } = self;
        write!(f, "fill {to}, {bytes}, {value}{target}")
    }
}

/// Prints one line, without `;`.
impl Display for MemoryCopy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let MemoryCopy { to, from, bytes, target } = self;
        write!(f, "copy {to}, {from}, {bytes}{target}")
    }
}

/// Prints one line, without `;`.
impl Display for Wait {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "wait {}, {}", self.waiter, self.other)?;
        clauses(f, self.on.as_ref(), None)
    }
}

/// Prints the clauses, each after a blank.
impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        clauses(f, self.on.as_ref(), self.stream.as_ref())
    }
}
