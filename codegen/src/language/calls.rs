//! The parser: calls of C functions and of functions of the FFI.

use super::cursor::{Parsed, Parser};
use super::reserved::{self, Word};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{Call, Expr, FunctionRef, KernelCall, StatusError};
use crate::error::Part;

impl Parser<'_> {
    /// A call of any kind, up to and including `;`.
    pub(super) fn call(&mut self, expected: &str) -> Parsed<Call> {
        if self.token != Token::At {
            return self.kernel_call(expected).map(Call::Kernel);
        }
        self.advance();
        let callee = self.callee()?;
        self.expect(Token::OpenParen, "`(`")?;
        let args = self.arguments()?;
        self.expect(Token::Semicolon, "`;`")?;
        Ok(Call::Function { callee, args })
    }

    /// What stands between `@` and the arguments.
    fn callee(&mut self) -> Parsed<FunctionRef> {
        const EXPECTED: &str = "the name of a function, a name in quotes or `(`";
        if self.accept(Token::OpenParen) {
            let function = self.nested(Self::expr)?;
            self.expect(Token::CloseParen, "an operator or `)`")?;
            return Ok(FunctionRef::Value(function));
        }
        if self.token == Token::Quoted {
            return self.quoted(EXPECTED).map(FunctionRef::Name);
        }
        self.label(EXPECTED).map(|name| FunctionRef::Symbol(name.to_owned()))
    }

    /// `[ "try" ] symbol "(" … ")" [ errors ] ";"`; `expected` is what may stand here.
    pub(super) fn kernel_call(&mut self, expected: &str) -> Parsed<KernelCall> {
        let returns_status = self.is_word("try");
        if returns_status {
            self.advance();
        }
        self.mark(Part::Callee);
        let symbol = self.symbol(if returns_status { "the symbol to call" } else { expected })?;
        if self.blocks > 0 {
            self.no_assignment("`(`")?;
        }
        self.expect(Token::OpenParen, "`(`")?;
        let args = self.arguments()?;
        let mut status = returns_status.then(Vec::new);
        let mut after = "`;`";
        if let Some(errors) = &mut status {
            if self.is_word("errors") {
                *errors = self.errors()?;
            } else {
                after = "`errors` or `;`";
            }
        }
        self.no_block_after(&symbol, after)?;
        self.expect(Token::Semicolon, after)?;
        Ok(KernelCall { symbol, args, status })
    }

    /// What follows `(`, up to and including `)`.
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let after = "an operator, `,` or `)`";
        self.list(Token::CloseParen, after, Limit::Arguments, |parser, index| {
            parser.mark(Part::Argument(index));
            parser.expr()
        })
    }

    /// `"errors" "{" … "}"`
    fn errors(&mut self) -> Parsed<Vec<StatusError>> {
        self.advance();
        self.expect(Token::OpenBrace, "`{`")?;
        self.list(Token::CloseBrace, "`,` or `}`", Limit::Errors, |parser, index| {
            parser.mark(Part::Status(index));
            let status = parser.status()?;
            parser.expect(Token::Colon, "`:`")?;
            let kind = parser.kind()?;
            let message = parser.quoted("a message in quotes")?;
            Ok(StatusError { status, kind, message })
        })
    }

    /// A kind of error.
    pub(super) fn kind(&mut self) -> Parsed<String> {
        self.word("a kind of error such as `ValueError`").map(str::to_owned)
    }

    /// `"_"`, or a number.
    fn status(&mut self) -> Parsed<Option<i32>> {
        const EXPECTED: &str = "a status other than 0, or `_`";
        if self.is_word("_") {
            self.advance();
            return Ok(None);
        }
        let negative = self.accept(Token::Minus);
        let magnitude = self.int((1 << 31) - u64::from(!negative), EXPECTED)? as i32;
        Ok(Some(if negative { magnitude.wrapping_neg() } else { magnitude }))
    }

    /// A C symbol: an identifier that is not reserved, or a quotation.
    fn symbol(&mut self, expected: &str) -> Parsed<String> {
        let text = self.slice();
        if self.token == Token::Word && reserved::classify(text) == Word::Name {
            self.advance();
            return Ok(text.to_owned());
        }
        if self.token == Token::Word {
            return Err(self.needs(expected, "quotes"));
        }
        self.quoted(expected)
    }
}
