//! The parser: bodies and statements. `parse_call.rs` has calls.
//!
//! [`MAX_NESTING`](super::MAX_NESTING) bounds recursion: it limits the number of blocks, and of expressions around
//! functions that a body makes, around a statement.

use super::parse_expression::Infix;
use super::parse_types::NO_VALUE;
use super::parser::{Parsed, Parser};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    Arm, Body, Branch, CLOSURE, Expr, Local, ObjectClass, ParamType, Statement, StatementKind,
};
use crate::error::Part;

/// Words that start a statement.
const STATEMENTS: [&str; 11] =
    ["if", "return", "let", "for", "match", "raise", "launch", "upload", "fill", "copy", "wait"];

impl Parser<'_> {
    /// Parses a body, after `=`, up to and including `;`.
    pub(super) fn body(&mut self) -> Parsed<Body> {
        if self.token != Token::OpenBrace {
            const EXPECTED: &str = "the symbol to call or `{`";
            self.no_bare_statement(EXPECTED)?;
            self.no_bare_literal(EXPECTED)?;
            return self.kernel_call(EXPECTED).map(Body::Call);
        }
        self.statements = 0;
        let block = self.block("`{`")?;
        self.expect(Token::Semicolon, "`;`")?;
        Ok(Body::Block(block))
    }

    /// `"{" { statement } "}"`; `expected` names the tokens that may stand here.
    pub(super) fn block(&mut self, expected: &str) -> Parsed<Vec<Statement>> {
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

    /// `[ location ] statement`
    fn statement(&mut self) -> Parsed<Statement> {
        let is_location = self.token == Token::At && self.next_are([Token::Quoted, Token::Colon]);
        let around = self.located;
        if is_location {
            self.located = Some(self.start());
        }
        let location = if is_location { self.location()? } else { None };
        let kind = self.statement_kind()?;
        self.located = around;
        Ok(Statement { location, kind })
    }

    /// Returns true where a statement other than a call starts.
    pub(super) fn starts_statement(&self) -> bool {
        let word = self.peek_word();
        match word {
            "if" | "return" => true,
            // An expression follows, which may begin with a parenthesis.
            "fill" | "copy" | "upload" | "wait" => !self.next_is_call(),
            _ => STATEMENTS.contains(&word) && !self.next_is(Token::OpenParen),
        }
    }

    /// Parses a statement. Words of statements before `(` are C functions, except `if` and `return`, and unless an
    /// expression in parentheses goes on, as in `fill (p + 4) * 2, 1, n;`.
    fn statement_kind(&mut self) -> Parsed<StatementKind> {
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
            "if" => self.if_statement(),
            "return" => self.return_statement(),
            "let" => self.let_statement(),
            "for" => self.for_statement(),
            "match" => self.match_statement(),
            "raise" => self.raise_statement(),
            "launch" => self.launch(),
            "upload" => self.upload(),
            "fill" => self.fill(),
            "copy" => self.copy(),
            "wait" => self.wait(),
            _ => {
                const EXPECTED: &str = "a statement or `}`";
                self.no_other_statement(EXPECTED)?;
                let call = self.call(EXPECTED)?;
                Ok(StatementKind::Call { result: None, call })
            }
        }
    }

    /// `"if" expr block { "else" "if" expr block } [ "else" block ]`
    fn if_statement(&mut self) -> Parsed<StatementKind> {
        let (index, mut branches) = (self.statements - 1, Vec::new());
        loop {
            self.mark(Part::Arm(index, branches.len()));
            if branches.len() == Limit::Branches.max() {
                return Err(self.excess(Limit::Branches));
            }
            self.advance();
            let condition = self.expr()?;
            let body = self.block("an operator or `{`")?;
            branches.push(Branch { condition, body });
            if !self.is_word("else") {
                return Ok(StatementKind::If { branches, otherwise: Vec::new() });
            }
            self.advance();
            if !self.is_word("if") {
                let otherwise = self.block("`if` or `{`")?;
                return Ok(StatementKind::If { branches, otherwise });
            }
        }
    }

    /// `"return" [ expr ] ";"`
    fn return_statement(&mut self) -> Parsed<StatementKind> {
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
    fn for_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("the name of a counter")?;
        if !self.is_word("in") {
            return Err(self.unexpected("`in`"));
        }
        self.advance();
        let start = self.expr()?;
        self.no_other_loop()?;
        self.expect(Token::Range, "an operator or `..`")?;
        let end = self.expr()?;
        let body = self.block("an operator or `{`")?;
        Ok(StatementKind::For { name, start, end, body })
    }

    /// `"match" expr "{" { arm } "}"`
    fn match_statement(&mut self) -> Parsed<StatementKind> {
        let index = self.statements - 1;
        self.advance();
        let value = self.expr()?;
        self.expect(Token::OpenBrace, "an operator or `{`")?;
        let mut arms = Vec::new();
        while !self.accept(Token::CloseBrace) {
            self.mark(Part::Arm(index, arms.len()));
            if arms.len() > Limit::Types.max() {
                return Err(self.excess(Limit::Types));
            }
            arms.push(self.arm()?);
        }
        Ok(StatementKind::Match { value, arms })
    }

    /// `( "None" | ( name | "_" ) ":" type ) "=>" block`
    fn arm(&mut self) -> Parsed<Arm> {
        let (mut name, mut ty) = (None, None);
        if self.is_word("None") {
            self.advance();
        } else {
            if self.is_word("_") {
                self.advance();
            } else {
                name = Some(self.name("the name of a value, `_`, `None` or `}`")?);
            }
            self.expect(Token::Colon, "`:`")?;
            ty = Some(self.param_type()?);
        }
        self.expect(Token::FatArrow, "`=>`")?;
        Ok(Arm { name, ty, body: self.block("`{`")? })
    }

    /// `"raise" word [ expr { "," expr } ] ";"`
    fn raise_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let kind = self.kind()?;
        let after = "an operator, `,` or `;`";
        let message =
            self.list(Token::Semicolon, after, Limit::Arguments, |parser, _| parser.expr())?;
        Ok(StatementKind::Raise { kind, message })
    }

    /// `"let" name ( ":" type "=" call | "=" "@" label "(" args ")" ";" | "=" alloc | "=" map ";" | "=" expr ";" )`
    fn let_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("a name")?;
        if self.accept(Token::Colon) {
            let ty = self.param_type()?;
            self.expect(Token::Assign, "`=`")?;
            let expected = "a call, as an expression is named without a type";
            // A C function may have this name, but makes nothing of this type.
            let is_function = matches!(ty, ParamType::Object(ObjectClass::Function));
            if is_function && self.is_word(CLOSURE) {
                return Err(self.unexpected(expected));
            }
            let call = self.call(expected)?;
            return Ok(StatementKind::Call { result: Some(Local::new(name, ty)), call });
        }
        self.expect_after_name(Token::Assign, "`:` or `=`")?;
        if self.token == Token::At && (self.next_is(Token::Word) || self.next_is(Token::Name)) {
            let call = self.call("a call")?;
            return Ok(StatementKind::Call { result: Some(Local::new(name, None)), call });
        }
        // `alloc` is a name if an operator or the end follows.
        let next = self.next_word().filter(|word| Infix::named(word).is_none());
        if self.is_word("alloc") && next.is_some() {
            return self.allocation(name);
        }
        if self.is_word("tensormap") && self.next_is(Token::OpenParen) {
            return self.named_map(name);
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

    /// `expr ";"`. A call is refused: its result needs a type.
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
