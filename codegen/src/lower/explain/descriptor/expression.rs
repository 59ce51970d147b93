//! Encoding constraints and terms.

use abi_spec::Scalar;

use super::Encoder;
use crate::declaration::Logic;
use crate::lower::explain::codes::{LeafKind, Op, Rpn};
use crate::lower::operators::half_format;
use crate::resolve::ids::{Id, ValueId};
use crate::resolve::step::{Condition, Place};
use crate::resolve::term::{Kind, Leaf, Node, OfSeveral, OfTensor, Property, Quote, Term};

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
        if let Node::Logic(op, operands) = &term.node {
            return self.logic(*op, operands);
        }
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
            // Bodies explain their own failures.
            Node::Local(_) => self.constant(0),
            Node::Symbol(symbol) => self.slot_code(Rpn::Slot, symbol.index() as u32),
            Node::Value(value) => self.of_value(Rpn::Slot, *value),
            Node::Logic(..) => {}
            Node::Property(value, property) => self.property(*value, *property),
            Node::Unary(op, _) => self.code(Rpn::unary(*op)),
            Node::Binary(op, _) => self.code(Rpn::binary(*op)),
            Node::Divide(op, _, quote) => {
                self.code(Rpn::division(*op));
                self.text(&quote.text);
                self.leaves(quote);
            }
            Node::Narrow(scalar, of, text) => self.narrow(*scalar, of.kind, text),
            Node::Round(scalar, _) => self.round(*scalar),
            Node::SameText(value, text) => {
                self.of_value(Rpn::SameText, *value);
                self.whole_text(text);
            }
        }
    }

    /// The words of the second operand can be skipped.
    fn logic(&mut self, op: Logic, [first, second]: &[Term; 2]) {
        self.rpn(first);
        self.code(match op {
            Logic::And => Rpn::And,
            Logic::Or => Rpn::Or,
        });
        self.counted(|e| e.rpn(second));
    }

    fn of_value(&mut self, code: Rpn, value: ValueId) {
        let slot = self.slot(value);
        self.slot_code(code, slot);
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
        match property {
            Property::Tensor(property) => self.tensor_property(value, property),
            Property::Several(property) => self.property_of_several(value, property),
            Property::Length => self.slot_code(Rpn::Length, slot),
            Property::TypeOfDevice => self.slot_code(Rpn::TypeOfDevice, slot),
            Property::IndexOfDevice => self.slot_code(Rpn::IndexOfDevice, slot),
            Property::IsSome => self.slot_code(Rpn::IsSome, slot),
        }
    }

    fn tensor_property(&mut self, value: ValueId, property: OfTensor) {
        let code = match property {
            OfTensor::Extent { dim, checked } => {
                self.at_least(checked.then_some(Rpn::Rank), value, dim);
                return self.indexed(Rpn::Extent, value, dim);
            }
            OfTensor::Stride { dim, checked } => {
                self.at_least(checked.then_some(Rpn::Rank), value, dim);
                return self.indexed(Rpn::Stride, value, dim);
            }
            OfTensor::Data => Rpn::Data,
            OfTensor::Ndim => Rpn::Ndim,
            OfTensor::DType => Rpn::Dtype,
            OfTensor::DeviceType => Rpn::DeviceType,
            OfTensor::DeviceId => Rpn::DeviceId,
            OfTensor::ByteOffset => Rpn::ByteOffset,
            OfTensor::Numel => Rpn::Numel,
            OfTensor::IsContiguous => Rpn::IsCompact,
        };
        self.of_value(code, value);
    }

    fn property_of_several(&mut self, value: ValueId, property: OfSeveral) {
        match property {
            OfSeveral::Number { index, checked } => {
                self.at_least(checked.then_some(Rpn::Count), value, index);
                self.indexed(Rpn::Number, value, index);
            }
            OfSeveral::NumberCount => self.of_value(Rpn::NumberCount, value),
            OfSeveral::TextSize => self.of_value(Rpn::TextSize, value),
            OfSeveral::RestSize { first } => self.slot_code(Rpn::RestSize, first),
            // It is for the call only.
            OfSeveral::Address => self.constant(0),
        }
    }

    fn indexed(&mut self, code: Rpn, value: ValueId, index: u32) {
        self.of_value(code, value);
        self.word(index);
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
        let kind = LeafKind::of(term.kind);
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
