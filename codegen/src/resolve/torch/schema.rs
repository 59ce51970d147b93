//! Schemas: types, parameters and defaults as PyTorch spells them.

use std::fmt::Write;

use super::{Answer, Argument, Element, Given, Plain};
use crate::declaration::{Literal, Param};

impl Plain {
    /// Returns the name of the type in schemas. A compiler may know an integer as a symbol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Plain::Int => "SymInt",
            Plain::Bool => "bool",
            Plain::Float => "float",
            Plain::DType => "ScalarType",
            Plain::Device => "Device",
        }
    }
}

impl Element {
    /// Returns the name of the type in schemas. A tensor that is written has the number of its parameter.
    pub(super) fn name(self, number: usize) -> String {
        match self {
            Element::Plain(plain) => plain.name().to_owned(),
            Element::Str => "str".to_owned(),
            Element::Tensor { writes: true } => format!("Tensor(a{number}!)"),
            Element::Tensor { writes: false } => "Tensor".to_owned(),
        }
    }
}

impl Answer {
    /// Returns the name of the type in schemas.
    pub(super) fn name(&self) -> String {
        let name = match self.given {
            Given::Plain(plain) | Given::Array(Element::Plain(plain)) => plain.name(),
            Given::Shape => Plain::Int.name(),
            Given::Tensor { .. } | Given::Array(Element::Tensor { .. }) => "Tensor",
            Given::Str | Given::Bytes | Given::Stream | Given::Array(Element::Str) => "str",
        };
        let list = if matches!(self.given, Given::Array(_) | Given::Shape) { "[]" } else { "" };
        format!("{name}{list}{}", if self.optional { "?" } else { "" })
    }
}

/// Appends a parameter to a schema.
pub(super) fn write_argument(
    schema: &mut String,
    number: usize,
    param: &Param,
    argument: Argument<'_>,
) -> Result<(), String> {
    let name = match argument.given {
        Given::Plain(plain) => plain.name().to_owned(),
        Given::Tensor { writes } => Element::Tensor { writes }.name(number),
        Given::Str | Given::Bytes | Given::Stream => "str".to_owned(),
        Given::Shape => "SymInt[]".to_owned(),
        Given::Array(element) => format!("{}[]", element.name(number)),
    };
    let mark = if argument.optional { "?" } else { "" };
    let _ = write!(schema, "{name}{mark} {}", param.name);
    if let Some(default) = &param.default {
        let is_number = matches!(argument.given, Given::Plain(Plain::DType | Plain::Device));
        let text = spelled(default).filter(|_| !is_number || *default == Literal::None);
        let text = text.ok_or_else(|| format!("no schema of PyTorch spells `{default}`"))?;
        let _ = write!(schema, "={text}");
    }
    Ok(())
}

/// Returns a default as schemas spell it; `None` if they cannot.
fn spelled(default: &Literal) -> Option<String> {
    Some(match default {
        Literal::None => "None".to_owned(),
        Literal::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Str(text) => {
            let is_plain = |c: char| c == '\n' || c == '\t' || (' '..='~').contains(&c);
            if !text.chars().all(is_plain) {
                return None;
            }
            format!("{text:?}")
        }
    })
}
