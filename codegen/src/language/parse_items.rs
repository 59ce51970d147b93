//! The parser: items and signatures.
//!
//! One function parses one rule of the grammar, and leaves the parser at the token after it. A comment in backticks is
//! the rule.

use super::parser::{Parsed, Parser};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{Body, Constraint, Function, Library, Location, Param, Signature};
use crate::error::Part;

impl Parser<'_> {
    /// `{ image | function }`
    pub(super) fn library(&mut self) -> Parsed<Library> {
        // Most libraries of the JIT have one function; the default capacity is four.
        let (mut images, mut functions) = (Vec::new(), Vec::with_capacity(1));
        while self.token != Token::End {
            if self.is_word("image") && !self.next_is(Token::OpenParen) {
                if images.len() == Limit::Images.max() {
                    return Err(self.excess(Limit::Images));
                }
                images.push(self.image(images.len())?);
                continue;
            }
            if functions.len() == Limit::Functions.max() {
                return Err(self.excess(Limit::Functions));
            }
            self.function = functions.len();
            functions.push(self.function()?);
        }
        Ok(Library { images, ..functions.into() })
    }

    /// Parses a function: documentation, location, `extern`, signature and body, up to and including `;`.
    pub(super) fn function(&mut self) -> Parsed<Function> {
        self.mark(Part::Docs);
        let docs = self.docs();
        self.located = (self.token == Token::At).then_some(self.start());
        let location = self.location()?;
        let external = self.is_word("extern") && !self.next_is(Token::OpenParen);
        if external {
            self.advance();
        }
        self.no_other_function()?;
        let signature = self.signature()?;
        let after = if signature.constraints.is_empty() {
            "`where` or `=`"
        } else {
            "an operator, `else`, `,` or `=`"
        };
        self.expect(Token::Assign, after)?;
        let body = self.body()?;
        self.located = None;
        Ok(Function { docs, location, external, ..signature.body(body) })
    }

    /// Parses a function that a body makes: `signature block`. Its statements are as deep as the block and the
    /// expressions around it, and their expressions nest by themselves.
    pub(super) fn closure(&mut self) -> Parsed<Function> {
        let signature = Signature { is_made: true, ..self.nested(Self::signature)? };
        let after = if signature.constraints.is_empty() {
            "`where` or `{`"
        } else {
            "an operator, `else`, `,` or `{`"
        };
        let around = std::mem::take(&mut self.depth);
        self.blocks += around;
        let body = Body::Block(self.block(after)?);
        self.blocks -= around;
        self.depth = around;
        Ok(signature.body(body))
    }

    /// `{ doc }`
    fn docs(&mut self) -> String {
        let mut docs = String::new();
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

    /// `[ "@" quoted ":" int [ ":" int ] ]`
    pub(super) fn location(&mut self) -> Parsed<Option<Location>> {
        self.mark(Part::Location);
        if !self.accept(Token::At) {
            return Ok(None);
        }
        let file = self.quoted("a file in quotes")?;
        self.expect(Token::Colon, "`:`")?;
        let line = self.int(Location::MAX.into(), "the number of a line, up to 2147483647")? as u32;
        let column = if self.accept(Token::Colon) {
            self.int(Location::MAX.into(), "the number of a column, up to 2147483647")? as u32
        } else {
            0
        };
        Ok(Some(Location { file, line, column }))
    }

    /// Parses a signature: name, parameters, result and constraints.
    pub(super) fn signature(&mut self) -> Parsed<Signature> {
        self.mark(Part::Name);
        self.value = 0;
        let name = self.label("the name of a function")?.to_owned();
        self.expect_after_name(Token::OpenParen, "`(`")?;
        let params = self.list(Token::CloseParen, "`,` or `)`", Limit::Params, Self::param)?;
        self.expect(Token::Arrow, "`->`")?;
        let result = self.result()?;
        let constraints = self.constraints()?;
        Ok(Signature { name, params, result, constraints, is_made: false })
    }

    /// `{ doc } [ "*" ] name ":" type [ "=" literal ]`
    fn param(&mut self, index: usize) -> Parsed<Param> {
        let docs = self.docs();
        self.mark(Part::Param(index));
        let variadic = self.accept(Token::Star);
        let name = self.name("the name of a parameter")?;
        self.expect_after_name(Token::Colon, "`:`")?;
        let ty = self.param_type()?;
        let mut default = None;
        if self.accept(Token::Assign) {
            self.mark(Part::Default(index));
            default = Some(self.literal()?);
        }
        Ok(Param { docs, name, ty, default, variadic })
    }

    /// Parses the `where` clause, which may be absent.
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
        let condition = self.expr()?;
        let message = self.message()?;
        Ok(Constraint { condition, message })
    }

    /// `[ "else" quoted ]`
    fn message(&mut self) -> Parsed<Option<String>> {
        if !self.is_word("else") {
            return Ok(None);
        }
        self.advance();
        self.quoted("a message in quotes").map(Some)
    }
}
