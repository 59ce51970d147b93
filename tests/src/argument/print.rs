//! Printer of arguments, in the form that the parser reads.

use std::fmt;

use abi_spec::{DType, Device};

use super::{Argument, Tensor};

/// Prints a list of arguments as the test table writes it.
pub fn print_list(arguments: &[Argument]) -> String {
    format!("({})", Entries(arguments))
}

/// Entries, separated by commas.
struct Entries<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Entries<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            entry.fmt(f)?;
        }
        Ok(())
    }
}

/// A key and its value.
struct Entry<'a>(&'a (Argument, Argument));

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry((key, value)) = self;
        write!(f, "{key}: {value}")
    }
}

/// A text in quotation marks.
struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for chunk in self.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    '"' | '\\' => write!(f, "\\{char}")?,
                    '\n' => f.write_str("\\n")?,
                    _ if char.is_ascii_control() => write!(f, "\\x{:02x}", char as u32)?,
                    _ => write!(f, "{char}")?,
                }
            }
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        f.write_str("\"")
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::None => f.write_str("none"),
            Argument::Bool(value) => write!(f, "{value}"),
            Argument::Int(value) => write!(f, "{value}"),
            Argument::BigInt(value) => write!(f, "{value}"),
            Argument::Big(cell) => write!(f, "big({})", Entries(cell)),
            Argument::Float(value) => write!(f, "{value:?}"),
            Argument::Pointer(value) => write!(f, "ptr({value})"),
            Argument::Runtime(name) => write!(f, "runtime({name})"),
            Argument::DType(dtype) => write!(f, "dtype({dtype})"),
            Argument::Device(device) => write!(f, "device({device})"),
            Argument::Str(text) => Quoted(text.as_bytes()).fmt(f),
            Argument::RawStr(text) => write!(f, "raw({})", Quoted(text.as_bytes())),
            Argument::Bytes(text) => write!(f, "bytes({})", Quoted(text)),
            Argument::RawBytes(text) => write!(f, "raw_bytes({})", Quoted(text)),
            Argument::Small { index, text, length } if *length as usize == text.len() => {
                write!(f, "small({index}, {})", Quoted(text))
            }
            Argument::Small { index, text, length } => {
                write!(f, "small({index}, {}, {length})", Quoted(text))
            }
            Argument::Text { index, text } => write!(f, "object({index}, {})", Quoted(text)),
            Argument::Object(index) => write!(f, "object({index})"),
            Argument::Registered(classes) => write!(f, "object({})", classes.join(" < ")),
            Argument::Raw { index, payload } => write!(f, "any({index}, {payload})"),
            Argument::Tensor(tensor) => tensor.fmt(f),
            Argument::Shape(extents) => write!(f, "shape({})", Entries(extents)),
            Argument::Array(entries) => write!(f, "array({})", Entries(entries)),
            Argument::List(entries) => write!(f, "list({})", Entries(entries)),
            Argument::Map(entries) => write!(f, "map({})", Entries(&pairs(entries))),
            Argument::Dict(entries) => write!(f, "dict({})", Entries(&pairs(entries))),
            Argument::Function => f.write_str("function"),
            Argument::Module => f.write_str("module"),
            Argument::Error => f.write_str("error"),
            Argument::Opaque => f.write_str("opaque"),
            Argument::RValue(None) => f.write_str("rvalue(null)"),
            Argument::RValue(Some(object)) => write!(f, "rvalue({object})"),
        }
    }
}

fn pairs(entries: &[(Argument, Argument)]) -> Vec<Entry<'_>> {
    entries.iter().map(Entry).collect()
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = Vec::new();
        match self.dtype.to_string().parse::<DType>() {
            Ok(_) => write!(f, "{}", self.dtype)?,
            Err(_) => {
                let DType { code, bits, lanes } = self.dtype;
                f.write_str("bool")?;
                options.push(format!("dtype=({code}, {bits}, {lanes})"));
            }
        }
        write!(f, "{:?}", self.shape)?;
        if let Some(strides) = &self.strides {
            options.push(format!("strides={strides:?}"));
        }
        if self.device != Device::CPU {
            options.push(format!("device=({}, {})", self.device.ty.0, self.device.id));
        }
        match self.data {
            None => options.push("data=null".to_owned()),
            Some(0) => {}
            Some(at) => options.push(format!("data={at}")),
        }
        if self.byte_offset != 0 {
            options.push(format!("offset={}", self.byte_offset as i64));
        }
        if let Some(ndim) = self.ndim {
            options.push(format!("ndim={ndim}"));
        }
        if self.null_shape {
            options.push("shape=null".to_owned());
        }
        if self.object {
            options.push("object".to_owned());
        }
        if options.is_empty() { Ok(()) } else { write!(f, "{{{}}}", options.join(", ")) }
    }
}
