//! Encoding what is required of each value.

use abi_spec::Scalar;

use crate::declaration::{Device, Leaf, Literal, ParamType, Tensor};
use crate::lower::explain::codes::{Class, Literal as LiteralRecord, LiteralCode, Text, step};
use crate::lower::explain::descriptor::{Encoder, MAX_DEVICES};
use crate::lower::operators::half_format;
use crate::resolve::accepted::{self, Accepted};
use crate::resolve::ids::ValueId;
use crate::resolve::value::Source;

impl Encoder<'_> {
    /// The text of what a value was expected to be.
    pub(crate) fn expected(&mut self, value: ValueId) -> Text {
        let declared = &self.function.values[value];
        let text = accepted::expected(declared.ty, declared.optional);
        self.quoted(&text)
    }

    pub(crate) fn scalar(&mut self, value: ValueId, scalar: Scalar) {
        if self.function.values[value].source == Source::Context {
            let slot = self.slot(value);
            return self.step_record(step::Context { slot });
        }
        let class = if self.function.is_wide(value) {
            Class::Unsigned
        } else if scalar.is_int() {
            Class::Int
        } else if scalar.is_float() {
            Class::Float
        } else if scalar == Scalar::Bool {
            Class::Bool
        } else {
            Class::Ptr
        };
        self.used.mark(class);
        let (mantissa, bias) = half_format(scalar);
        let step = step::Scalar {
            head: self.head_of(value),
            class,
            bits: scalar.bits(),
            signed: scalar.is_signed(),
            expected: self.expected(value),
            mantissa: mantissa as u32,
            bias: bias as u32,
            name: self.quoted(scalar.name()),
        };
        self.step_record(step);
    }

    pub(crate) fn tensor(&mut self, value: ValueId, tensor: &Tensor, device: bool) {
        let names: Vec<String> = tensor.dtypes.iter().map(|dtype| dtype.to_string()).collect();
        let many = self.function.values[value].dynamic;
        let device = device.then_some(match tensor.device {
            Device::Any => 0,
            Device::Type(ty) => ty.0 as u32,
        });
        // Tensors of a loop may be on devices of all types.
        let devices = if many && device == Some(0) { MAX_DEVICES } else { 1 };
        self.header.devices = (self.header.devices + devices).min(MAX_DEVICES);
        let step = step::Tensor {
            head: self.head_of(value),
            rank: tensor.rank().map(|rank| rank as u32),
            device,
            many,
            dtypes: self.quoted(&names.join("|")),
            expected: self.expected(value),
        };
        self.step_record(step);
        let accepted = tensor.accepted();
        self.word(accepted.len() as u32);
        accepted.iter().for_each(|dtype| self.word(dtype.to_word()));
    }

    /// Everything about a value of another type.
    pub(crate) fn value(&mut self, value: ValueId) {
        let ty: &ParamType = self.function.values[value].ty;
        if let ParamType::Leaf(Leaf::Any) | ParamType::Union(_) = ty {
            return;
        }
        let (head, expected) = (self.head_of(value), self.expected(value));
        let Accepted { low, high } = accepted::to_explain(ty);
        self.step_record(step::Type { head, expected, low, high });
        match ty {
            ParamType::Leaf(Leaf::DType) => self.step_record(step::Dtype { head }),
            ParamType::Leaf(Leaf::Device) => self.step_record(step::Device { head, expected }),
            ParamType::Shape(shape) => {
                let rank = shape.rank().map(|rank| rank as u32);
                self.step_record(step::Numbers { head, rank });
            }
            ParamType::Object(_) => {
                if let Some(key) = accepted::dynamic_key(ty) {
                    let key = self.quoted(key);
                    self.step_record(step::Instance { head, expected, key });
                }
            }
            ParamType::Tuple(elements) => {
                self.step_record(step::Size { head, size: elements.len() as u32 });
            }
            ParamType::Literal(literals) => {
                self.literals(step::Literal { head, expected }, literals)
            }
            ParamType::Scalar(_)
            | ParamType::Tensor(_)
            | ParamType::Leaf(Leaf::Str | Leaf::Bytes | Leaf::Any | Leaf::Stream)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Optional(_)
            | ParamType::Union(_) => {}
        }
    }

    fn literals(&mut self, step: step::Literal, literals: &[Literal]) {
        self.step_record(step);
        let is_some = |literal: &&Literal| **literal != Literal::None;
        self.word(literals.iter().filter(is_some).count() as u32);
        for literal in literals {
            let (code, bits) = match literal {
                Literal::Int(number) => (LiteralCode::Int, *number as u64),
                Literal::Bool(truth) => (LiteralCode::Int, u64::from(*truth)),
                Literal::Str(text) => {
                    let Text(span) = self.whole(text);
                    (LiteralCode::Text, u64::from(span.length) << 32 | u64::from(span.offset))
                }
                Literal::Float(number) => (LiteralCode::Int, number.to_bits()),
                Literal::None => continue,
            };
            self.part(LiteralRecord { code, bits });
        }
    }
}
