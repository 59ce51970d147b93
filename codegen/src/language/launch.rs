//! Images and launches: parser and printer.

use std::fmt::{self, Display, Formatter};

use super::parser::{Parsed, Parser};
use super::print_items::{enclosed, list, quote};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    AttributeKind, AttributeValue, Expr, Fill, Image, Interleave, Launch, LaunchArg,
    LaunchAttribute, MapType, Promotion, StatementKind, Swizzle, TensorMap,
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

    /// `tensormap ";"`, after `"let" name "="`
    pub(super) fn named_map(&mut self, name: String) -> Parsed<StatementKind> {
        let map = Box::new(self.tensor_map()?);
        self.expect(Token::Semicolon, "`;`")?;
        Ok(StatementKind::TensorMap { name, map })
    }

    /// `"tensormap" "(" expr { "," option } ")"`
    fn tensor_map(&mut self) -> Parsed<TensorMap> {
        self.advance();
        self.advance();
        let tensor = self.expr()?;
        let mut map = TensorMap::new(tensor, [] as [Expr; 0]);
        let mut seen: Vec<&str> = Vec::new();
        while self.accept(Token::Comma) {
            let option = self.slice();
            if seen.contains(&option) {
                return Err(self.syntax("every option once", format!("a second `{option}`")));
            }
            self.map_option(&mut map, option)?;
            seen.push(option);
        }
        self.expect(Token::CloseParen, AFTER)?;
        Ok(map)
    }

    fn map_option(&mut self, map: &mut TensorMap, option: &str) -> Parsed<()> {
        match option {
            "dims" => map.dims = self.assigned(Self::map_dims)?,
            "strides" => map.strides = self.assigned(Self::map_dims)?,
            "offset" => map.offset = Some(self.assigned(Self::expr)?),
            "box" => map.extents = self.assigned(Self::map_dims)?,
            "steps" => map.steps = self.assigned(Self::map_dims)?,
            "interleave" => {
                map.interleave = self.named_option(Interleave::ALL, |one| one.name())?
            }
            "swizzle" => map.swizzle = self.named_option(Swizzle::ALL, |one| one.name())?,
            "l2" => map.promotion = self.named_option(Promotion::ALL, |one| one.name())?,
            "fill" => map.fill = self.named_option(Fill::ALL, |one| one.name())?,
            "dtype" => map.dtype = Some(self.named_option(MapType::ALL, |one| one.name())?),
            _ => {
                let known = "`dims`, `strides`, `offset`, `box`, `steps`, `interleave`, `swizzle`, `l2`, `fill` or \
                             `dtype`";
                return Err(self.unexpected(known));
            }
        }
        Ok(())
    }

    /// Skips the current word and `=`, and parses a value.
    fn assigned<T>(&mut self, value: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.advance();
        self.expect(Token::Assign, "`=`")?;
        value(self)
    }

    fn map_dims(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Token::OpenBracket, "`[`")?;
        let after = "an operator, `,` or `]`";
        self.list(Token::CloseBracket, after, Limit::Rank, |parser, _| parser.expr())
    }

    /// Parses an option whose value is one of several names in quotes.
    fn named_option<T: Copy>(&mut self, all: &[T], name: fn(T) -> &'static str) -> Parsed<T> {
        self.assigned(|parser| {
            let names: Vec<String> = all.iter().map(|&one| format!("\"{}\"", name(one))).collect();
            let expected = names.join(", ");
            let found = names
                .iter()
                .position(|name| parser.token == Token::Quoted && parser.slice() == name);
            let found = found.ok_or_else(|| parser.unexpected(&expected))?;
            parser.advance();
            Ok(all[found])
        })
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

/// Leaves out options that hold their default.
impl Display for TensorMap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "tensormap({}", self.tensor)?;
        for (start, numbers) in [(", dims=[", &self.dims), (", strides=[", &self.strides)] {
            if !numbers.is_empty() {
                enclosed(f, start, numbers, "]")?;
            }
        }
        self.offset.as_ref().map_or(Ok(()), |offset| write!(f, ", offset={offset}"))?;
        enclosed(f, ", box=[", &self.extents, "]")?;
        if !self.steps.is_empty() {
            enclosed(f, ", steps=[", &self.steps, "]")?;
        }
        let options = [
            ("interleave", self.interleave.name(), self.interleave == Interleave::None),
            ("swizzle", self.swizzle.name(), self.swizzle == Swizzle::None),
            ("l2", self.promotion.name(), self.promotion == Promotion::None),
            ("fill", self.fill.name(), self.fill == Fill::None),
            ("dtype", self.dtype.map_or("", |dtype| dtype.name()), self.dtype.is_none()),
        ];
        let given = options.into_iter().filter(|(.., default)| !default);
        for (option, name, _) in given {
            write!(f, ", {option}=\"{name}\"")?;
        }
        f.write_str(")")
    }
}
