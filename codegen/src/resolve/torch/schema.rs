//! Schemas: types, parameters and defaults as PyTorch spells them.

use std::fmt::Write;

use super::{ResultForm, TorchArgument, TorchElement, TorchType, TorchWord};
use crate::declaration::{Literal, Param};

impl TorchWord {
    /// Returns the name of the type in schemas. A compiler may know an integer as a symbol.
    pub(super) fn name(self) -> &'static str {
        match self {
            TorchWord::Int => "SymInt",
            TorchWord::Bool => "bool",
            TorchWord::Float => "float",
            TorchWord::DType => "ScalarType",
            TorchWord::Device => "Device",
        }
    }
}

impl TorchElement {
    /// Returns the name of the type in schemas. A tensor that is written has the number of its parameter.
    pub(super) fn name(self, number: usize) -> String {
        match self {
            TorchElement::Word(word) => word.name().to_owned(),
            TorchElement::Str => "str".to_owned(),
            TorchElement::Tensor { writes: true } => format!("Tensor(a{number}!)"),
            TorchElement::Tensor { writes: false } => "Tensor".to_owned(),
        }
    }
}

impl ResultForm {
    /// Returns the name of the type in schemas.
    pub(super) fn name(&self) -> String {
        let name = match self.given {
            TorchType::Word(word) | TorchType::Array(TorchElement::Word(word)) => word.name(),
            TorchType::Shape => TorchWord::Int.name(),
            TorchType::Tensor { .. } | TorchType::Array(TorchElement::Tensor { .. }) => "Tensor",
            TorchType::Str
            | TorchType::Bytes
            | TorchType::Stream
            | TorchType::Array(TorchElement::Str) => "str",
        };
        let list =
            if matches!(self.given, TorchType::Array(_) | TorchType::Shape) { "[]" } else { "" };
        format!("{name}{list}{}", if self.optional { "?" } else { "" })
    }
}

/// Appends a parameter to a schema.
pub(super) fn write_argument(
    schema: &mut String,
    number: usize,
    param: &Param,
    argument: TorchArgument<'_>,
) -> Result<(), String> {
    let name = match argument.given {
        TorchType::Word(word) => word.name().to_owned(),
        TorchType::Tensor { writes } => TorchElement::Tensor { writes }.name(number),
        TorchType::Str | TorchType::Bytes | TorchType::Stream => "str".to_owned(),
        TorchType::Shape => "SymInt[]".to_owned(),
        TorchType::Array(element) => format!("{}[]", element.name(number)),
    };
    let mark = if argument.optional { "?" } else { "" };
    let _ = write!(schema, "{name}{mark} {}", param.name);
    if let Some(default) = &param.default {
        let is_number =
            matches!(argument.given, TorchType::Word(TorchWord::DType | TorchWord::Device));
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
