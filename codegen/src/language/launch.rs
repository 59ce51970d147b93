//! Images and launches: parser and printer.

use std::fmt::{self, Display, Formatter};

use super::parser::{Parsed, Parser};
use super::print_items::{enclosed, list, quote};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    AttributeKind, AttributeValue, Expr, Image, Launch, LaunchArg, LaunchAttribute, StatementKind,
};

/// The tokens that may follow an expression in a list in parentheses.
pub(super) const AFTER: &str = "an operator, `,` or `)`";

impl Parser<'_> {
    /// `"image" word [ "on" "load" "@" quoted ] ";"`
    pub(super) fn image(&mut self, index: usize) -> Parsed<Image> {
        self.mark_image(index);
        self.advance();
        let name = self.word("the name of an image")?.to_owned();
        let mut image = Image::new(name);
        if self.is_word("on") {
            self.advance();
            if !self.is_word("load") {
                return Err(self.unexpected("`load`"));
            }
            self.advance();
            self.expect(Token::At, "`@` and the name of a function in quotes")?;
            image.on_load = Some(self.quoted("the name of a function in quotes")?);
        }
        let after = if image.on_load.is_some() { "`;`" } else { "`on load` or `;`" };
        self.expect(Token::Semicolon, after)?;
        Ok(image)
    }

    /// `"launch" name "." quoted "(" [ given { "," given } ] ")" { clause } ";"`
    pub(super) fn launch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let image = self.word("the name of an image")?.to_owned();
        self.expect(Token::Dot, "`.` and the name of a kernel in quotes")?;
        let kernel = self.quoted("the name of a kernel in quotes")?;
        self.expect(Token::OpenParen, "`(`")?;
        let args =
            self.list(Token::CloseParen, AFTER, Limit::Arguments, |parser, _| parser.given())?;
        let mut launch = Launch::new(image, kernel, args);
        let mut after = "`grid`, `block` or another clause";
        while !self.accept(Token::Semicolon) {
            after = self.clause(&mut launch, after)?;
        }
        Ok(StatementKind::Launch(Box::new(launch)))
    }

    /// Parses a clause that the launch does not have yet; returns the tokens that may follow it.
    fn clause(&mut self, launch: &mut Launch, expected: &str) -> Parsed<&'static str> {
        const NEXT: &str = "a clause such as `smem`, or `;`";
        let word = self.peek_word();
        let seen = match word {
            "grid" => !launch.grid.is_empty(),
            "block" => !launch.block.is_empty(),
            "smem" => launch.shared.is_some(),
            "on" => launch.on.is_some(),
            "stream" => launch.stream.is_some(),
            _ => false,
        };
        if seen {
            return Err(self.syntax("every clause once", format!("a second `{word}`")));
        }
        match word {
            "grid" => launch.grid = self.extents()?,
            "block" => launch.block = self.extents()?,
            "smem" => launch.shared = Some(self.number()?),
            "on" => {
                self.advance();
                launch.on = Some(self.expr()?);
                return Ok("an operator, a clause or `;`");
            }
            "stream" => {
                self.advance();
                launch.stream = Some(self.expr()?);
                return Ok("an operator, a clause or `;`");
            }
            _ => {
                let attribute = self.attribute(expected)?;
                launch.attributes.push(attribute);
            }
        }
        Ok(NEXT)
    }

    /// Skips a word and parses one to three extents in parentheses.
    fn extents(&mut self) -> Parsed<Vec<Expr>> {
        self.advance();
        self.expect(Token::OpenParen, "`(`")?;
        let first = self.expr()?;
        let mut extents = vec![first];
        while extents.len() < 3 && self.accept(Token::Comma) {
            extents.push(self.expr()?);
        }
        let after = if extents.len() < 3 { AFTER } else { "an operator or `)`" };
        self.expect(Token::CloseParen, after)?;
        Ok(extents)
    }

    /// Skips a word and parses an expression in parentheses.
    fn number(&mut self) -> Parsed<Expr> {
        self.advance();
        self.expect(Token::OpenParen, "`(`")?;
        let number = self.expr()?;
        self.expect(Token::CloseParen, "an operator or `)`")?;
        Ok(number)
    }

    /// Parses an attribute: `cooperative`, `cluster(2)`, `attribute(13, int32(1))`.
    fn attribute(&mut self, expected: &str) -> Parsed<LaunchAttribute> {
        let word = self.slice();
        let known = AttributeKind::ALL.iter().find(|kind| kind.word() == word);
        let (kind, fields) = match known.map(|kind| (*kind, kind.value())) {
            Some((kind, AttributeValue::Flag)) => {
                self.advance();
                (kind, Vec::new())
            }
            Some((kind, AttributeValue::Number)) => (kind, vec![self.number()?]),
            Some((kind, AttributeValue::Dims | AttributeValue::Any)) => (kind, self.extents()?),
            None if self.is_word("attribute") => return self.other_attribute(),
            None => return Err(self.unexpected(expected)),
        };
        Ok(LaunchAttribute { kind, fields })
    }

    fn other_attribute(&mut self) -> Parsed<LaunchAttribute> {
        self.advance();
        self.expect(Token::OpenParen, "`(`")?;
        let id = self.int(u32::MAX.into(), "the number of an attribute")? as u32;
        self.expect(Token::Comma, "`,` and the fields of its value")?;
        let fields =
            self.list(Token::CloseParen, AFTER, Limit::Arguments, |parser, _| parser.expr())?;
        Ok(LaunchAttribute { kind: AttributeKind::Other(id), fields })
    }

    /// Parses an argument of a launch.
    pub(super) fn given(&mut self) -> Parsed<LaunchArg> {
        let word = if self.token == Token::Word && self.next_is(Token::OpenParen) {
            self.slice()
        } else {
            ""
        };
        match word {
            "struct" => self.structure(),
            "scratch" => self.scratch(),
            "tensormap" => self.tensor_map().map(LaunchArg::TensorMap),
            "bytes" => self.bytes(),
            _ => self.expr().map(LaunchArg::Value),
        }
    }

    fn structure(&mut self) -> Parsed<LaunchArg> {
        self.advance();
        let fields = self.nested(|parser| {
            parser.advance();
            parser.list(Token::CloseParen, AFTER, Limit::Arguments, |parser, _| parser.given())
        })?;
        Ok(LaunchArg::Struct(fields))
    }

    fn scratch(&mut self) -> Parsed<LaunchArg> {
        self.advance();
        self.advance();
        let bytes = self.expr()?;
        self.expect(Token::Comma, "an operator, or `,` and an alignment")?;
        let align = self.int(u64::MAX, "a number of bytes")?;
        self.expect(Token::CloseParen, "`)`")?;
        Ok(LaunchArg::Scratch { bytes, align })
    }

    /// `"bytes" "(" expr "," int ")"`
    fn bytes(&mut self) -> Parsed<LaunchArg> {
        self.advance();
        self.advance();
        let tensor = self.expr()?;
        self.expect(Token::Comma, "an operator, or `,` and a number of bytes")?;
        let size = self.int(u32::MAX.into(), "a number of bytes")? as u32;
        self.expect(Token::CloseParen, "`)`")?;
        Ok(LaunchArg::Bytes { tensor, size })
    }
}

impl Display for Image {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "image {}", self.name)?;
        if let Some(function) = &self.on_load {
            f.write_str(" on load @")?;
            quote(f, function)?;
        }
        f.write_str(";")
    }
}

/// Prints one line, without `;`.
impl Display for Launch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "launch {}.", self.image)?;
        quote(f, &self.gpu_kernel)?;
        enclosed(f, "(", &self.args, ")")?;
        numbers(f, "grid", &self.grid)?;
        numbers(f, "block", &self.block)?;
        numbers(f, "smem", self.shared.as_slice())?;
        self.attributes.iter().try_for_each(|attribute| write!(f, " {attribute}"))?;
        clauses(f, self.on.as_ref(), self.stream.as_ref())
    }
}

/// Prints ` on x stream s`, without what is not given.
pub(super) fn clauses(
    f: &mut Formatter<'_>,
    on: Option<&Expr>,
    stream: Option<&Expr>,
) -> fmt::Result {
    on.map_or(Ok(()), |on| write!(f, " on {on}"))?;
    stream.map_or(Ok(()), |stream| write!(f, " stream {stream}"))
}

/// Prints a clause such as ` grid(n, 2)`, or nothing if it has no numbers.
fn numbers(f: &mut Formatter<'_>, word: &str, numbers: &[Expr]) -> fmt::Result {
    if numbers.is_empty() {
        return Ok(());
    }
    write!(f, " {word}")?;
    enclosed(f, "(", numbers, ")")
}

impl Display for LaunchAttribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        let id = if let AttributeKind::Other(id) = self.kind { Some(id) } else { None };
        if id.is_none() && self.fields.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        if let Some(id) = id {
            write!(f, "{id}, ")?;
        }
        list(f, &self.fields)?;
        f.write_str(")")
    }
}

impl Display for LaunchArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            LaunchArg::Value(value) => value.fmt(f),
            LaunchArg::Struct(fields) => enclosed(f, "struct(", fields, ")"),
            LaunchArg::Scratch { bytes, align } => write!(f, "scratch({bytes}, {align})"),
            LaunchArg::TensorMap(map) => map.fmt(f),
            LaunchArg::Bytes { tensor, size } => write!(f, "bytes({tensor}, {size})"),
        }
    }
}
