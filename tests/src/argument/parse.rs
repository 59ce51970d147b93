//! Parser of arguments.

use abi_spec::{DType, Device, DeviceType};

use super::{Argument, Tensor};

/// Parses a parenthesized list of arguments at the start of `text`; returns the rest of the text too.
pub fn parse_list(text: &str) -> Result<(Vec<Argument>, &str), String> {
    let mut cursor = Cursor(text);
    let arguments = cursor.list("(", ")", Cursor::argument)?;
    Ok((arguments, cursor.0))
}

/// The text that has not been parsed.
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
        self.rest_of_list(close, entry)
    }

    fn rest_of_list<T>(
        &mut self,
        close: &str,
        entry: fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
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

    /// Reads letters, digits and the punctuation of numbers and names of devices; a colon counts only in the middle.
    fn word(&mut self) -> &'a str {
        let text = self.0.trim_start();
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_+-.:".contains(c);
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let word = text[..end].trim_end_matches(':');
        self.0 = &text[word.len()..];
        word
    }

    fn parsed<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.word();
        word.parse().map_err(|_| format!("`{word}` is not a {}", std::any::type_name::<T>()))
    }

    /// Reads the bytes between quotation marks.
    fn quoted(&mut self) -> Result<Vec<u8>, String> {
        self.expect("\"")?;
        let mut text = Vec::new();
        loop {
            let mut chars = self.0.chars();
            let first = chars.next().ok_or("unterminated string")?;
            self.0 = chars.as_str();
            match first {
                '"' => return Ok(text),
                '\\' => text.push(self.escaped()?),
                other => text.extend(other.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    /// Reads the rest of an escape sequence after its backslash.
    fn escaped(&mut self) -> Result<u8, String> {
        let digits = |text: &str| u8::from_str_radix(text.get(1..3)?, 16).ok();
        let (byte, length) = match self.0.as_bytes().first() {
            Some(b'n') => (b'\n', 1),
            Some(mark @ (b'"' | b'\\')) => (*mark, 1),
            Some(b'x') => (digits(self.0).ok_or("`\\x` takes two digits")?, 3),
            _ => return Err(format!("nothing is written `\\` at `{}`", self.0)),
        };
        self.0 = &self.0[length..];
        Ok(byte)
    }

    fn string(&mut self) -> Result<String, String> {
        String::from_utf8(self.quoted()?).map_err(|error| error.to_string())
    }

    fn argument(&mut self) -> Result<Argument, String> {
        if self.0.trim_start().starts_with('"') {
            return self.string().map(Argument::Str);
        }
        let word = self.word();
        if self.0.starts_with('[') {
            let dtype = word.parse().map_err(|_| format!("`{word}` is not a dtype"))?;
            return self.tensor(dtype).map(Argument::Tensor);
        }
        if self.accept("(") {
            return match self.sequence(word) {
                Some(argument) => argument,
                None => {
                    let argument = self.call(word)?;
                    self.expect(")")?;
                    Ok(argument)
                }
            };
        }
        match word {
            "none" => Ok(Argument::None),
            "true" => Ok(Argument::Bool(true)),
            "false" => Ok(Argument::Bool(false)),
            "function" => Ok(Argument::Function),
            "module" => Ok(Argument::Module),
            "error" => Ok(Argument::Error),
            "opaque" => Ok(Argument::Opaque),
            number => number
                .parse()
                .map(Argument::Int)
                .or_else(|_| number.parse().map(Argument::BigInt))
                .or_else(|_| number.parse().map(Argument::Float))
                .map_err(|_| format!("`{number}` is not an argument")),
        }
    }

    /// Reads the entries of an argument with a variable number of them, up to the closing parenthesis.
    fn sequence(&mut self, word: &str) -> Option<Result<Argument, String>> {
        Some(match word {
            "big" => self.rest_of_list(")", Cursor::parsed).map(Argument::Big),
            "shape" => self.rest_of_list(")", Cursor::parsed).map(Argument::Shape),
            "array" => self.rest_of_list(")", Cursor::argument).map(Argument::Array),
            "list" => self.rest_of_list(")", Cursor::argument).map(Argument::List),
            "map" => self.rest_of_list(")", Cursor::entry).map(Argument::Map),
            "dict" => self.rest_of_list(")", Cursor::entry).map(Argument::Dict),
            _ => return None,
        })
    }

    fn entry(&mut self) -> Result<(Argument, Argument), String> {
        let key = self.argument()?;
        self.expect(":")?;
        Ok((key, self.argument()?))
    }

    /// Reads the text in parentheses after a word.
    fn call(&mut self, word: &str) -> Result<Argument, String> {
        Ok(match word {
            "ptr" => Argument::Pointer(self.parsed()?),
            "runtime" => Argument::Runtime(self.word().to_owned()),
            "dtype" => Argument::DType(self.parsed()?),
            "device" => Argument::Device(self.parsed()?),
            "raw" => Argument::RawStr(self.string()?),
            "bytes" => Argument::Bytes(self.quoted()?),
            "raw_bytes" => Argument::RawBytes(self.quoted()?),
            "small" => self.small()?,
            "object" => self.object()?,
            "rvalue" if self.accept("null") => Argument::RValue(None),
            "rvalue" => Argument::RValue(Some(Box::new(self.argument()?))),
            "any" => {
                let index = self.parsed()?;
                self.expect(",")?;
                Argument::Raw { index, payload: self.parsed()? }
            }
            _ => return Err(format!("nothing is called `{word}`")),
        })
    }

    fn small(&mut self) -> Result<Argument, String> {
        let index = self.parsed()?;
        self.expect(",")?;
        let text = self.quoted()?;
        if text.len() > 8 {
            return Err("a small text has at most eight bytes".to_owned());
        }
        let length = if self.accept(",") { self.parsed()? } else { text.len() as u32 };
        Ok(Argument::Small { index, text, length })
    }

    fn object(&mut self) -> Result<Argument, String> {
        let class = self.word();
        let Ok(index) = class.parse() else {
            let mut classes = vec![class.to_owned()];
            while self.accept("<") {
                classes.push(self.word().to_owned());
            }
            return Ok(Argument::Registered(classes));
        };
        let has_text = self.accept(",");
        Ok(if has_text {
            Argument::Text { index, text: self.quoted()? }
        } else {
            Argument::Object(index)
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

/// A value of an option of a tensor.
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
                self.device = Device { ty: DeviceType(ty as i32), id: id as i32 };
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
