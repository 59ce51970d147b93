//! The parser: items and signatures. Types are in [`types`](super::types), expressions in
//! [`expression`](super::expression).
//!
//! One function per rule of the grammar. A function that parses a rule leaves the parser at the token
//! after it.

use super::cursor::{Parsed, Parser};
use super::reserved::{self, Word};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    Body, Comparison, Constraint, Expr, Function, Library, KernelCall, Location, Param, Signature, StatusError,
};
use crate::error::Part;

impl Parser<'_> {
    /// `{ function }`
    pub(super) fn library(&mut self) -> Parsed<Library> {
        let mut functions = Vec::new();
        while self.token != Token::End {
            if functions.len() == Limit::Functions.max() {
                return Err(self.excess(Limit::Functions));
            }
            self.function = functions.len();
            functions.push(self.function()?);
        }
        Ok(functions.into())
    }

    /// Documentation, location, signature and body, up to and including `;`.
    pub(super) fn function(&mut self) -> Parsed<Function> {
        let docs = self.docs();
        let location = self.location()?;
        let signature = self.signature()?;
        let after = if signature.constraints.is_empty() {
            "`where` or `=`"
        } else {
            "an operator, `else`, `,` or `=`"
        };
        self.expect(Token::Assign, after)?;
        let body = self.body()?;
        let after = if body.status.is_some() { "`errors` or `;`" } else { "`;`" };
        self.expect(Token::Semicolon, after)?;
        Ok(Function { docs, location, signature, body: Body::Call(body), external: false })
    }

    fn docs(&mut self) -> String {
        let mut docs = String::new();
        self.mark(Part::Docs);
        let mut first = true;
        while self.token == Token::Doc {
            if !std::mem::take(&mut first) {
                docs.push('\n');
            }
            let line = &self.slice()["///".len()..];
            let line = line.strip_suffix('\r').unwrap_or(line);
            docs.push_str(line.strip_prefix(' ').unwrap_or(line));
            self.advance();
        }
        docs
    }

    /// `[ "@" quoted ":" int ]`
    fn location(&mut self) -> Parsed<Option<Location>> {
        self.mark(Part::Location);
        if !self.accept(Token::At) {
            return Ok(None);
        }
        let file = self.quoted("a file in quotes")?;
        self.expect(Token::Colon, "`:`")?;
        let line = self.int(i32::MAX as u64, "the number of a line")? as u32;
        Ok(Some(Location { file, line }))
    }

    /// Name, parameters, result and constraints.
    pub(super) fn signature(&mut self) -> Parsed<Signature> {
        self.mark(Part::Name);
        self.value = 0;
        let name = self.word("the name of a function")?.to_owned();
        self.expect(Token::OpenParen, "`(`")?;
        let params = self.list(Token::CloseParen, "`,` or `)`", Limit::Params, Self::param)?;
        self.expect(Token::Arrow, "`->`")?;
        let result = self.result()?;
        let constraints = self.constraints()?;
        Ok(Signature { name, params, result, constraints })
    }

    /// `[ "*" ] name ":" type [ "=" literal ]`
    fn param(&mut self, index: usize) -> Parsed<Param> {
        self.mark(Part::Param(index));
        let variadic = self.accept(Token::Star);
        let name = self.word("the name of a parameter")?.to_owned();
        self.expect(Token::Colon, "`:`")?;
        let ty = self.param_type()?;
        let mut default = None;
        if self.accept(Token::Assign) {
            self.mark(Part::Default(index));
            default = Some(self.literal()?);
        }
        Ok(Param { name, ty, default, variadic })
    }

    /// The `where` clause, if there is one.
    fn constraints(&mut self) -> Parsed<Vec<Constraint>> {
        let mut constraints = Vec::new();
        if !self.is_word("where") {
            return Ok(constraints);
        }
        self.advance();
        loop {
            if constraints.len() == Limit::Constraints.max() {
                return Err(self.excess(Limit::Constraints));
            }
            self.mark(Part::Constraint(constraints.len()));
            constraints.push(self.constraint()?);
            if !self.accept(Token::Comma) {
                return Ok(constraints);
            }
        }
    }

    fn constraint(&mut self) -> Parsed<Constraint> {
        let lhs = self.expr()?;
        let op =
            comparison(self.token).ok_or_else(|| self.unexpected("an operator or a comparison"))?;
        self.advance();
        let rhs = self.expr()?;
        if comparison(self.token).is_some() {
            let found = format!("a second comparison `{}`", self.slice());
            return Err(self.syntax("`,` or `=`", found));
        }
        let message = self.message()?;
        Ok(Constraint { condition: Expr::compare(lhs, op, rhs), message })
    }

    /// `[ "else" quoted ]`
    fn message(&mut self) -> Parsed<Option<String>> {
        if !self.is_word("else") {
            return Ok(None);
        }
        self.advance();
        self.quoted("a message in quotes").map(Some)
    }

    /// What stands between `=` and `;`.
    fn body(&mut self) -> Parsed<KernelCall> {
        let returns_status = self.is_word("try");
        if returns_status {
            self.advance();
        }
        self.mark(Part::Callee);
        let symbol = self.symbol()?;
        self.expect(Token::OpenParen, "`(`")?;
        let after = "an operator, `,` or `)`";
        let args = self.list(Token::CloseParen, after, Limit::Arguments, |parser, index| {
            parser.mark(Part::Argument(index));
            parser.expr()
        })?;
        let status = if returns_status { Some(self.errors()?) } else { None };
        Ok(KernelCall { symbol, args, status })
    }

    /// `[ "errors" "{" … "}" ]`
    fn errors(&mut self) -> Parsed<Vec<StatusError>> {
        if !self.is_word("errors") {
            return Ok(Vec::new());
        }
        self.advance();
        self.expect(Token::OpenBrace, "`{`")?;
        self.list(Token::CloseBrace, "`,` or `}`", Limit::Errors, |parser, index| {
            parser.mark(Part::Status(index));
            let status = parser.status()?;
            parser.expect(Token::Colon, "`:`")?;
            let kind = parser.word("a kind of error such as `ValueError`")?.to_owned();
            let message = parser.quoted("a message in quotes")?;
            Ok(StatusError { status, kind, message })
        })
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
    fn symbol(&mut self) -> Parsed<String> {
        let text = self.slice();
        if self.token == Token::Word && reserved::classify(text) == Word::Name {
            self.advance();
            return Ok(text.to_owned());
        }
        if self.token == Token::Word {
            return Err(self.syntax("the symbol to call", format!("`{text}`, which needs quotes")));
        }
        self.quoted("the symbol to call")
    }
}

fn comparison(token: Token) -> Option<Comparison> {
    let operators = [
        (Token::Eq, Comparison::Eq),
        (Token::Ne, Comparison::Ne),
        (Token::Lt, Comparison::Lt),
        (Token::Le, Comparison::Le),
        (Token::Gt, Comparison::Gt),
        (Token::Ge, Comparison::Ge),
    ];
    operators.into_iter().find(|(sign, _)| *sign == token).map(|(_, comparison)| comparison)
}
