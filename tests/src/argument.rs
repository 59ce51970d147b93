//! Arguments as the test table writes them.
//!
//! ```text
//! none  true  -3  0.5  inf  nan            what they are in most languages
//! ptr(16)                                  an opaque pointer
//! runtime(TVMFFIErrorSetRaisedFromCStr)    one to a function of the runtime
//! dtype(float32)  device(cuda:1)
//! "text"  raw("text")                      a string object, or a small one up to 7 bytes; a `const char*`
//! bytes("text")  raw_bytes("text")         likewise
//! object(69)  object(test.Thing)           a live object of a static class, or of a class that is registered
//! any(-1, 0)                               any type index and payload
//! float32[2, 3]                            a `DLTensor*`: compact, strides NULL, on the cpu
//! float32[2]{strides=[3], device=cuda:1, data=null, data=4, offset=8, ndim=-1, shape=null, object}
//! ```
//!
//! `data=4` is an address 4 bytes above a multiple of 256; the default is 0 above. `offset` is `byte_offset`.
//! `object` passes a tensor object.

use std::fmt;

use abi_spec::{DType, Device};

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// No value.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// An opaque pointer.
    Pointer(u64),
    /// An opaque pointer to a function of the runtime.
    Runtime(String),
    /// An element type.
    DType(DType),
    /// A device.
    Device(Device),
    /// A string: small or an object, whichever fits.
    Str(String),
    /// A `const char*`.
    RawStr(String),
    /// Bytes: small or an object, whichever fits.
    Bytes(String),
    /// A `TVMFFIByteArray*`.
    RawBytes(String),
    /// An object of a static class.
    Object(i32),
    /// An object of a class that is registered at run time.
    Registered(String),
    /// Anything.
    Raw {
        /// The type index.
        index: i32,
        /// The payload.
        payload: i64,
    },
    /// A tensor.
    Tensor(Tensor),
}

/// A tensor argument; every field as it is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides in elements; `None` for NULL.
    pub strides: Option<Vec<i64>>,
    /// What is passed as `ndim`, if that is not the number of extents.
    pub ndim: Option<i32>,
    /// The pointer to the extents is NULL.
    pub null_shape: bool,
    /// Device.
    pub device: Device,
    /// Bytes from an aligned address to `data`; `None` for NULL.
    pub data: Option<i64>,
    /// `byte_offset`.
    pub byte_offset: u64,
    /// Passed as a tensor object, not as a `DLTensor*`.
    pub object: bool,
}

impl Tensor {
    /// A compact tensor on the cpu.
    pub fn new(dtype: DType, shape: &[i64]) -> Tensor {
        Tensor {
            dtype,
            shape: shape.to_vec(),
            strides: None,
            ndim: None,
            null_shape: false,
            device: Device::CPU,
            data: Some(0),
            byte_offset: 0,
            object: false,
        }
    }

    /// The strides that NULL stands for.
    pub fn compact_strides(&self) -> Vec<i64> {
        let product = |dims: &[i64]| dims.iter().fold(1_i64, |a, b| a.wrapping_mul(*b));
        (0..self.shape.len()).map(|dim| product(&self.shape[dim + 1..])).collect()
    }

    /// What is passed as `ndim`.
    pub fn ndim(&self) -> i32 {
        self.ndim.unwrap_or(self.shape.len() as i32)
    }
}

/// A parenthesized list of arguments at the start of `text`, and what follows it.
pub fn parse_list(text: &str) -> Result<(Vec<Argument>, &str), String> {
    let mut cursor = Cursor(text);
    let arguments = cursor.list("(", ")", Cursor::argument)?;
    Ok((arguments, cursor.0))
}

/// The rest of the text.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn accept(&mut self, token: &str) -> bool {
        match self.0.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.accept(token) { Ok(()) } else { Err(format!("expected `{token}` at `{}`", self.0)) }
    }

    fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        entry: fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        self.expect(open)?;
        let mut entries = Vec::new();
        if self.accept(close) {
            return Ok(entries);
        }
        loop {
            entries.push(entry(self)?);
            if !self.accept(",") {
                self.expect(close)?;
                return Ok(entries);
            }
        }
    }

    /// Letters, digits and what numbers and names of devices consist of.
    fn word(&mut self) -> &'a str {
        let text = self.0.trim_start();
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_+-.:".contains(c);
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        self.0 = &text[end..];
        &text[..end]
    }

    fn parsed<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.word();
        word.parse().map_err(|_| format!("`{word}` is not a {}", std::any::type_name::<T>()))
    }

    fn quoted(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let (text, rest) = self.0.split_once('"').ok_or("unterminated string")?;
        self.0 = rest;
        Ok(text.to_owned())
    }

    fn argument(&mut self) -> Result<Argument, String> {
        if self.0.trim_start().starts_with('"') {
            return self.quoted().map(Argument::Str);
        }
        let word = self.word();
        if self.0.starts_with('[') {
            let dtype = word.parse().map_err(|_| format!("`{word}` is not a dtype"))?;
            return self.tensor(dtype).map(Argument::Tensor);
        }
        if self.accept("(") {
            let argument = self.call(word)?;
            self.expect(")")?;
            return Ok(argument);
        }
        match word {
            "none" => Ok(Argument::None),
            "true" => Ok(Argument::Bool(true)),
            "false" => Ok(Argument::Bool(false)),
            number => number
                .parse()
                .map(Argument::Int)
                .or_else(|_| number.parse().map(Argument::Float))
                .map_err(|_| format!("`{number}` is not an argument")),
        }
    }

    /// What stands between the parentheses after a word.
    fn call(&mut self, word: &str) -> Result<Argument, String> {
        Ok(match word {
            "ptr" => Argument::Pointer(self.parsed()?),
            "runtime" => Argument::Runtime(self.word().to_owned()),
            "dtype" => Argument::DType(self.parsed()?),
            "device" => Argument::Device(self.parsed()?),
            "raw" => Argument::RawStr(self.quoted()?),
            "bytes" => Argument::Bytes(self.quoted()?),
            "raw_bytes" => Argument::RawBytes(self.quoted()?),
            "object" => {
                let class = self.word();
                class.parse().map_or(Argument::Registered(class.to_owned()), Argument::Object)
            }
            "any" => {
                let index = self.parsed()?;
                self.expect(",")?;
                Argument::Raw { index, payload: self.parsed()? }
            }
            _ => return Err(format!("nothing is called `{word}`")),
        })
    }

    fn tensor(&mut self, dtype: DType) -> Result<Tensor, String> {
        let mut tensor = Tensor::new(dtype, &self.list("[", "]", Cursor::parsed)?);
        if self.0.starts_with('{') {
            for (name, value) in self.list("{", "}", Cursor::option)? {
                tensor.set(name, &value)?;
            }
        }
        Ok(tensor)
    }

    fn option(&mut self) -> Result<(&'a str, Setting), String> {
        let name = self.word();
        if !self.accept("=") {
            return Ok((name, Setting::Flag));
        }
        if self.0.starts_with('[') {
            return Ok((name, Setting::Numbers(self.list("[", "]", Cursor::parsed)?)));
        }
        if self.0.starts_with('(') {
            return Ok((name, Setting::Numbers(self.list("(", ")", Cursor::parsed)?)));
        }
        Ok((name, Setting::Word(self.word().to_owned())))
    }
}

/// The value of an option.
enum Setting {
    Flag,
    Word(String),
    Numbers(Vec<i64>),
}

impl Tensor {
    fn set(&mut self, name: &str, value: &Setting) -> Result<(), String> {
        let number = |word: &str| word.parse::<i64>().map_err(|_| format!("`{word}` for {name}"));
        match (name, value) {
            ("strides", Setting::Numbers(strides)) => self.strides = Some(strides.clone()),
            ("device", Setting::Word(word)) => {
                self.device = word.parse().map_err(|_| format!("`{word}` is not a device"))?;
            }
            ("device", Setting::Numbers(numbers)) => {
                let &[ty, id] = &numbers[..] else {
                    return Err("a device has a type and an index".to_owned());
                };
                self.device = Device { ty: abi_spec::DeviceType(ty as i32), id: id as i32 };
            }
            ("dtype", Setting::Numbers(numbers)) => {
                let &[code, bits, lanes] = &numbers[..] else {
                    return Err("a dtype has a code, bits and lanes".to_owned());
                };
                self.dtype = DType { code: code as u8, bits: bits as u8, lanes: lanes as u16 };
            }
            ("data", Setting::Word(word)) if word == "null" => self.data = None,
            ("data", Setting::Word(word)) => self.data = Some(number(word)?),
            ("offset", Setting::Word(word)) => self.byte_offset = number(word)? as u64,
            ("ndim", Setting::Word(word)) => self.ndim = Some(number(word)? as i32),
            ("shape", Setting::Word(word)) if word == "null" => self.null_shape = true,
            ("object", Setting::Flag) => self.object = true,
            _ => return Err(format!("no option `{name}` of this form")),
        }
        Ok(())
    }
}

/// A list of arguments as the table writes it.
pub fn print_list(arguments: &[Argument]) -> String {
    let texts: Vec<String> = arguments.iter().map(Argument::to_string).collect();
    format!("({})", texts.join(", "))
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::None => f.write_str("none"),
            Argument::Bool(value) => write!(f, "{value}"),
            Argument::Int(value) => write!(f, "{value}"),
            Argument::Float(value) => write!(f, "{value:?}"),
            Argument::Pointer(value) => write!(f, "ptr({value})"),
            Argument::Runtime(name) => write!(f, "runtime({name})"),
            Argument::DType(dtype) => write!(f, "dtype({dtype})"),
            Argument::Device(device) => write!(f, "device({device})"),
            Argument::Str(text) => write!(f, "\"{text}\""),
            Argument::RawStr(text) => write!(f, "raw(\"{text}\")"),
            Argument::Bytes(text) => write!(f, "bytes(\"{text}\")"),
            Argument::RawBytes(text) => write!(f, "raw_bytes(\"{text}\")"),
            Argument::Object(index) => write!(f, "object({index})"),
            Argument::Registered(key) => write!(f, "object({key})"),
            Argument::Raw { index, payload } => write!(f, "any({index}, {payload})"),
            Argument::Tensor(tensor) => tensor.fmt(f),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        let rows = [
            "()",
            "(none, true, -3, 0.5, inf, NaN, ptr(16), runtime(TVMFFIErrorCreate))",
            "(dtype(float32x4), device(cuda:1), \"a, b\", raw(\"\"), bytes(\"x\"), raw_bytes(\"y\"))",
            "(object(69), object(test.Thing), any(-1, -5))",
            "(float32[2, 3], bool[]{data=null}, int8[0]{strides=[-7], device=(2, 1), data=3})",
            "(int8[1]{offset=-8, ndim=-1, shape=null, object}, bool[]{dtype=(99, 8, 1), object})",
        ];
        for row in rows {
            let (arguments, rest) = parse_list(row).unwrap();
            assert_eq!((print_list(&arguments).as_str(), rest), (row, ""));
        }
    }

    #[test]
    fn mistakes_are_reported() {
        for row in
            ["", "(", "(1", "(1 2)", "(what)", "(ptr(x))", "(float32[2]{nothing})", "(f32[2])"]
        {
            assert!(parse_list(row).is_err(), "{row}");
        }
    }
}
