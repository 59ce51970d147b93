//! Calls in the input language of the host: `tests/hosts/cross/main.c`.

use std::fmt::Write as _;

use tvm_ffi_codegen_tests::argument::{Argument, Tensor};

/// Writes arguments; `None` if no host can make them.
pub(super) fn arguments(arguments: &[Argument]) -> Option<String> {
    arguments.iter().map(argument).collect()
}

fn argument(argument: &Argument) -> Option<String> {
    let any = |index: i32, bits: i64| format!("any {index} 0 {bits}\n");
    Some(match argument {
        Argument::None => any(0, 0),
        Argument::Int(value) => any(1, *value),
        Argument::Bool(value) => any(2, i64::from(*value)),
        Argument::Float(value) => any(3, value.to_bits() as i64),
        Argument::Pointer(value) => any(4, *value as i64),
        Argument::DType(dtype) => any(5, dtype.to_word().into()),
        Argument::Device(device) => any(6, device.to_word() as i64),
        Argument::Raw { index, payload } => any(*index, *payload),
        Argument::Runtime(name) => format!("symbol {name}\n"),
        Argument::RawStr(text) => format!("text {}\n", codes(text.as_bytes())),
        Argument::RawBytes(bytes) => format!("bytes {}\n", codes(bytes)),
        Argument::Str(text) => string(11, 65, text.as_bytes()),
        Argument::Bytes(bytes) => string(12, 66, bytes),
        Argument::Small { index, text, length } => small(*index, text, *length),
        Argument::Text { index, text } => format!("string {index} {}\n", codes(text)),
        Argument::Object(index) => format!("object {index} 0\n"),
        Argument::Big(cell) => format!("object 78 {}\n", list(cell)),
        Argument::BigInt(value) => format!("integer {}\n", codes(&value.to_le_bytes())),
        Argument::Registered(classes) => format!("class {}\n", list(classes)),
        Argument::Tensor(tensor) => view(tensor),
        Argument::Shape(extents) => format!("shape {}\n", list(extents)),
        Argument::Array(elements) => sequence(71, elements)?,
        Argument::List(elements) => sequence(75, elements)?,
        Argument::Map(entries) => map("ffi.Map", entries)?,
        Argument::Dict(entries) => map("ffi.Dict", entries)?,
        Argument::RValue(None) => "slot none\n".to_owned(),
        Argument::RValue(Some(object)) => format!("slot some {}", self::argument(object)?),
        Argument::Function => "function\n".to_owned(),
        Argument::Module => "module\n".to_owned(),
        Argument::Error => "error\n".to_owned(),
        Argument::Opaque => "opaque\n".to_owned(),
    })
}

/// Writes items after their number.
fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().fold(items.len().to_string(), |mut text, item| {
        let _ = write!(text, " {item}");
        text
    })
}

fn codes(bytes: &[u8]) -> String {
    list(bytes)
}

/// Writes a small value if the text fits, otherwise an object.
fn string(index: i32, object: i32, text: &[u8]) -> String {
    if text.len() <= 7 {
        small(index, text, text.len() as u32)
    } else {
        format!("string {object} {}\n", codes(text))
    }
}

fn small(index: i32, text: &[u8], length: u32) -> String {
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    format!("any {index} {length} {}\n", i64::from_le_bytes(bytes))
}

fn sequence(index: i32, elements: &[Argument]) -> Option<String> {
    Some(format!("sequence {index} {}\n{}", elements.len(), arguments(elements)?))
}

/// Writes a map. It takes over no object of a slot, and holds no NULL.
fn map(maker: &str, entries: &[(Argument, Argument)]) -> Option<String> {
    let cannot_be = |entry: &Argument| {
        matches!(entry, Argument::RValue(_))
            || matches!(entry, Argument::Raw { index: 64.., payload: 0 })
    };
    let mut text = format!("map {maker} {}\n", entries.len());
    for entry in entries.iter().flat_map(|(key, value)| [key, value]) {
        text += &argument(entry).filter(|_| !cannot_be(entry))?;
    }
    Some(text)
}

fn view(tensor: &Tensor) -> String {
    let dims = |dims: Option<&[i64]>| dims.map_or("null".to_owned(), list);
    let Tensor { dtype, shape, strides, null_shape, device, data, byte_offset, object, .. } =
        tensor;
    let data = data.map_or("null".to_owned(), |at| at.to_string());
    let (shape, strides) = (dims((!null_shape).then_some(shape)), dims(strides.as_deref()));
    let (object, ty, id, ndim) = (u8::from(*object), device.ty.0, device.id, tensor.ndim());
    let (code, bits, lanes) = (dtype.code, dtype.bits, dtype.lanes);
    format!(
        "tensor {object} {code} {bits} {lanes} {ty} {id} {ndim} {byte_offset} {data} {shape} {strides}\n"
    )
}
