//! Outcomes of calls, in the form of the test table.
//!
//! ```text
//! 3                           the result: an integer
//! [2, 3]                      the kernel noted these arguments; the result is None
//! [2, 3] 0.5                  both
//! ValueError: text            an error
//! [3] RuntimeError: text      an error after the kernel was called
//! ```
//!
//! In the text of an error `…` stands for ``when calling: `<signature>` ``.

mod owned;

use std::fmt;

use codegen::Signature;
use jit::abi::Any;

use crate::argument::{self, Argument};

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Notes of the kernel; empty if there are none.
    pub recorded: String,
    /// End of the call.
    pub end: End,
}

/// End of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// A result.
    Result(Value),
    /// An error.
    Error {
        /// Kind of the error, such as `TypeError`.
        kind: String,
        /// Text of the error.
        message: String,
    },
    /// A violation of the ABI.
    Broken(String),
}

/// A result. Floats are compared by their bits, but all NaNs are equal.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    None,
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// The bits of a float.
    Float(u64),
    /// An opaque pointer.
    Pointer(u64),
    /// Any other value, as the argument that would pass it: strings and bytes whether small or not, tensors with their
    /// type, shape and device, arrays, shapes, and `object(68)` for objects that only a runtime can make.
    Other(Argument),
}

impl Value {
    /// Creates the value of a float.
    pub fn float(value: f64) -> Value {
        Value::Float(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() })
    }

    /// Reads a result that a callee wrote and checks all of its 16 bytes.
    pub fn read(any: &Any) -> Result<Value, String> {
        if !matches!(any.type_index, 0..=4) {
            return owned::read(any).map(Value::Other);
        }
        let bits = any.bits();
        let value = match any.type_index {
            0 if bits == 0 => Value::None,
            1 => Value::Int(bits),
            2 if bits == 0 || bits == 1 => Value::Bool(bits == 1),
            3 => Value::float(f64::from_bits(bits as u64)),
            4 => Value::Pointer(bits as u64),
            _ => return Err(format!("the result is {any:?}")),
        };
        if any.small_len == 0 {
            Ok(value)
        } else {
            Err(format!("the padding of {any:?} is not zero"))
        }
    }

    /// Converts an argument to the result that it equals.
    pub fn of(argument: &Argument) -> Option<Value> {
        match argument {
            Argument::None => Some(Value::None),
            Argument::Bool(value) => Some(Value::Bool(*value)),
            Argument::Int(value) => Some(Value::Int(*value)),
            Argument::Float(value) => Some(Value::float(*value)),
            Argument::Pointer(value) => Some(Value::Pointer(*value)),
            Argument::DType(_)
            | Argument::Device(_)
            | Argument::Str(_)
            | Argument::Bytes(_)
            | Argument::Object(_)
            | Argument::Tensor(_)
            | Argument::Shape(_)
            | Argument::Array(_) => Some(Value::Other(argument.clone())),
            Argument::Runtime(_)
            | Argument::RawStr(_)
            | Argument::RawBytes(_)
            | Argument::BigInt(_)
            | Argument::Big(_)
            | Argument::Small { .. }
            | Argument::Text { .. }
            | Argument::Registered(_)
            | Argument::Raw { .. }
            | Argument::List(_)
            | Argument::Map(_)
            | Argument::Dict(_)
            | Argument::Function
            | Argument::Module
            | Argument::Error
            | Argument::Opaque
            | Argument::RValue(_) => None,
        }
    }
}

impl Outcome {
    /// Parses the expectation of a row about a function with this signature.
    pub fn parse(text: &str, signature: &Signature) -> Result<Outcome, String> {
        let (recorded, rest) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or("`[` without `]`")?,
            None => ("", text),
        };
        let rest = rest.trim();
        let recorded = recorded.to_owned();
        if rest.is_empty() {
            return Ok(Outcome { recorded, end: End::Result(Value::None) });
        }
        if let Some((kind, message)) = rest.split_once(": ")
            && kind.ends_with("Error")
        {
            let called = format!("when calling: `{}`", signature.header());
            let (kind, message) = (kind.to_owned(), message.replace('…', &called));
            return Ok(Outcome { recorded, end: End::Error { kind, message } });
        }
        let (values, _) = argument::parse_list(&format!("({rest})"))?;
        let [value] = &values[..] else { return Err(format!("`{rest}` is not one value")) };
        let value = Value::of(value).ok_or_else(|| format!("`{rest}` is not a result"))?;
        Ok(Outcome { recorded, end: End::Result(value) })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Float(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
            Value::Pointer(value) => write!(f, "ptr({value})"),
            Value::Other(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.recorded.is_empty() {
            write!(f, "[{}] ", self.recorded)?;
        }
        match &self.end {
            End::Result(value) => value.fmt(f),
            End::Error { kind, message } => write!(f, "{kind}: {message}"),
            End::Broken(reason) => write!(f, "broken: {reason}"),
        }
    }
}
