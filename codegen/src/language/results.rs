//! Results: parser and printer.

use std::fmt::{self, Display, Formatter};

use super::cursor::{Parsed, Parser};
use super::print::list;
use super::reserved;
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{Mapping, Output, ResultType, Sequence, ValueKind, ValueType};
use crate::error::Part;

impl Parser<'_> {
    /// What stands after `->`.
    pub(super) fn result(&mut self) -> Parsed<ResultType> {
        self.mark(Part::Result);
        if self.accept(Token::OpenParen) {
            let outputs =
                self.list(Token::CloseParen, "`,` or `)`", Limit::Results, Self::output)?;
            return Ok(ResultType::Allocated(outputs));
        }
        if self.token == Token::Word && self.next_is(Token::Colon) {
            return Ok(ResultType::Allocated(vec![self.output(0)?]));
        }
        let generic = self.token == Token::Word && self.next_is(Token::OpenBracket);
        if generic || self.is_word("Optional") || self.is_word("Tuple") {
            return self.value_type().map(ResultType::Written);
        }
        self.lookup("`None`, a type such as `float32` or `str`, or a name and `:`", |word| {
            match (word, reserved::scalar(word)) {
                ("None", _) => Some(ResultType::None),
                (_, Some(scalar)) => Some(ResultType::Scalar(scalar)),
                (_, None) => simple(word).map(ResultType::Written),
            }
        })
    }

    /// `name ":" tensor`
    fn output(&mut self, index: usize) -> Parsed<Output> {
        self.mark(Part::Output(index));
        let name = self.word("the name of a result")?.to_owned();
        self.expect(Token::Colon, "`:`")?;
        if !self.is_word("Tensor") {
            return Err(self.unexpected("`Tensor`"));
        }
        Ok(Output { name, tensor: self.tensor(NO_VALUE)? })
    }

    fn value_type(&mut self) -> Parsed<ValueType> {
        let word = if self.token == Token::Word { self.slice() } else { "" };
        let generic = self.next_is(Token::OpenBracket);
        match word {
            "Array" if generic => self.sequence_of(Sequence::Array),
            "List" if generic => self.sequence_of(Sequence::List),
            "Map" if generic => self.mapping_of(Mapping::Map),
            "Dict" if generic => self.mapping_of(Mapping::Dict),
            "Optional" => self.inside(Self::value_type).map(|ty| ValueType::Optional(Box::new(ty))),
            "Tuple" => self.entries(Limit::Results, Self::value_type).map(ValueType::Tuple),
            _ => self.lookup("a type of a result such as `int64` or `str`", simple),
        }
    }

    fn sequence_of(&mut self, sequence: Sequence) -> Parsed<ValueType> {
        let element = self.inside(Self::value_type)?;
        Ok(ValueType::Sequence(sequence, Box::new(element)))
    }

    fn mapping_of(&mut self, mapping: Mapping) -> Parsed<ValueType> {
        let types = self.inside(|parser| {
            let key = parser.value_type()?;
            parser.expect(Token::Comma, "`,`")?;
            Ok([key, parser.value_type()?])
        })?;
        Ok(ValueType::Mapping(mapping, Box::new(types)))
    }
}

/// Stands for the value that a tensor is where it is none.
const NO_VALUE: usize = usize::MAX;

/// Types of values that are one word.
fn simple(word: &str) -> Option<ValueType> {
    let kind = ValueKind::ALL.iter().find(|kind| kind.name() == word);
    let scalar = || reserved::scalar(word).map(ValueType::Scalar);
    match word {
        "Any" => Some(ValueType::Any),
        _ => kind.map(|kind| ValueType::Kind(*kind)).or_else(scalar),
    }
}

impl Display for ResultType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultType::None => f.write_str("None"),
            ResultType::Scalar(scalar) => scalar.fmt(f),
            ResultType::Written(ty) => ty.fmt(f),
            ResultType::Allocated(outputs) => match &outputs[..] {
                [output] => output.fmt(f),
                outputs => {
                    f.write_str("(")?;
                    list(f, outputs)?;
                    f.write_str(")")
                }
            },
        }
    }
}

impl Display for Output {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.tensor)
    }
}

impl Display for ValueType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Any => f.write_str("Any"),
            ValueType::Scalar(scalar) => scalar.fmt(f),
            ValueType::Kind(kind) => f.write_str(kind.name()),
            ValueType::Optional(inner) => write!(f, "Optional[{inner}]"),
            ValueType::Tuple(types) => {
                f.write_str("Tuple[")?;
                list(f, types)?;
                f.write_str("]")
            }
            ValueType::Sequence(Sequence::Array, element) => write!(f, "Array[{element}]"),
            ValueType::Sequence(Sequence::List, element) => write!(f, "List[{element}]"),
            ValueType::Mapping(Mapping::Map, types) => write!(f, "Map[{}, {}]", types[0], types[1]),
            ValueType::Mapping(Mapping::Dict, types) => {
                write!(f, "Dict[{}, {}]", types[0], types[1])
            }
        }
    }
}
