//! Encoding constraints and terms.

use abi_spec::Scalar;

use super::Encoder;
use crate::lower::explain::codes::{LeafKind, Op, Rpn};
use crate::lower::operators::half_format;
use crate::resolve::ids::{Id, ValueId};
use crate::resolve::operator::{Binary, Division, Unary};
use crate::resolve::step::{Condition, Place};
use crate::resolve::term::{Kind, Leaf, Node, Property, Quote, Term};

impl Encoder<'_> {
    pub(crate) fn condition(&mut self, condition: &Condition<'_>) {
        self.op(Op::Constraint);
        match condition.message {
            Some(message) => {
                self.text("");
                self.text(message);
            }
            None => {
                self.text("Violated ");
                self.text(&condition.quote.text);
            }
        }
        self.leaves(&condition.quote);
        self.term(&condition.test);
    }

    pub(crate) fn term(&mut self, term: &Term) {
        self.rpn(term);
        self.code(Rpn::End);
    }

    fn constant(&mut self, bits: u64) {
        self.code(Rpn::Const);
        self.wide(bits);
    }

    fn rpn(&mut self, term: &Term) {
        term.operands().iter().for_each(|operand| self.rpn(operand));
        match &term.node {
            Node::Int(value) => self.constant(*value as u64),
            Node::Float(value) => self.constant(value.to_bits()),
            // Nothing that can fail depends on the address of what is not allocated yet, or on a stream.
            Node::Null
            | Node::Text(_)
            | Node::Output(_)
            | Node::OutputData(_)
            | Node::Stream(_)
            | Node::OutputStream(_) => self.constant(0),
            Node::Symbol(symbol) => self.slot_code(Rpn::Slot, symbol.index() as u32),
            Node::Value(value) => self.slot_code(Rpn::Slot, self.slot(*value)),
            Node::Property(value, property) => self.property(*value, *property),
            Node::Unary(op, _) => self.code(unary(*op)),
            Node::Binary(op, _) => self.code(binary(*op)),
            Node::Divide(op, _, quote) => {
                self.code(division(*op));
                self.text(&quote.text);
                self.leaves(quote);
            }
            Node::Narrow(scalar, of, text) => self.narrow(*scalar, of.kind, text),
            Node::Round(scalar, _) => self.round(*scalar),
            Node::SameText(value, text) => {
                self.slot_code(Rpn::SameText, self.slot(*value));
                self.whole_text(text);
            }
        }
    }

    fn slot_code(&mut self, code: Rpn, slot: u32) {
        self.code(code);
        self.word(slot);
    }

    fn narrow(&mut self, scalar: Scalar, from: Kind, text: &str) {
        self.code(if from == Kind::Unsigned { Rpn::NarrowUnsigned } else { Rpn::Narrow });
        self.text(text);
        self.text(scalar.name());
        self.words(&[scalar.bits(), u32::from(scalar.is_signed())]);
    }

    fn round(&mut self, scalar: Scalar) {
        if scalar == Scalar::Float32 {
            return self.code(Rpn::RoundSingle);
        }
        let (mantissa, bias) = half_format(scalar);
        self.code(Rpn::RoundHalf);
        self.words(&[mantissa as u32, bias as u32]);
    }

    fn property(&mut self, value: ValueId, property: Property) {
        let slot = self.slot(value);
        let (code, index) = match property {
            Property::Data => (Rpn::Data, None),
            Property::Extent { dim, checked } => {
                self.at_least(checked.then_some(Rpn::Rank), value, dim);
                (Rpn::Extent, Some(dim))
            }
            Property::Stride { dim, checked } => {
                self.at_least(checked.then_some(Rpn::Rank), value, dim);
                (Rpn::Stride, Some(dim))
            }
            Property::Number { index, checked } => {
                self.at_least(checked.then_some(Rpn::Count), value, index);
                (Rpn::Number, Some(index))
            }
            Property::Ndim => (Rpn::Ndim, None),
            Property::DType => (Rpn::Dtype, None),
            Property::DeviceType => (Rpn::DeviceType, None),
            Property::DeviceId => (Rpn::DeviceId, None),
            Property::ByteOffset => (Rpn::ByteOffset, None),
            Property::Numel => (Rpn::Numel, None),
            Property::IsContiguous => (Rpn::IsCompact, None),
            Property::NumberCount => (Rpn::NumberCount, None),
            Property::Length => (Rpn::Length, None),
            Property::TextSize => (Rpn::TextSize, None),
            Property::TypeOfDevice => (Rpn::TypeOfDevice, None),
            Property::IndexOfDevice => (Rpn::IndexOfDevice, None),
            Property::IsSome => (Rpn::IsSome, None),
            Property::RestSize { first } => {
                self.code(Rpn::RestSize);
                return self.word(first);
            }
            Property::Address => unreachable!("the address of text is for the call only"),
        };
        self.code(code);
        self.word(slot);
        index.into_iter().for_each(|index| self.word(index));
    }

    /// A check that a value has more than `index` dims or numbers.
    fn at_least(&mut self, code: Option<Rpn>, value: ValueId, index: u32) {
        if let Some(code) = code {
            let slot = self.slot(value);
            self.code(code);
            self.words(&[slot, index]);
            self.operand_head(Place::Value { value });
        }
    }

    fn leaves(&mut self, quote: &Quote) {
        self.counted(|e| {
            e.word(quote.leaves.len() as u32);
            quote.leaves.iter().for_each(|leaf| e.leaf(leaf));
        });
    }

    fn leaf(&mut self, Leaf { text, term }: &Leaf) {
        self.text(text);
        let kind = match term.kind {
            Kind::Int => LeafKind::Int,
            Kind::Unsigned => LeafKind::Unsigned,
            Kind::Float => LeafKind::Float,
            Kind::DType => LeafKind::DType,
            Kind::Device => LeafKind::Device,
            Kind::Text => LeafKind::Text,
            Kind::Ptr | Kind::Several => LeafKind::Ptr,
        };
        self.used.leaf(kind);
        self.word(kind as u32);
        match (kind, &term.node) {
            // The routine finds the text by itself.
            (LeafKind::Text, Node::Value(value)) => {
                let slot = self.slot(*value);
                self.constant(slot.into());
                self.code(Rpn::End);
            }
            _ => self.term(term),
        }
    }
}

fn unary(op: Unary) -> Rpn {
    match op {
        Unary::Neg => Rpn::Neg,
        Unary::Fneg => Rpn::Fneg,
        Unary::Not => Rpn::Not,
        Unary::ToFloat => Rpn::ToFloat,
        Unary::UnsignedToFloat => Rpn::UnsignedToFloat,
        Unary::Truth => Rpn::Truth,
    }
}

fn division(op: Division) -> Rpn {
    match op {
        Division::Div => Rpn::Div,
        Division::Rem => Rpn::Rem,
        Division::CeilDiv => Rpn::CeilDiv,
    }
}

fn binary(op: Binary) -> Rpn {
    match op {
        Binary::Add => Rpn::Add,
        Binary::Sub => Rpn::Sub,
        Binary::Mul => Rpn::Mul,
        Binary::Min => Rpn::Min,
        Binary::Max => Rpn::Max,
        Binary::Fadd => Rpn::Fadd,
        Binary::Fsub => Rpn::Fsub,
        Binary::Fmul => Rpn::Fmul,
        Binary::Fdiv => Rpn::Fdiv,
        Binary::Fmin => Rpn::Fmin,
        Binary::Fmax => Rpn::Fmax,
        Binary::Eq => Rpn::Eq,
        Binary::Ne => Rpn::Ne,
        Binary::Lt => Rpn::Lt,
        Binary::Le => Rpn::Le,
        Binary::Gt => Rpn::Gt,
        Binary::Ge => Rpn::Ge,
        Binary::Ult => Rpn::Ult,
        Binary::Ule => Rpn::Ule,
        Binary::Feq => Rpn::Feq,
        Binary::Fne => Rpn::Fne,
        Binary::Flt => Rpn::Flt,
        Binary::Fle => Rpn::Fle,
        Binary::Fgt => Rpn::Fgt,
        Binary::Fge => Rpn::Fge,
    }
}
