//! The meaning of a declaration: an interpreter written from the design, not from the lowering.
//!
//! The oracle predicts the outcome of a call, the text of errors included, for the declarations that
//! [`generate`](crate::generate) makes. The property tests compare the prediction with the behaviour of compiled code.

mod expression;
mod half;
mod program;
mod scalar;
mod symbols;
mod tensor;
mod union;
mod value;

use std::borrow::Cow;

use abi_spec::{DType, DeviceType, TypeIndex};
use codegen::language::spelled;
use codegen::{Function, Mapping, ParamType, Sequence};

use crate::argument::{Argument, Tensor, type_index};
use crate::generate::makes_function;
use crate::outcome::{End, Outcome};
use expression::Number;
use symbols::Symbols;

/// An error of a call: its kind and the text before and after the signature.
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

    /// Returns true for the error of an expression that is no `int64`.
    fn is_out_of_range(&self) -> bool {
        self.subject.starts_with("Out of range ")
    }

    fn value(subject: String, rest: String) -> Fault {
        Fault::new("ValueError", subject, rest)
    }

    /// Creates ``<text> <path> on argument #<argument> …, expected <expected>``.
    fn at(kind: &'static str, text: &str, path: &str, argument: usize, expected: String) -> Fault {
        let subject = format!("{text} {path} on argument #{argument}");
        Fault::new(kind, subject, format!(", expected {expected}"))
    }

    /// Moves the error into a function that the body makes, in which no value is an argument.
    fn within(mut self) -> Fault {
        if let Some(at) = self.subject.rfind(" on argument #") {
            self.subject.truncate(at);
        }
        if self.is_out_of_range() {
            // A function that is made knows what it holds, not where that came from.
            let number = self.rest.find(" but got ").map_or(0, |at| at + " but got ".len());
            let end =
                self.rest[number..].find([',', ' ']).map_or(self.rest.len(), |at| number + at);
            self.rest.truncate(end);
        }
        self
    }

    fn end(self, function: &Function) -> End {
        let Fault { kind, subject, rest } = self;
        let signature = elided(&function.signature.header().to_string());
        let message = format!("{subject} when calling: `{signature}`{rest}");
        End::Error { kind: kind.to_owned(), message: cut(message) }
    }
}

/// Maximal bytes of a declaration's text in a message, and of a message.
const QUOTED: usize = 1024;
const MESSAGE: usize = 4096;

/// Shortens a text of the declaration as messages do.
fn elided(text: &str) -> String {
    if text.len() <= QUOTED {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(QUOTED - 3)])
}

/// Truncates a message that is too long.
fn cut(mut message: String) -> String {
    const END: &str = "...";
    if message.len() > MESSAGE {
        let last = message.floor_char_boundary(MESSAGE - END.len());
        message.truncate(last);
        message += &".".repeat(MESSAGE - last);
    }
    message
}

/// Quotes received text as messages do: the first 64 bytes, with all but printable characters escaped.
fn quoted(text: &[u8]) -> String {
    const SHOWN: usize = 64;
    let (mut quoted, mut at) = (String::from('"'), 0);
    while at < text.len().min(SHOWN) {
        let rest = &text[at..(at + 4).min(text.len())];
        let valid = match std::str::from_utf8(rest) {
            Ok(valid) => valid,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        match valid.chars().next() {
            Some(c) if !c.is_control() && c != '"' && c != '\\' => {
                quoted.push(c);
                at += c.len_utf8();
            }
            _ => {
                quoted += &format!("\\x{:02x}", text[at]);
                at += 1;
            }
        }
    }
    let end = if text.len() > SHOWN { "...\"" } else { "\"" };
    quoted + end
}

/// Predicts the outcome of a call.
pub fn predict(function: &Function, arguments: &[Argument], count: Option<i32>) -> Outcome {
    let count = count.unwrap_or(arguments.len() as i32);
    let symbols = Symbols::new(function);
    let (found, devices, dtypes) = (Vec::new(), Vec::new(), Vec::new());
    let notes = Vec::new();
    let mut call = Call { function, arguments, found, devices, dtypes, symbols, notes };
    let ended = call.check(count).map_err(|fault| fault.end(function)).and_then(|()| {
        let made = makes_function(function);
        call.body(made.unwrap_or(function)).map_err(|fault| match made {
            Some(made) => fault.within().end(made),
            None => fault.end(function),
        })
    });
    let recorded = call.notes.join(", ");
    let (Ok(end) | Err(end)) = ended;
    Outcome { recorded, end }
}

/// A call under interpretation.
struct Call<'a> {
    function: &'a Function,
    arguments: &'a [Argument],
    /// Facts about checked values, by path.
    found: Vec<(String, Found<'a>)>,
    /// The first device of each type except the cpu, and the path of its tensor, unless the tensor is an element of a
    /// sequence.
    devices: Vec<(DeviceType, i32, Option<String>)>,
    dtypes: Vec<Named>,
    symbols: Symbols<'a>,
    /// Notes of the kernels that the body has called.
    notes: Vec<String>,
}

/// An element type that has a name.
struct Named {
    name: String,
    dtype: DType,
    /// Path of the tensor that determined it.
    path: String,
    /// Element types that this tensor accepts.
    dtypes: Vec<DType>,
}

/// A value that is checked: an argument, or a value nested in one.
#[derive(Clone)]
struct Received<'a> {
    /// Path of the value in expressions and errors.
    path: String,
    /// Position of the argument.
    argument: usize,
    /// Type of the value, without `Optional`.
    ty: &'a ParamType,
    /// True if None is accepted too.
    optional: bool,
    /// True if the value, or a value around it, may be missing.
    uncertain: bool,
    /// True for an element of a sequence or mapping.
    many: bool,
    /// The value, unless it is missing.
    given: Option<&'a Argument>,
}

/// Facts about a value that expressions use.
#[derive(Clone)]
enum Found<'a> {
    Number(Number),
    Tensor(Cow<'a, Tensor>),
    /// Number of elements or bytes, and the numbers of a shape.
    Several(usize, Vec<i64>),
    /// Bytes of a text.
    Text(&'a [u8]),
    /// Value in expressions of a missing value.
    Missing(Number),
    Other,
}

/// Fact about a missing value that is not a number.
const MISSING: Found<'_> = Found::Missing(Number::Address { null: true, offset: 0 });

impl<'a> Received<'a> {
    fn param(function: &'a Function, argument: usize, given: &'a Argument) -> Received<'a> {
        let param = &function.signature.params[argument];
        let (ty, optional) = param.ty.required();
        let path = spelled(&param.name).to_string();
        Received {
            path,
            argument,
            ty,
            optional,
            uncertain: optional,
            many: false,
            given: Some(given),
        }
    }

    /// Creates a value nested in this one.
    fn inner(&self, path: String, ty: &'a ParamType, given: Option<&'a Argument>) -> Received<'a> {
        let (ty, optional) = ty.required();
        let uncertain = self.uncertain || optional;
        Received { path, argument: self.argument, ty, optional, uncertain, many: self.many, given }
    }

    /// Returns the type as errors print it.
    fn expected(&self) -> String {
        let word = match self.ty {
            ParamType::Tensor(_) => "Tensor".to_owned(),
            ParamType::Shape(_) => "Shape".to_owned(),
            ParamType::Tuple(_) => "Tuple".to_owned(),
            ParamType::Sequence(Sequence::Array, _) => "Array".to_owned(),
            ParamType::Sequence(Sequence::List, _) => "List".to_owned(),
            ParamType::Mapping(Mapping::Map, _) => "Map".to_owned(),
            ParamType::Mapping(Mapping::Dict, _) => "Dict".to_owned(),
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Object(_)
            | ParamType::Optional(_)
            | ParamType::Union(_)
            | ParamType::Literal(_) => self.ty.to_string(),
        };
        let literal = matches!(self.ty, ParamType::Literal(_));
        if self.optional && !literal { format!("Optional[{word}]") } else { word }
    }

    fn fault(&self, kind: &'static str, text: &str, part: &str, expected: String) -> Fault {
        Fault::at(kind, text, &format!("{}{part}", self.path), self.argument, expected)
    }

    fn mismatch(&self, part: &str, expected: String) -> Fault {
        self.fault("ValueError", "Mismatched", part, expected)
    }

    fn wrong_type(&self, got: &str) -> Fault {
        let expected = format!("{} but got {got}", self.expected());
        self.fault("TypeError", "Mismatched type of", "", expected)
    }
}

impl<'a> Call<'a> {
    fn check(&mut self, count: i32) -> Checked<()> {
        let params = &self.function.signature.params;
        if count != params.len() as i32 {
            let rest = format!(", expected {} but got {count}", params.len());
            let subject = "Mismatched number of arguments".to_owned();
            return Err(Fault::new("TypeError", subject, rest));
        }
        let (function, arguments) = (self.function, self.arguments);
        for (index, argument) in arguments.iter().enumerate() {
            self.value(Received::param(function, index, argument))?;
        }
        self.bind_stride_symbols(false)?;
        for constraint in &self.function.signature.constraints {
            self.constraint(constraint)?;
        }
        Ok(())
    }

    /// Returns the notes of a kernel about its first seven arguments at most.
    fn recorded(&self, values: &[Number]) -> String {
        let texts = values.iter().take(7).map(|value| match value {
            Number::Int(value) => value.to_string(),
            Number::Unsigned(value) => value.cast_signed().to_string(),
            Number::Float(value) if value.is_nan() => "nan".to_owned(),
            Number::Float(value) => format!("{:016x}", value.to_bits()),
            Number::Address { offset, .. } => offset.to_string(),
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Notes a fact about a value; later notes replace earlier ones.
    fn note(&mut self, received: &Received<'a>, found: Found<'a>) {
        self.found.push((received.path.clone(), found));
    }

    /// Returns the fact about the value of a path.
    fn find(&self, path: &str) -> Option<&Found<'a>> {
        self.found.iter().rev().find(|(known, _)| known == path).map(|(_, found)| found)
    }
}

/// Returns the object that an rvalue reference refers to, otherwise the argument itself.
fn borrowed(argument: &Argument) -> &Argument {
    if let Argument::RValue(Some(object)) = argument { object } else { argument }
}

/// Returns the type index and the payload, 0 if that is no number. A registered class has some index of its kind.
fn words(argument: &Argument) -> (i32, i64) {
    let payload = match argument {
        Argument::Int(value) => *value,
        Argument::Bool(value) => i64::from(*value),
        Argument::Float(value) => value.to_bits() as i64,
        Argument::Pointer(value) => *value as i64,
        Argument::Raw { payload, .. } => *payload,
        Argument::None | Argument::DType(_) | Argument::Device(_) => 0,
        Argument::Str(_) | Argument::Bytes(_) | Argument::Small { .. } => 0,
        Argument::RawStr(_)
        | Argument::RawBytes(_)
        | Argument::Runtime(_)
        | Argument::BigInt(_)
        | Argument::Big(_)
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

/// Returns the type of an argument as errors print it.
fn type_name(argument: &Argument) -> String {
    if let Argument::Registered(classes) = argument {
        return classes[0].clone();
    }
    let (index, _) = words(argument);
    let known = TypeIndex(index).received_name();
    known.map_or_else(|| format!("type index {index}"), str::to_owned)
}
