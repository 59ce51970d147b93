//! What a declaration means: an interpreter written from the design, not from the lowering.
//!
//! It predicts the outcome of a call, the text of errors included, for declarations whose body is
//! `record_property(…)`. The property tests compare it with what the compiled code does.

mod expression;
mod half;
mod symbols;
mod tensor;

use abi_spec::{Scalar, TypeIndex};
use codegen::{Dim, Function, ParamType, Shape, Strides};

use crate::argument::{Argument, Tensor, type_index};
use crate::outcome::{End, Outcome, Value};
use expression::Number;
use symbols::Symbols;

/// An error: its kind, what it is about, and the rest. The signature stands in between.
struct Fault {
    kind: &'static str,
    subject: String,
    rest: String,
}

type Checked<T> = Result<T, Fault>;

impl Fault {
    fn new(kind: &'static str, subject: String, rest: String) -> Fault {
        Fault { kind, subject, rest }
    }

    fn value(subject: String, rest: String) -> Fault {
        Fault::new("ValueError", subject, rest)
    }

    /// ``<text> <place> on argument #<argument> …, expected <expected>``
    fn at(kind: &'static str, text: &str, place: &str, argument: usize, expected: String) -> Fault {
        let subject = format!("{text} {place} on argument #{argument}");
        Fault::new(kind, subject, format!(", expected {expected}"))
    }
}

/// The outcome of a call.
pub fn predict(function: &Function, arguments: &[Argument], count: Option<i32>) -> Outcome {
    let count = count.unwrap_or(arguments.len() as i32);
    let mut call =
        Call { function, arguments, scalars: Vec::new(), symbols: Symbols::new(function) };
    match call.run(count) {
        Ok(recorded) => Outcome { recorded, end: End::Result(Value::None) },
        Err(Fault { kind, subject, rest }) => {
            let signature = function.signature.header();
            let message = format!("{subject} when calling: `{signature}`{rest}");
            let end = End::Error { kind: kind.to_owned(), message };
            Outcome { recorded: String::new(), end }
        }
    }
}

/// A call that is being interpreted.
struct Call<'a> {
    function: &'a Function,
    arguments: &'a [Argument],
    /// The value of each scalar parameter that has been checked.
    scalars: Vec<Option<Number>>,
    symbols: Symbols<'a>,
}

impl<'a> Call<'a> {
    fn run(&mut self, count: i32) -> Checked<String> {
        let params = &self.function.signature.params;
        if count != params.len() as i32 {
            let rest = format!(", expected {} but got {count}", params.len());
            let subject = "Mismatched number of arguments".to_owned();
            return Err(Fault::new("TypeError", subject, rest));
        }
        self.scalars = vec![None; params.len()];
        for (index, param) in params.iter().enumerate() {
            match &param.ty {
                ParamType::Scalar(scalar) => self.scalar(index, *scalar)?,
                ParamType::Tensor(tensor) => self.tensor(index, tensor)?,
                ParamType::Str
                | ParamType::Bytes
                | ParamType::DType
                | ParamType::Device
                | ParamType::Shape(_)
                | ParamType::Object(_)
                | ParamType::Sequence(..)
                | ParamType::Mapping(..)
                | ParamType::Tuple(_)
                | ParamType::Optional(_)
                | ParamType::Union(_)
                | ParamType::Literal(_)
                | ParamType::Any
                | ParamType::Stream => {
                    unreachable!("no declaration has a parameter of type {}", param.ty)
                }
            }
        }
        self.settle()?;
        for constraint in &self.function.signature.constraints {
            self.constraint(constraint)?;
        }
        let args = &self.function.body.args;
        let values: Vec<Number> =
            args.iter().map(|arg| self.evaluate(arg)).collect::<Checked<_>>()?;
        Ok(self.recorded(&values))
    }

    /// What `record_property` notes.
    fn recorded(&self, values: &[Number]) -> String {
        let texts = values[..7].iter().map(|value| match value {
            Number::Int(value) => value.to_string(),
            Number::Float(value) if value.is_nan() => "nan".to_owned(),
            Number::Float(value) => format!("{:016x}", value.to_bits()),
            Number::Address { offset, .. } => offset.to_string(),
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn name(&self, param: usize) -> &'a str {
        &self.function.signature.params[param].name
    }

    fn tensor_argument(&self, param: usize) -> Option<&'a Tensor> {
        if let Argument::Tensor(tensor) = &self.arguments[param] { Some(tensor) } else { None }
    }

    fn scalar(&mut self, param: usize, scalar: Scalar) -> Checked<()> {
        let name = self.name(param);
        let (index, bits) = words(&self.arguments[param]);
        let last = if scalar.is_float() { 3 } else { 2 };
        let is_number = (1..=last).contains(&index);
        if !(if scalar == Scalar::Ptr { index == 0 || index == 4 } else { is_number }) {
            let got = type_name(&self.arguments[param]);
            let expected = format!("{scalar} but got {got}");
            return Err(Fault::at("TypeError", "Mismatched type of", name, param, expected));
        }
        if scalar.is_int() && !in_range(bits, scalar) {
            let expected = format!("{scalar} but got {bits}");
            return Err(Fault::at("ValueError", "Out of range", name, param, expected));
        }
        self.scalars[param] = Some(if scalar == Scalar::Ptr {
            Number::Address { null: index == 0 || bits == 0, offset: 0 }
        } else if scalar.is_float() {
            let wide = if index == 3 { f64::from_bits(bits as u64) } else { bits as f64 };
            Number::Float(half::round(wide, scalar))
        } else if scalar == Scalar::Bool {
            Number::Int(i64::from(bits != 0))
        } else {
            Number::Int(bits)
        });
        if scalar.is_int() { self.parameter(param, bits) } else { Ok(()) }
    }

    /// Shape, strides, data: what comes after the header.
    fn dims(&mut self, param: usize, declared: &'a codegen::Tensor) -> Checked<()> {
        let Some(tensor) = self.tensor_argument(param) else { return Ok(()) };
        if let Shape::Dims(dims) = &declared.shape {
            for (dim, rule) in dims.iter().enumerate() {
                let value = tensor.shape[dim];
                self.extent_sign(param, dim, value)?;
                if let Dim::Expr(expr) = rule {
                    self.occurrence(param, ("shape", dim), value, expr, true)?;
                }
            }
        }
        if let Strides::List(strides) = &declared.strides {
            for (dim, rule) in strides.iter().enumerate() {
                let counts = tensor.shape[dim] > 1 && !tensor::is_empty(tensor);
                let value = tensor::stride(tensor, dim);
                if let Dim::Expr(expr) = rule {
                    self.occurrence(param, ("strides", dim), value, expr, counts)?;
                }
            }
        }
        Ok(())
    }
}

/// The type index and the payload, where that is a number. A registered class has any index of its kind.
fn words(argument: &Argument) -> (i32, i64) {
    let payload = match argument {
        Argument::Int(value) => *value,
        Argument::Bool(value) => i64::from(*value),
        Argument::Float(value) => value.to_bits() as i64,
        Argument::Pointer(value) => *value as i64,
        Argument::Raw { payload, .. } => *payload,
        Argument::None | Argument::DType(_) | Argument::Device(_) => 0,
        Argument::Str(_) | Argument::RawStr(_) | Argument::Bytes(_) | Argument::RawBytes(_) => 0,
        Argument::Small { .. } => 0,
        Argument::Runtime(_)
        | Argument::BigInt(_)
        | Argument::Text { .. }
        | Argument::Object(_)
        | Argument::Registered(_)
        | Argument::Tensor(_)
        | Argument::Shape(_)
        | Argument::Array(_)
        | Argument::List(_)
        | Argument::Map(_)
        | Argument::Dict(_)
        | Argument::Function
        | Argument::Module
        | Argument::Error
        | Argument::Opaque
        | Argument::RValue(_) => 1,
    };
    (type_index(argument).unwrap_or(TypeIndex::DYN_OBJECT_BEGIN.0), payload)
}

/// What errors call the type of an argument.
fn type_name(argument: &Argument) -> String {
    if let Argument::Registered(classes) = argument {
        return classes[0].clone();
    }
    let (index, _) = words(argument);
    let known = TypeIndex(index).received_name();
    known.map_or_else(|| format!("type index {index}"), str::to_owned)
}

/// True if an `int64` is a value of an integer type.
fn in_range(value: i64, scalar: Scalar) -> bool {
    let value = i128::from(value);
    let values = 1_i128 << scalar.bits();
    let low = if scalar.is_signed() { -values / 2 } else { 0 };
    (low..low + values).contains(&value)
}
