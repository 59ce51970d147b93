//! Encoding what is required of each value.

use abi_spec::Scalar;

use crate::declaration::{Device, Leaf, Literal, ParamType, Tensor};
use crate::lower::explain::codes::{Class, LiteralCode, Op};
use crate::lower::explain::descriptor::Encoder;
use crate::lower::operators::half_format;
use crate::resolve::accepted;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Place;
use crate::resolve::value::Source;

impl Encoder<'_> {
    /// The text of what a value was expected to be.
    pub(crate) fn expected(&mut self, value: ValueId) {
        let declared = &self.function.values[value];
        let text = accepted::expected(declared.ty, declared.optional);
        self.text(&text);
    }

    pub(crate) fn scalar(&mut self, value: ValueId, scalar: Scalar) {
        if self.function.values[value].source == Source::Context {
            let slot = self.slot(value);
            self.op(Op::Context);
            return self.words(&[slot]);
        }
        self.head(Op::Scalar, Place::Value { value });
        let class = if scalar.is_int() {
            Class::Int
        } else if scalar.is_float() {
            Class::Float
        } else if scalar == Scalar::Bool {
            Class::Bool
        } else {
            Class::Ptr
        };
        self.words(&[class as u32, scalar.bits(), u32::from(scalar.is_signed())]);
        self.expected(value);
        let (mantissa, bias) = half_format(scalar);
        self.words(&[mantissa as u32, bias as u32]);
        self.text(scalar.name());
    }

    pub(crate) fn header(&mut self, value: ValueId, tensor: &Tensor, device: bool) {
        self.head(Op::Header, Place::Value { value });
        let rank = tensor.rank().map_or(u32::MAX, |rank| rank as u32);
        let device = match tensor.device {
            _ if !device => u32::MAX,
            Device::Any => 0,
            Device::Type(ty) => ty.0 as u32,
        };
        let many = self.function.values[value].dynamic;
        self.words(&[rank, device, u32::from(many)]);
        let names: Vec<String> = tensor.dtypes.iter().map(|dtype| dtype.to_string()).collect();
        self.text(&names.join("|"));
        let accepted = tensor.accepted();
        self.word(accepted.len() as u32);
        accepted.iter().for_each(|dtype| self.word(dtype.to_word()));
        self.expected(value);
    }

    /// Everything about a value of another type.
    pub(crate) fn value(&mut self, value: ValueId) {
        let place = Place::Value { value };
        let ty: &ParamType = self.function.values[value].ty;
        if let ParamType::Leaf(Leaf::Any) | ParamType::Union(_) = ty {
            return;
        }
        self.head(Op::Type, place);
        self.expected(value);
        let accepted = accepted::accepted(ty);
        self.wide(accepted.low);
        self.wide(accepted.high);
        match ty {
            ParamType::Leaf(Leaf::DType) => self.head(Op::Dtype, place),
            ParamType::Leaf(Leaf::Device) => {
                self.head(Op::Device, place);
                self.expected(value);
            }
            ParamType::Shape(shape) => {
                self.head(Op::Numbers, place);
                self.word(shape.rank().map_or(u32::MAX, |rank| rank as u32));
            }
            ParamType::Object(_) => {
                if let Some(key) = accepted::dynamic_key(ty) {
                    self.head(Op::Instance, place);
                    self.expected(value);
                    self.text(key);
                }
            }
            ParamType::Tuple(elements) => {
                self.head(Op::Size, place);
                self.word(elements.len() as u32);
            }
            ParamType::Literal(literals) => self.literals(value, literals),
            ParamType::Scalar(_)
            | ParamType::Tensor(_)
            | ParamType::Leaf(Leaf::Str | Leaf::Bytes | Leaf::Any | Leaf::Stream)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Optional(_)
            | ParamType::Union(_) => {}
        }
    }

    fn literals(&mut self, value: ValueId, literals: &[Literal]) {
        self.head(Op::Literal, Place::Value { value });
        self.expected(value);
        let some = literals.iter().filter(|literal| **literal != Literal::None);
        self.word(some.clone().count() as u32);
        for literal in some {
            match literal {
                Literal::Int(number) => {
                    self.word(LiteralCode::Int as u32);
                    self.wide(*number as u64);
                }
                Literal::Bool(truth) => {
                    self.word(LiteralCode::Int as u32);
                    self.wide(u64::from(*truth));
                }
                Literal::Str(text) => {
                    self.word(LiteralCode::Text as u32);
                    self.whole_text(text);
                }
                Literal::None | Literal::Float(_) => unreachable!("not in literal types"),
            }
        }
    }
}
