//! Records of values: the names that messages give them, and the requirements of their types.

use abi_spec::Scalar;
use rustc_hash::FxHashMap;

use crate::declaration::{Device, Leaf, Location, OwnDim, ParamType, Shape, Tensor};
use crate::ir::Value;
use crate::lower::failure::message::Message;
use crate::lower::failure::records::Records;
use crate::lower::quote::elide;
use crate::lower::routines::records::{
    Fault, Head, RankRule, Required, Requirement, Rest, ScalarClass, ScalarRecord, Subject, Suffix,
    TensorRecord, TextRef, place,
};
use crate::lower::routines::schema::FieldType;
use crate::resolve::accepted::{self, Accepted};
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};
use crate::resolve::step::{Place, Step};
use crate::resolve::value::INDEX;

/// Requirements of a tensor that depend on its steps, not only on its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorRequirements {
    /// True if the device type is checked.
    device: bool,
    /// True if the strides must be compact.
    compact: bool,
    /// The alignment of the first element in bytes.
    align: u64,
}

impl TensorRequirements {
    /// No requirement.
    const NONE: TensorRequirements = TensorRequirements { device: false, compact: false, align: 1 };
}

/// A run of tensors that are declared alike, while a loop checks them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The address of the first argument of the run.
    pub(crate) first: Value,
    /// The address of the argument that the loop is at.
    pub(crate) current: Value,
}

/// Collects the requirements of tensors from steps.
fn note(steps: &[Step<'_>], requirements: &mut Table<ValueId, TensorRequirements>) {
    Step::visit_all(steps, &mut |step| {
        if let Step::Header { value, device, .. } = step {
            requirements[*value].device = *device;
        } else if let Step::Compact { value } = step {
            requirements[*value].compact = true;
        } else if let Step::Data { value, align } = step {
            requirements[*value].align = *align;
        }
    });
}

/// The records of the values of a function, each added at its first use.
pub(crate) struct Subjects<'a, 'm> {
    function: &'a Function<'a>,
    /// All records of the module.
    pub(crate) records: &'m mut Records,
    /// The source location of the current statement; `None` for the source location of the function.
    location: Option<&'a Location>,
    /// The offset of the record of each value.
    known: Table<ValueId, Option<u32>>,
    /// The requirements of each tensor.
    requirements: Table<ValueId, TensorRequirements>,
    /// The offset of the record of the function for each source location, by the address of the location.
    hosts: FxHashMap<Option<*const Location>, u32>,
}

impl<'a, 'm> Subjects<'a, 'm> {
    /// Creates the records of a function that has none yet. `host` is the offset of the record of the function.
    pub(crate) fn new(function: &'a Function<'a>, host: u32, records: &'m mut Records) -> Self {
        let location = function.location;
        let mut subjects = Subjects {
            function,
            records,
            location: None,
            known: Table::like(&function.values, None),
            requirements: Table::like(&function.values, TensorRequirements::NONE),
            hosts: FxHashMap::from_iter([(location.map(std::ptr::from_ref), host)]),
        };
        subjects.note_requirements(&function.steps);
        subjects
    }

    /// Sets the source location of the records that follow; `None` keeps it. Returns the one before, for
    /// [`leave_location`](Subjects::leave_location).
    pub(crate) fn enter_location(
        &mut self,
        location: Option<&'a Location>,
    ) -> Option<&'a Location> {
        let inside = location.or(self.location);
        std::mem::replace(&mut self.location, inside)
    }

    /// Sets the source location of the records that follow to one that was entered before.
    pub(crate) fn leave_location(&mut self, outside: Option<&'a Location>) {
        self.location = outside;
    }
}

impl Subjects<'_, '_> {
    /// Adds the requirements of tensors that the given steps check. Must precede the emission of the steps.
    pub(crate) fn note_requirements(&mut self, steps: &[Step<'_>]) {
        note(steps, &mut self.requirements);
    }

    /// Returns the offset of the record of a value. The first call adds the record.
    pub(crate) fn record(&mut self, value: ValueId) -> u32 {
        if let Some(known) = self.known[value] {
            return known;
        }
        let required = self.required(value);
        self.add(value, required)
    }

    /// Adds the records of values next to each other.
    pub(crate) fn add_in_a_row(&mut self, values: &[ValueId]) {
        let required: Vec<u32> = values.iter().map(|&value| self.required(value)).collect();
        for (&value, required) in values.iter().zip(required) {
            self.add(value, required);
        }
    }

    /// Adds the record of a value, whose requirements are at offset `required`. Returns its offset.
    fn add(&mut self, value: ValueId, required: u32) -> u32 {
        let host = self.host();
        let function = self.function;
        let texts = texts(&elide(&function.values[value].path));
        let path = self.records.text(&texts[0]);
        let rest = if texts.len() == 1 { 0 } else { self.rest_record(&texts[1..]) };
        let argument = function.argument(value).map(|argument| argument as u32);
        let head = self.records.head(host);
        let record = self.records.add(Subject { head, path, rest, argument, required });
        self.known[value] = Some(record);
        record
    }

    /// Adds the rest of a path: the texts after its loop indices. Returns the offset.
    fn rest_record(&mut self, texts: &[String]) -> u32 {
        let mut words = Vec::new();
        for text in texts {
            self.records.text(text).encode(&mut words);
        }
        self.records.shared(Rest { count: texts.len() as u32 }, &words)
    }

    /// Adds the record of the requirements of a value. Returns its offset.
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
        let Accepted { low, high } = accepted::explainable(declared.ty);
        let (require, size) = require(declared.ty);
        self.records.shared(Required { expected, low, high, require, size }, &[])
    }

    /// Returns the class of a scalar.
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

    /// Adds the record of the requirements of a tensor. Returns its offset.
    fn required_tensor(&mut self, value: ValueId, tensor: &Tensor, expected: TextRef) -> u32 {
        let dtypes = self.function.listing(value).map_or(String::new(), Tensor::dtypes_text);
        let accepted = self.function.accepted(value);
        let accepted: Vec<u32> = accepted.iter().map(|dtype| dtype.to_word()).collect();
        let requirements = self.requirements[value];
        let device = match tensor.device {
            Device::Type(ty) if requirements.device => ty.0 as u32,
            Device::Type(_) | Device::Any => 0,
        };
        let record = TensorRecord {
            expected,
            dtypes: self.records.quoted(&dtypes),
            rank: rank_rule(&tensor.shape),
            device,
            mask: requirements.align - 1,
            compact: requirements.compact,
            accepted: accepted.len() as u32,
        };
        self.records.shared(record, &accepted)
    }

    /// Adds a record for the exit of a value that must be owned, in which the only requirement of the value is
    /// its type. Returns the offset.
    pub(crate) fn owned_record(&mut self, value: ValueId) -> u32 {
        let declared = &self.function.values[value];
        let text = accepted::expected(declared.ty, declared.optional);
        let (expected, require) = (self.records.quoted(&text), Requirement::Type);
        let record = Required { expected, low: 0, high: 0, require, size: None };
        let required = self.records.shared(record, &[]);
        let known = self.known[value];
        let record = self.add(value, required);
        self.known[value] = known;
        record
    }

    /// Packs a place into the word that routines unpack.
    pub(crate) fn packed_place(&mut self, at: Place) -> u64 {
        let record = self.record(at.value());
        place::of(record, self.packed_part(at))
    }

    /// Packs suffix and index of a place. The index of a declared dim is that of the tensor itself.
    pub(crate) fn packed_part(&self, at: Place) -> u64 {
        let index = |value, dim| {
            let tensor = self.function.tensor(value);
            let own = tensor.map_or(OwnDim::FromStart(dim), |tensor| tensor.shape.own_dim(dim));
            match own {
                OwnDim::FromStart(dim) => dim as u64,
                OwnDim::FromEnd(count) => place::from_end(count),
                OwnDim::Leading(after) => place::leading(after),
            }
        };
        match at {
            Place::Value { .. } => place::number(Suffix::None, 0),
            Place::Extent { value, dim } => place::number(Suffix::Shape, index(value, dim)),
            Place::Stride { value, dim } => place::number(Suffix::Strides, index(value, dim)),
            Place::Number { dim, .. } => place::number(Suffix::Number, dim as u64),
        }
    }

    /// Returns the offset of the record of the function at the location of the current statement.
    pub(crate) fn host(&mut self) -> u32 {
        let location = self.location.or(self.function.location);
        let key = location.map(std::ptr::from_ref);
        if let Some(host) = self.hosts.get(&key) {
            return *host;
        }
        let header = self.function.shown.header().to_string();
        let host = self.records.host(self.function, location, &header);
        self.hosts.insert(key, host);
        host
    }

    /// Adds the record of a message and returns its offset.
    pub(super) fn fault(&mut self, message: &Message) -> u32 {
        let message = message.add(self.records);
        let head: Head = self.head();
        self.records.add(Fault { head, message })
    }

    /// Returns the head of the record that is added next.
    fn head(&mut self) -> Head {
        let host = self.host();
        self.records.head(host)
    }
}

/// Splits a path at its loop indices. Their order is that of the enclosing loops, the outermost first.
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

/// Returns the rule for the rank of a tensor.
fn rank_rule(shape: &Shape) -> RankRule {
    match shape.rank() {
        Some(rank) => RankRule::Exactly(rank as u32),
        None => RankRule::AtLeast(shape.least_rank() as u32),
    }
}

/// Returns the requirement of a type beyond the type index, and the number of elements if the type fixes it.
fn require(ty: &ParamType) -> (Requirement, Option<u32>) {
    let require = match ty {
        ParamType::Leaf(Leaf::DType) => Requirement::Dtype,
        ParamType::Leaf(Leaf::Device) => Requirement::Device,
        ParamType::Shape(shape) => {
            return (Requirement::Numbers, shape.rank().map(|rank| rank as u32));
        }
        ParamType::Object(_) => Requirement::Class,
        ParamType::Tuple(elements) => return (Requirement::Size, Some(elements.len() as u32)),
        ParamType::Literal(_) => Requirement::Literal,
        ParamType::Union(_) => Requirement::OneOf,
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(Leaf::Str | Leaf::Bytes | Leaf::Any | Leaf::Stream | Leaf::Handle)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Optional(_) => Requirement::Type,
    };
    (require, None)
}
