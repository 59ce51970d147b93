//! Prints terms by operator.

use std::fmt::Debug;

use super::Printer;
use crate::declaration::Literal;
use crate::declaration::reserved::spelled;
use crate::resolve::argument::Argument;
use crate::resolve::ids::ValueId;
use crate::resolve::operator::{Binary, OfFloats, OfIntegers};
use crate::resolve::term::{Global, Kind, Node, OfGlobal, OfSeveral, OfTensor, Property, Term};

/// Returns the name of an operator or a kind in lower case.
pub(super) fn word(of: impl Debug) -> String {
    format!("{of:?}").to_lowercase()
}

/// Returns a text in quotes.
pub(super) fn quoted(text: &str) -> String {
    Literal::Str(text.to_owned()).to_string()
}

/// Returns the name of an operator: that of floats begins with `f`, and an ordering of `uint64` with `u`.
fn binary(op: Binary) -> String {
    match op {
        Binary::Integers(OfIntegers::Pick(op)) => word(op),
        Binary::Integers(OfIntegers::Compare(op)) => word(op),
        Binary::Integers(OfIntegers::CompareUnsigned(op)) => format!("u{}", word(op)),
        Binary::Floats(OfFloats::Pick(op)) => format!("f{}", word(op)),
        Binary::Floats(OfFloats::Compare(op)) => format!("f{}", word(op)),
        Binary::Floats(op @ (OfFloats::Add | OfFloats::Sub | OfFloats::Mul | OfFloats::Div)) => {
            format!("f{}", word(op))
        }
    }
}

impl Printer<'_, '_> {
    pub(super) fn term(&self, term: &Term) -> String {
        let operands = || self.terms(term.operands());
        match &term.node {
            Node::Int(value) if term.kind == Kind::Unsigned => value.cast_unsigned().to_string(),
            Node::Int(value) => value.to_string(),
            Node::Float(value) => Literal::Float(*value).to_string(),
            Node::Text(text) => quoted(text),
            Node::Null => "null".to_owned(),
            Node::Symbol(symbol) => self.symbol(*symbol),
            Node::Local(local) => self.local(*local),
            Node::Value(value) => self.value(*value),
            Node::Output(output) => self.output(*output),
            Node::OutputData(output) => format!("{}.data", self.output(*output)),
            Node::OutputObject(output) => format!("{}.object", self.output(*output)),
            Node::Property(value, property) => self.property(*value, *property),
            Node::Number { of, index, .. } => {
                format!("number({}, {})", self.value(*of), self.term(index))
            }
            Node::Unary(op, _) => format!("{}({})", word(op), operands()),
            Node::Binary(op, _) => format!("{}({})", binary(*op), operands()),
            Node::Exact(op, ..) => format!("{}({})", word(op), operands()),
            Node::Mixed(op, _) => format!("mixed_{}({})", word(op), operands()),
            Node::Logic(op, _) => format!("{}({})", word(op), operands()),
            Node::Divide(op, ..) => format!("{}({})", word(op), operands()),
            Node::Narrow(scalar, ..) => format!("narrow_{scalar}({})", operands()),
            Node::Round(scalar, _) => format!("round_{scalar}({})", operands()),
            Node::Offset(false, _) => format!("offset({})", operands()),
            Node::Offset(true, _) => format!("offset_back({})", operands()),
            Node::SameText(value, text) => {
                format!("same_text({}, {})", self.value(*value), quoted(text))
            }
            Node::Stream(value) => format!("stream({})", self.value(*value)),
            Node::OutputStream(output) => format!("stream({})", self.output(*output)),
            Node::CurrentDevice => "current_device()".to_owned(),
            Node::Global(global) => self.global(global),
            Node::DeviceAttribute { home, id, .. } => {
                format!("attribute({}, {id})", self.home(*home))
            }
        }
    }

    fn global(&self, global: &Global) -> String {
        let word = match global.part {
            OfGlobal::Address => "global",
            OfGlobal::Size => "global_size",
        };
        let (image, name) = (spelled(&global.image), quoted(&global.name));
        format!("{word}({image}, {name}, {})", self.home(global.home))
    }

    /// Returns terms with commas between them.
    pub(super) fn terms(&self, terms: &[Term]) -> String {
        terms.iter().map(|term| self.term(term)).collect::<Vec<_>>().join(", ")
    }

    fn property(&self, value: ValueId, property: Property) -> String {
        let member = match property {
            Property::Tensor(of) => of_tensor(of),
            Property::Object => ".object".to_owned(),
            Property::Several(OfSeveral::Address) => ".data".to_owned(),
            Property::Several(OfSeveral::Number { index, .. }) => format!("[{index}]"),
            Property::Several(
                OfSeveral::NumberCount | OfSeveral::TextSize | OfSeveral::RestSize { .. },
            )
            | Property::Length => ".size".to_owned(),
            Property::TypeOfDevice => ".device_type".to_owned(),
            Property::IndexOfDevice => ".device_id".to_owned(),
            Property::IsSome => ".is_some".to_owned(),
        };
        let text = self.value(value) + &member;
        if property.can_fail() { format!("checked({text})") } else { text }
    }

    /// Returns an argument of a C function or a GPU kernel.
    pub(super) fn argument(&self, argument: &Argument) -> String {
        match argument {
            Argument::Value(value) => self.value(*value),
            Argument::Term(term, scalar) => format!("{}: {scalar}", self.term(term)),
            Argument::Text(text) => quoted(text),
        }
    }
}

fn of_tensor(of: OfTensor) -> String {
    let member = match of {
        OfTensor::Extent { dim, .. } => return format!(".shape[{dim}]"),
        OfTensor::Stride { shown, .. } => return format!(".strides[{shown}]"),
        OfTensor::Data => ".data",
        OfTensor::Ndim => ".ndim",
        OfTensor::DType => ".dtype",
        OfTensor::DeviceType => ".device_type",
        OfTensor::DeviceId => ".device_id",
        OfTensor::ByteOffset => ".byte_offset",
        OfTensor::Numel => ".numel",
        OfTensor::IsContiguous => ".is_contiguous",
    };
    member.to_owned()
}
