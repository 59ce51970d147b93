//! The parser: calls of C functions and of functions of the FFI.

use super::parser::{Parsed, Parser};
use super::reserved::{self, Word};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    Call, Expr, FunctionCall, FunctionRef, KernelCall, KernelRef, StatusError,
};
use crate::error::Part;

/// Word before the keys of a call whose result is kept.
const CACHED: &str = "cached";

/// Calls of C functions and of functions of the FFI.
impl Parser<'_> {
    /// Parses a call of any kind, up to and including `;`.
    pub(super) fn call(&mut self, expected: &str) -> Parsed<Call> {
        if self.token == Token::At {
            return self.function_call(Vec::new());
        }
        if !self.is_word(CACHED) || !self.next_is(Token::OpenParen) {
            return self.kernel_call(expected).map(Call::Kernel);
        }
        // A C function may have this name.
        self.mark(Part::Callee);
        self.advance();
        self.advance();
        let given = self.arguments()?;
        if self.token == Token::At && given.is_empty() {
            return Err(self.unexpected("`;`, as a cached call has a key"));
        }
        if self.token == Token::At && given.len() > Limit::Keys.max() {
            return Err(self.excess(Limit::Keys));
        }
        if self.token == Token::At {
            return self.function_call(given);
        }
        self.no_block_after(CACHED, "`@` or `;`")?;
        self.expect(Token::Semicolon, "`@` or `;`")?;
        Ok(Call::Kernel(KernelCall::new(CACHED, given)))
    }

    /// Parses a call of a function of the FFI, from `@` up to and including `;`.
    pub(super) fn function_call(&mut self, keys: Vec<Expr>) -> Parsed<Call> {
        self.advance();
        let callee = self.callee()?;
        self.expect_after_name(Token::OpenParen, "`(`")?;
        let args = self.arguments()?;
        let into = self.tensors_to_write()?;
        Ok(FunctionCall { callee, args, into, keys }.into())
    }

    /// `[ "into" expr { "," expr } ] ";"`
    fn tensors_to_write(&mut self) -> Parsed<Vec<Expr>> {
        if !self.is_word("into") {
            self.expect(Token::Semicolon, "`into` or `;`")?;
            return Ok(Vec::new());
        }
        self.advance();
        if self.token == Token::Semicolon {
            return Err(self.unexpected("a tensor"));
        }
        let after = "an operator, `,` or `;`";
        self.list(Token::Semicolon, after, Limit::Arguments, |parser, _| parser.expr())
    }

    /// Parses the callee of an FFI call, after `@`.
    pub(super) fn callee(&mut self) -> Parsed<FunctionRef> {
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

    /// `[ "try" ] ( symbol | "(" expr ")" ) "(" … ")" [ errors ] ";"`; `expected` names the tokens that may stand here.
    pub(super) fn kernel_call(&mut self, expected: &str) -> Parsed<KernelCall> {
        let returns_status = self.is_word("try");
        if returns_status {
            self.advance();
        }
        self.mark(Part::Callee);
        let expected = if returns_status { "the symbol to call" } else { expected };
        let callee = self.kernel_ref(expected)?;
        if self.blocks > 0 {
            self.no_assignment("`(`")?;
        }
        if !returns_status {
            self.no_bare_value()?;
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
        if let KernelRef::Symbol(symbol) = &callee {
            self.no_block_after(symbol, after)?;
        }
        self.expect(Token::Semicolon, after)?;
        Ok(KernelCall { callee, args, status })
    }

    /// `symbol | "(" expr ")"`; `expected` names the tokens that may stand here.
    fn kernel_ref(&mut self, expected: &str) -> Parsed<KernelRef> {
        if !self.accept(Token::OpenParen) {
            return self.symbol(expected).map(KernelRef::Symbol);
        }
        let address = self.nested(Self::expr)?;
        self.expect(Token::CloseParen, "an operator or `)`")?;
        Ok(KernelRef::Address(address))
    }

    /// Parses arguments after `(`, up to and including `)`.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let after = "an operator, `,` or `)`";
        self.list(Token::CloseParen, after, Limit::Arguments, |parser, index| {
            parser.mark(Part::Argument(index));
            parser.expr()
        })
    }

    /// `"errors" "{" … "}"`
    pub(super) fn errors(&mut self) -> Parsed<Vec<StatusError>> {
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

    /// Parses the kind of an error: words with dots between them.
    pub(super) fn kind(&mut self) -> Parsed<String> {
        let mut kind = self.word("a kind of error such as `ValueError`")?.to_owned();
        while self.accept(Token::Dot) {
            kind.push('.');
            kind.push_str(self.word("the rest of a kind of error")?);
        }
        Ok(kind)
    }

    /// Parses a status: `"_"` or a number.
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

    /// Parses a C symbol: an identifier that is not reserved, or a quotation.
    pub(super) fn symbol(&mut self, expected: &str) -> Parsed<String> {
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
