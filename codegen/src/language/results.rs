//! Results: parser and printer.

use std::fmt::{self, Display, Formatter};

use super::cursor::{Parsed, Parser};
use super::print::list;
use super::reserved::spelled;
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{Output, ResultType};
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
        if matches!(self.token, Token::Word | Token::Name) && self.next_is(Token::Colon) {
            return Ok(ResultType::Allocated(vec![self.output(0)?]));
        }
        if self.is_word("None") {
            self.advance();
            return Ok(ResultType::None);
        }
        const EXPECTED: &str = "`None`, a type such as `float32` or `str`, or a name and `:`";
        self.type_or(EXPECTED).map(ResultType::Value)
    }

    /// `name ":" tensor`
    fn output(&mut self, index: usize) -> Parsed<Output> {
        self.mark(Part::Output(index));
        let name = self.name("the name of a result")?;
        self.expect(Token::Colon, "`:`")?;
        if !self.is_word("Tensor") {
            return Err(self.unexpected("`Tensor`"));
        }
        Ok(Output { name, tensor: self.tensor(NO_VALUE)? })
    }
}

/// Stands for the value that a tensor is where it is none.
pub(super) const NO_VALUE: usize = usize::MAX;

impl Display for ResultType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultType::None => f.write_str("None"),
            ResultType::Value(ty) => ty.fmt(f),
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
        write!(f, "{}: {}", spelled(&self.name), self.tensor)
    }
}
