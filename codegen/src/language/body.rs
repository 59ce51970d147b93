//! The parser: bodies and statements. Calls are in [`calls`](super::calls).
//!
//! Recursion is bounded by [`MAX_NESTING`](super::MAX_NESTING): no statement stands in more blocks, of which each
//! `else if` is one.

use super::cursor::{Parsed, Parser};
use super::expression::Infix;
use super::results::NO_VALUE;
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{Body, Expr, Local, Statement, StatementKind};
use crate::error::Part;

impl Parser<'_> {
    /// What stands after `=`, up to and including `;`.
    pub(super) fn body(&mut self) -> Parsed<Body> {
        if self.token != Token::OpenBrace {
            const EXPECTED: &str = "the symbol to call or `{`";
            self.no_bare_statement(EXPECTED)?;
            return self.kernel_call(EXPECTED).map(Body::Call);
        }
        self.statements = 0;
        let block = self.block("`{`")?;
        self.expect(Token::Semicolon, "`;`")?;
        Ok(Body::Block(block))
    }

    /// `"{" { statement } "}"`; `expected` is what may stand here.
    fn block(&mut self, expected: &str) -> Parsed<Vec<Statement>> {
        if self.token != Token::OpenBrace {
            return Err(self.unexpected(expected));
        }
        self.inner(|parser| {
            parser.advance();
            let mut statements = Vec::new();
            while !parser.accept(Token::CloseBrace) {
                statements.push(parser.statement()?);
            }
            Ok(statements)
        })
    }

    /// Parses a rule one block deeper.
    fn inner<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.blocks += 1;
        let value = rule(self)?;
        self.blocks -= 1;
        Ok(value)
    }

    /// `[ location ] action`
    fn statement(&mut self) -> Parsed<Statement> {
        let is_location = self.token == Token::At && self.next_are([Token::Quoted, Token::Colon]);
        let location = if is_location { self.location()? } else { None };
        Ok(Statement { location, kind: self.action()? })
    }

    /// The other words are those of C functions where `(` follows.
    fn action(&mut self) -> Parsed<StatementKind> {
        self.mark(Part::Statement(self.statements));
        if self.blocks > Limit::Nesting.max() {
            return Err(self.excess(Limit::Nesting));
        }
        if self.statements == Limit::Statements.max() {
            return Err(self.excess(Limit::Statements));
        }
        self.statements += 1;
        let word = if self.starts_statement() { self.slice() } else { "" };
        match word {
            "if" => self.branch(),
            "return" => self.give_back(),
            "let" => self.binding(),
            "for" => self.repetition(),
            "raise" => self.failure(),
            "launch" => self.launch(),
            _ => {
                const EXPECTED: &str = "a statement or `}`";
                self.no_other_statement(EXPECTED)?;
                let call = self.call(EXPECTED)?;
                Ok(StatementKind::Call { result: None, call })
            }
        }
    }

    /// `"if" expr block [ "else" ( block | if ) ]`
    fn branch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.expr()?;
        let then = self.block("an operator or `{`")?;
        let mut otherwise = Vec::new();
        if self.is_word("else") {
            self.advance();
            otherwise = if self.is_word("if") {
                vec![self.inner(Self::action)?.into()]
            } else {
                self.block("`if` or `{`")?
            };
        }
        Ok(StatementKind::If { condition, then, otherwise })
    }

    /// `"return" [ expr ] ";"`
    fn give_back(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept(Token::Semicolon) {
            return Ok(StatementKind::Return(None));
        }
        let value = self.expr()?;
        if self.token == Token::OpenParen {
            return Err(self.unexpected("an operator or `;`, as a call is named by `let` before"));
        }
        self.expect(Token::Semicolon, "an operator or `;`")?;
        Ok(StatementKind::Return(Some(value)))
    }

    /// `"for" name "in" expr ".." expr block`
    fn repetition(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("the name of a counter")?;
        if !self.is_word("in") {
            return Err(self.unexpected("`in`"));
        }
        self.advance();
        let start = self.expr()?;
        self.expect(Token::Range, "an operator or `..`")?;
        let end = self.expr()?;
        let body = self.block("an operator or `{`")?;
        Ok(StatementKind::For { name, start, end, body })
    }

    /// `"raise" word [ expr { "," expr } ] ";"`
    fn failure(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let kind = self.kind()?;
        let after = "an operator, `,` or `;`";
        let message =
            self.list(Token::Semicolon, after, Limit::Arguments, |parser, _| parser.expr())?;
        Ok(StatementKind::Raise { kind, message })
    }

    /// `"let" name ( ":" type "=" call | "=" alloc | "=" expr ";" )`
    fn binding(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("a name")?;
        if self.accept(Token::Colon) {
            let ty = self.param_type()?;
            self.expect(Token::Assign, "`=`")?;
            let call = self.call("a call")?;
            return Ok(StatementKind::Call { result: Some(Local { name, ty }), call });
        }
        self.expect(Token::Assign, "`:` or `=`")?;
        // After a name of its own `alloc` is followed by an operator or the end.
        let next = self.next_word().filter(|word| Infix::named(word).is_none());
        if self.is_word("alloc") && next.is_some() {
            return self.allocation(name);
        }
        self.value(name)
    }

    /// `"alloc" tensor [ "on" expr ] ";"`
    fn allocation(&mut self, name: String) -> Parsed<StatementKind> {
        self.advance();
        if !self.is_word("Tensor") {
            return Err(self.unexpected("`Tensor`"));
        }
        let tensor = self.tensor(NO_VALUE)?;
        let mut on: Option<Expr> = None;
        let mut after = "`on` or `;`";
        if self.is_word("on") {
            self.advance();
            on = Some(self.expr()?);
            after = "an operator or `;`";
        }
        self.expect(Token::Semicolon, after)?;
        Ok(StatementKind::Alloc { name, tensor, on })
    }

    /// `expr ";"`, and not a call, whose result needs a type.
    fn value(&mut self, name: String) -> Parsed<StatementKind> {
        if self.token == Token::At || self.is_word("try") {
            return Err(self.unexpected("an expression, or a type before `=` and a call"));
        }
        let value = self.expr()?;
        if self.token == Token::OpenParen {
            return Err(self.unexpected("an operator or `;`, or a type before `=` and a call"));
        }
        self.expect(Token::Semicolon, "an operator or `;`")?;
        Ok(StatementKind::Let { name, value })
    }
}
