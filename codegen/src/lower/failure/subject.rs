//! The records of values: how messages name them, and what is required of them.

use abi_spec::Scalar;

use crate::declaration::{Device, Leaf, ParamType, Tensor};
use crate::ir::{Binary, Convert, Type, Value};
use crate::lower::failure::records;
use crate::lower::quote::elide;
use crate::lower::routines::records::{
    Head, Require, Required, Rest, Scalar as ScalarRecord, ScalarClass, Subject, Suffix,
    Tensor as TensorRecord, Text, place,
};
use crate::lower::routines::schema::Part;
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::{self, Accepted};
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::{Place, Step};
use crate::resolve::value::INDEX;

/// What steps require of a tensor, beyond its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Its device matters.
    device: bool,
    /// What its strides must be.
    compact: bool,
    /// Bytes of which its address must be a multiple.
    align: u64,
}

impl Facts {
    /// Nothing.
    pub(crate) const NONE: Facts = Facts { device: false, compact: false, align: 1 };
}

/// Notes what steps require of tensors.
pub(crate) fn note(steps: &[Step<'_>], facts: &mut Table<ValueId, Facts>) {
    Step::visit_all(steps, &mut |step| match step {
        Step::Header { value, device, .. } => facts[*value].device = *device,
        Step::Compact { value } => facts[*value].compact = true,
        Step::Data { value, align } => facts[*value].align = *align,
        Step::Scalar { .. }
        | Step::Value { .. }
        | Step::Occurrence { .. }
        | Step::BindCompact { .. }
        | Step::Each { .. }
        | Step::OneOf { .. }
        | Step::Require(_) => {}
    });
}

impl Wrapper<'_, '_> {
    /// The address of the record of a value.
    pub(crate) fn subject(&mut self, value: ValueId) -> Value {
        let record = self.subject_record(value);
        let address = records::address(&mut self.b, record);
        let Some([start, at]) = self.exits.run else { return address };
        // The records of a run follow each other, as its arguments do.
        let [start, at] =
            [start, at].map(|address| self.b.convert(Convert::PtrToInt, address, Type::I64));
        let bytes = self.b.binary(Binary::Sub, at, start);
        let nth = self.b.binary_const(Binary::Lshr, bytes, 4);
        let bytes = self.b.binary_const(Binary::Mul, nth, i64::from(4 * Subject::WORDS));
        self.b.ptr_add(address, bytes)
    }

    /// The offset of the record of a value.
    pub(crate) fn subject_record(&mut self, value: ValueId) -> u32 {
        if let Some(known) = self.exits.subjects[value] {
            return known;
        }
        let required = self.required(value);
        self.add_subject(value, required)
    }

    /// Adds the records of values, one after the other.
    pub(crate) fn subjects_in_a_row(&mut self, values: &[ValueId]) {
        let required: Vec<u32> = values.iter().map(|&value| self.required(value)).collect();
        for (&value, required) in values.iter().zip(required) {
            self.add_subject(value, required);
        }
    }

    fn add_subject(&mut self, value: ValueId, required: u32) -> u32 {
        let host = self.host();
        let function = self.function;
        let texts = texts(&elide(&function.values[value].path));
        let path = self.records.text(&texts[0]);
        let rest = if texts.len() == 1 { 0 } else { self.rest_record(&texts[1..]) };
        let argument = function.argument(value).map(|argument| argument as u32);
        let head = self.records.head(host);
        let record = self.records.add(Subject { head, path, rest, argument, required });
        self.exits.subjects[value] = Some(record);
        record
    }

    fn rest_record(&mut self, texts: &[String]) -> u32 {
        let mut words = Vec::new();
        for text in texts {
            self.records.text(text).encode(&mut words);
        }
        self.records.shared(Rest { count: texts.len() as u32 }, &words)
    }

    /// The record of what is required of a value.
    fn required(&mut self, value: ValueId) -> u32 {
        let declared = &self.function.values[value];
        let text = accepted::expected(declared.ty, declared.optional);
        let expected = self.records.quoted(&text);
        if let ParamType::Scalar(scalar) = declared.ty {
            let class = self.scalar_class(value, *scalar);
            let name = self.records.quoted(scalar.name());
            let (bits, signed) = (scalar.bits(), scalar.is_signed());
            let record = ScalarRecord { class, bits, signed, expected, name };
            return self.records.shared(record, &[]);
        }
        if let ParamType::Tensor(tensor) = declared.ty {
            return self.required_tensor(value, tensor, expected);
        }
        let Accepted { low, high } = accepted::told_apart(declared.ty);
        let (require, size) = require(declared.ty);
        self.records.shared(Required { expected, low, high, require, size }, &[])
    }

    fn scalar_class(&self, value: ValueId, scalar: Scalar) -> ScalarClass {
        if self.function.is_wide(value) {
            ScalarClass::Unsigned
        } else if scalar.is_int() {
            ScalarClass::Int
        } else if scalar.is_float() {
            ScalarClass::Float
        } else if scalar == Scalar::Bool {
            ScalarClass::Bool
        } else {
            ScalarClass::Ptr
        }
    }

    fn required_tensor(&mut self, value: ValueId, tensor: &Tensor, expected: Text) -> u32 {
        let names: Vec<String> = tensor.dtypes.iter().map(|dtype| dtype.to_string()).collect();
        let accepted: Vec<u32> = tensor.accepted().iter().map(|dtype| dtype.to_word()).collect();
        let facts = self.exits.facts[value];
        let device = match tensor.device {
            Device::Type(ty) if facts.device => ty.0 as u32,
            Device::Type(_) | Device::Any => 0,
        };
        let record = TensorRecord {
            expected,
            dtypes: self.records.quoted(&names.join("|")),
            rank: tensor.rank().map(|rank| rank as u32),
            device,
            mask: facts.align - 1,
            compact: facts.compact,
            accepted: accepted.len() as u32,
        };
        self.records.shared(record, &accepted)
    }

    /// The record of a value that somebody else has made and that must be owned, which may be of any type.
    pub(crate) fn owned_record(&mut self, value: ValueId) -> u32 {
        let declared = &self.function.values[value];
        let text = accepted::expected(declared.ty, declared.optional);
        let (expected, require) = (self.records.quoted(&text), Require::Type);
        let record = Required { expected, low: 0, high: 0, require, size: None };
        let required = self.records.shared(record, &[]);
        let known = self.exits.subjects[value];
        let record = self.add_subject(value, required);
        self.exits.subjects[value] = known;
        record
    }

    /// A place as routines know it.
    pub(crate) fn place_number(&mut self, at: Place) -> u64 {
        let record = self.subject_record(at.value());
        place::of(record, number(at))
    }

    /// The record of the function, at the place of the statement.
    pub(crate) fn host(&mut self) -> u32 {
        let location = self.exits.location.or(self.function.declared.location.as_ref());
        let key = location.map(std::ptr::from_ref);
        if let Some((_, host)) = self.exits.hosts.iter().find(|(known, _)| *known == key) {
            return *host;
        }
        let host = self.records.host(self.function, location);
        self.exits.hosts.push((key, host));
        host
    }

    /// The head of the next record.
    pub(crate) fn head(&mut self) -> Head {
        let host = self.host();
        self.records.head(host)
    }
}

/// The texts of a path, between the numbers that only the call knows. Those are of its loops from the outside.
fn texts(path: &str) -> Vec<String> {
    let (mut texts, mut chars) = (vec![String::new()], path.chars());
    while let Some(next) = chars.next() {
        if next == INDEX {
            // The depth of the loop follows.
            chars.next();
            texts.push(String::new());
        } else if let Some(text) = texts.last_mut() {
            text.push(next);
        }
    }
    texts
}

/// Suffix and index of a place.
pub(crate) fn number(at: Place) -> u64 {
    match at {
        Place::Value { .. } => place::number(Suffix::None, 0),
        Place::Extent { dim, .. } => place::number(Suffix::Shape, dim),
        Place::Stride { dim, .. } => place::number(Suffix::Strides, dim),
        Place::Number { dim, .. } => place::number(Suffix::Number, dim),
    }
}

/// What is required of a value of a type beyond that, and a number that belongs to it.
fn require(ty: &ParamType) -> (Require, Option<u32>) {
    let require = match ty {
        ParamType::Leaf(Leaf::DType) => Require::Dtype,
        ParamType::Leaf(Leaf::Device) => Require::Device,
        ParamType::Shape(shape) => {
            return (Require::Numbers, shape.rank().map(|rank| rank as u32));
        }
        ParamType::Object(_) => Require::ObjectClass,
        ParamType::Tuple(elements) => return (Require::Size, Some(elements.len() as u32)),
        ParamType::Literal(_) => Require::Literal,
        ParamType::Union(_) => Require::OneOf,
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(Leaf::Str | Leaf::Bytes | Leaf::Any | Leaf::Stream)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Optional(_) => Require::Type,
    };
    (require, None)
}
