//! Tensor maps: parser and printer.

use std::fmt::{self, Display, Formatter};

use super::launch::AFTER;
use super::parser::{Parsed, Parser};
use super::print_items::enclosed;
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    Expr, Fill, Im2col, Interleave, MapMode, MapType, Promotion, StatementKind, Swizzle, TensorMap,
};

/// The parts of a column of pixels, each of which is said once.
const IM2COL_PARTS: &str = "`lower`, `upper`, `channels` and `pixels`, each once";

impl Parser<'_> {
    /// `tensormap ";"`, after `"let" name "="`
    pub(super) fn named_map(&mut self, name: String) -> Parsed<StatementKind> {
        let map = Box::new(self.tensor_map()?);
        self.expect(Token::Semicolon, "`;`")?;
        Ok(StatementKind::TensorMap { name, map })
    }

    /// `"tensormap" "(" expr { "," option } ")"`. The extents of a box and `im2col` exclude each other.
    pub(super) fn tensor_map(&mut self) -> Parsed<TensorMap> {
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
            let modes = ["box", "im2col"];
            if modes.contains(&option) && modes.iter().any(|mode| seen.contains(mode)) {
                return Err(self.syntax("one of `box` and `im2col`", "both".to_owned()));
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
            "box" => map.mode = MapMode::Tiled(self.assigned(Self::map_dims)?),
            "im2col" => map.mode = MapMode::Im2col(Box::new(self.im2col()?)),
            "steps" => map.steps = self.assigned(Self::map_dims)?,
            "interleave" => {
                map.interleave = self.named_option(Interleave::ALL, |one| one.name())?
            }
            "swizzle" => map.swizzle = self.named_option(Swizzle::ALL, |one| one.name())?,
            "l2" => map.promotion = self.named_option(Promotion::ALL, |one| one.name())?,
            "fill" => map.fill = self.named_option(Fill::ALL, |one| one.name())?,
            "dtype" => map.dtype = Some(self.named_option(MapType::ALL, |one| one.name())?),
            _ => {
                let known = "`dims`, `strides`, `offset`, `box`, `im2col`, `steps`, `interleave`, `swizzle`, `l2`, \
                             `fill` or `dtype`";
                return Err(self.unexpected(known));
            }
        }
        Ok(())
    }

    /// `"im2col" "(" part { "," part } ")"`, with every part once.
    fn im2col(&mut self) -> Parsed<Im2col> {
        self.advance();
        self.expect(Token::OpenParen, "`(`")?;
        let (mut lower, mut upper, mut channels, mut pixels) = (None, None, None, None);
        loop {
            match self.slice() {
                "lower" if lower.is_none() => lower = Some(self.assigned(Self::map_dims)?),
                "upper" if upper.is_none() => upper = Some(self.assigned(Self::map_dims)?),
                "channels" if channels.is_none() => channels = Some(self.assigned(Self::expr)?),
                "pixels" if pixels.is_none() => pixels = Some(self.assigned(Self::expr)?),
                _ => return Err(self.unexpected(IM2COL_PARTS)),
            }
            if !self.accept(Token::Comma) {
                break;
            }
        }
        let (Some(lower), Some(upper), Some(channels), Some(pixels)) =
            (lower, upper, channels, pixels)
        else {
            return Err(self.unexpected(IM2COL_PARTS));
        };
        self.expect(Token::CloseParen, AFTER)?;
        Ok(Im2col { lower, upper, channels, pixels })
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

impl Display for MapMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MapMode::Tiled(extents) => enclosed(f, "box=[", extents, "]"),
            MapMode::Im2col(columns) => columns.fmt(f),
        }
    }
}

impl Display for Im2col {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        enclosed(f, "im2col(lower=[", &self.lower, "]")?;
        enclosed(f, ", upper=[", &self.upper, "]")?;
        write!(f, ", channels={}, pixels={})", self.channels, self.pixels)
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
        write!(f, ", {}", self.mode)?;
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
