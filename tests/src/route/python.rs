//! The route through Python: a shared library, called with NumPy arrays.

use std::io::Write;
use std::process::{Command, Stdio};

use codegen::Library;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{Call, Reason, Route, shared};
use crate::argument::{self, Argument, Tensor};
use crate::hosts::host;
use crate::outcome::{End, Outcome, Value};

/// A shared library for Python to load.
#[derive(Debug)]
pub struct Python {
    backend: &'static str,
    folder: TempDir,
}

impl Python {
    /// Compiles and links a library.
    pub fn new(library: &Library, backend: &'static str) -> Python {
        let folder = tempfile::tempdir().expect("a folder can be made");
        shared::build(library, backend, &folder.path().join("library.so"));
        Python { backend, folder }
    }

    /// Runs calls in one process, which answers each with a line.
    fn answers(&self, calls: &[Json]) -> Vec<Outcome> {
        let script = host("calls.py");
        let library = self.folder.path().join("library.so");
        let mut command = Command::new("python3");
        command.arg(script).arg(library).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("python3: {error}"));
        let mut stdin = child.stdin.take().expect("a pipe");
        let text = Json::from(calls).to_string();
        stdin.write_all(text.as_bytes()).expect("Python reads all of it first");
        drop(stdin);
        let output = child.wait_with_output().expect("Python ends");
        assert!(output.status.success(), "calls.py: {}; use tests/run", output.status);
        let text = String::from_utf8(output.stdout).expect("the output is text");
        text.lines().map(answer).collect()
    }
}

impl Route for Python {
    fn name(&self) -> String {
        format!("python, {}", self.backend)
    }

    fn run(&self, calls: &[Call<'_>]) -> Vec<Result<Outcome, Reason>> {
        let expressed: Vec<Result<Json, Reason>> = calls.iter().map(express).collect();
        let possible: Vec<Json> = expressed.iter().flatten().cloned().collect();
        let answers = self.answers(&possible);
        assert_eq!(answers.len(), possible.len());
        let mut answers = answers.into_iter();
        let mut answer = |_| answers.next().expect("as many as calls");
        expressed.into_iter().map(|call| call.map(&mut answer)).collect()
    }
}

const COUNT: Reason = "Python counts the arguments itself";
const TEXT: Reason = "the runtime decides in which form a text is passed";
const FORGED: Reason = "values of Python are what their type indices say";
const MOVED: Reason = "Python moves objects of the runtime's own classes only";
const SHAPE: Reason = "the runtime makes a tensor object only where there is a shape";

const STRIDES: Reason = "the runtime gives a tensor without strides compact ones, modulo 2^64";

/// Reasons why calls cannot be made from Python.
pub const BEYOND_PYTHON: [Reason; 6] = [COUNT, TEXT, FORGED, MOVED, SHAPE, STRIDES];

/// Writes a call in Python, if Python can express it.
fn express(call: &Call<'_>) -> Result<Json, Reason> {
    if call.count.is_some() {
        return Err(COUNT);
    }
    let arguments: Result<Vec<String>, Reason> = call.arguments.iter().map(expression).collect();
    Ok(json!([call.function, arguments?]))
}

/// Writes a Python expression over the names of `calls.py`.
fn expression(argument: &Argument) -> Result<String, Reason> {
    Ok(match argument {
        Argument::None => "None".to_owned(),
        Argument::Bool(true) => "True".to_owned(),
        Argument::Bool(false) => "False".to_owned(),
        Argument::Int(value) => value.to_string(),
        Argument::BigInt(value) => value.to_string(),
        Argument::Float(value) => format!("float('{value:?}')"),
        Argument::Pointer(value) => format!("ctypes.c_void_p({value})"),
        Argument::Runtime(name) => format!("runtime('{name}')"),
        Argument::DType(dtype) => format!("tvm_ffi.dtype('{dtype}')"),
        Argument::Device(device) => format!("tvm_ffi.device('{device}')"),
        Argument::Str(text) => Json::from(text.as_str()).to_string(),
        Argument::Bytes(text) => format!("b\"{}\"", text.escape_ascii()),
        Argument::Tensor(tensor) if has_large_strides(tensor) => return Err(STRIDES),
        Argument::Tensor(tensor) => array(tensor).map_or_else(|| foreign(tensor), Ok)?,
        Argument::Shape(extents) => format!("tvm_ffi.Shape({extents:?})"),
        Argument::Array(elements) => expressions(elements)?,
        Argument::List(elements) => format!("tvm_ffi.List({})", expressions(elements)?),
        Argument::Map(entries) => pairs(entries)?,
        Argument::Dict(entries) => format!("tvm_ffi.Dict({})", pairs(entries)?),
        Argument::Function => "note".to_owned(),
        Argument::Module => "tvm_ffi.system_lib()".to_owned(),
        Argument::Error => "ValueError('an argument')".to_owned(),
        Argument::Opaque => "object()".to_owned(),
        Argument::RValue(Some(object)) => moved(object)?,
        Argument::RValue(None) => return Err(MOVED),
        Argument::RawStr(_)
        | Argument::RawBytes(_)
        | Argument::Small { .. }
        | Argument::Text { .. } => return Err(TEXT),
        Argument::Big(_) | Argument::Object(_) | Argument::Registered(_) | Argument::Raw { .. } => {
            return Err(FORGED);
        }
    })
}

/// Returns true for a tensor without strides of which a compact one is no `int64`.
fn has_large_strides(tensor: &Tensor) -> bool {
    let inner = tensor.shape.get(1..).unwrap_or_default();
    let product = |extents: &[i64]| extents.iter().try_fold(1_i64, |all, &n| all.checked_mul(n));
    tensor.strides.is_none() && (0..inner.len()).any(|dim| product(&inner[dim..]).is_none())
}

/// Writes a list, which is passed as an array.
fn expressions(arguments: &[Argument]) -> Result<String, Reason> {
    let texts: Result<Vec<String>, Reason> = arguments.iter().map(expression).collect();
    Ok(format!("[{}]", texts?.join(", ")))
}

/// Writes a dictionary, which is passed as a map.
fn pairs(entries: &[(Argument, Argument)]) -> Result<String, Reason> {
    let pair = |(key, value): &(Argument, Argument)| {
        Ok(format!("{}: {}", expression(key)?, expression(value)?))
    };
    let texts: Result<Vec<String>, Reason> = entries.iter().map(pair).collect();
    Ok(format!("{{{}}}", texts?.join(", ")))
}

/// Writes an object to be moved: only objects of the runtime can be.
fn moved(object: &Argument) -> Result<String, Reason> {
    let is_wrapped = matches!(
        object,
        Argument::Array(_)
            | Argument::List(_)
            | Argument::Map(_)
            | Argument::Dict(_)
            | Argument::Module
    );
    if is_wrapped {
        Ok(format!("tvm_ffi.convert({})._move()", expression(object)?))
    } else {
        Err(MOVED)
    }
}

/// Element types of NumPy whose names DLPack shares.
const NUMPY: [&str; 14] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

/// Writes a tensor through DLPack. Python passes it as a tensor object.
fn foreign(tensor: &Tensor) -> Result<String, Reason> {
    let Tensor { dtype, shape, strides, device, data, byte_offset, .. } = tensor;
    if tensor.ndim.is_some() || tensor.null_shape {
        return Err(SHAPE);
    }
    let strides = strides.as_ref().map_or("None".to_owned(), |strides| format!("{strides:?}"));
    let data = data.map_or("None".to_owned(), |at| at.to_string());
    let (code, bits, lanes) = (dtype.code, dtype.bits, dtype.lanes);
    let (dtype, device) = ((code, bits, lanes), (device.ty.0, device.id));
    Ok(format!("foreign({dtype:?}, {shape:?}, {strides}, {device:?}, {data}, {byte_offset})"))
}

/// Writes a NumPy array; returns `None` for a tensor that NumPy cannot hold, such as one on a GPU or with
/// `byte_offset`.
fn array(tensor: &Tensor) -> Option<String> {
    let Tensor { dtype, shape, strides, ndim, null_shape, device, data, byte_offset, object } =
        tensor;
    let plain =
        ndim.is_none() && !null_shape && *device == abi_spec::Device::CPU && *byte_offset == 0;
    let dtype = NUMPY.into_iter().find(|name| *name == dtype.to_string())?;
    if !plain || !fits(tensor) {
        return None;
    }
    // NumPy has other strides than the compact ones for an empty array.
    let given = strides.clone().or_else(|| shape.contains(&0).then(|| tensor.compact_strides()));
    let strides = given.map_or("None".to_owned(), |strides| format!("{strides:?}"));
    let make = if *object { "tensor" } else { "array" };
    Some(format!("{make}('{dtype}', {shape:?}, {strides}, {})", (*data)?))
}

/// Returns true if all elements lie within 2 KiB of the first one. NumPy has no empty array whose other extents have a
/// product beyond `int64`.
fn fits(tensor: &Tensor) -> bool {
    let reach = |(dim, extent): (usize, &i64)| {
        let stride = tensor.strides.as_ref().map_or(1, |strides| strides[dim].unsigned_abs());
        u128::from(extent.saturating_sub(1).unsigned_abs()) * u128::from(stride)
    };
    let elements = |shape: &[i64]| shape.iter().map(|extent| *extent as u128).product::<u128>();
    let Tensor { shape, .. } = tensor;
    let reach: u128 = match tensor.strides {
        _ if shape.iter().any(|extent| *extent < 0) => return false,
        _ if shape.contains(&0) => {
            let others: Vec<i64> = shape.iter().copied().filter(|extent| *extent != 0).collect();
            if elements(&others) > 1 << 48 { u128::from(u64::MAX) } else { 0 }
        }
        Some(_) => shape.iter().enumerate().map(reach).sum(),
        None => elements(shape),
    };
    reach * u128::from(tensor.dtype.lane_bytes()) <= 2048
}

/// Parses an answer of `calls.py`: notes, then a type and a value, or a class and a message.
fn answer(line: &str) -> Outcome {
    let answer: Json = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let text = |index: usize| answer[index].as_str().unwrap_or_else(|| panic!("{line}"));
    let end = match text(1) {
        "NoneType" => End::Result(Value::None),
        "bool" => End::Result(Value::Bool(text(2) == "True")),
        "int" => End::Result(Value::Int(parse(text(2)))),
        "float" => End::Result(Value::float(parse(text(2)))),
        "c_void_p" => End::Result(Value::Pointer(parse(text(2)))),
        "other" => End::Result(other(text(2))),
        kind => End::Error { kind: kind.to_owned(), message: text(2).to_owned() },
    };
    Outcome { recorded: text(0).to_owned(), end }
}

/// Parses a result in the form of the table.
fn other(text: &str) -> Value {
    let list = argument::parse_list(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let ([argument], "") = (&list.0[..], list.1) else { panic!("{text}") };
    Value::of(argument).unwrap_or_else(|| panic!("{text}"))
}

fn parse<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}
