//! Notes of kernels about their arguments, in the form of `notes.h`.

use std::cell::RefCell;

use abi_spec::TypeIndex;
use abi_spec::layout::{byte_array, object};
use machine::runtime::Value;
use machine::{Finding, Machine, Word};

/// Notes of the last kernel.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    text: String,
    /// True if the next entry is the first of its list.
    first: bool,
}

/// Maximal bytes of the notes; the rest is cut off.
const ROOM: usize = 1023;

type Noted = Result<(), Box<Finding>>;

impl Notes {
    /// Clears the notes.
    pub(super) fn begin_anew(&self) {
        *self.0.borrow_mut() = State { text: String::new(), first: true };
    }

    /// Lets a kernel add to the notes of earlier ones.
    pub(super) fn go_on(&self) {
        if self.0.borrow().text.is_empty() {
            self.begin_anew();
        }
    }

    /// Takes the notes since the last call.
    pub(super) fn take(&self) -> String {
        let State { mut text, .. } = self.0.take();
        if text.len() > ROOM {
            text.truncate(text.floor_char_boundary(ROOM));
        }
        text
    }

    /// Adds an entry.
    pub(super) fn put(&self, text: &str) {
        let mut state = self.0.borrow_mut();
        if !std::mem::take(&mut state.first) {
            state.text += ", ";
        }
        state.text += text;
    }

    fn open(&self, name: &str) {
        self.put(&format!("{name}("));
        self.0.borrow_mut().first = true;
    }

    fn close(&self) {
        let mut state = self.0.borrow_mut();
        state.text.push(')');
        state.first = false;
    }

    pub(super) fn int(&self, value: i64) {
        self.put(&value.to_string());
    }

    pub(super) fn float(&self, value: f64) {
        self.put(&shortest(value));
    }

    pub(super) fn pointer(&self, value: Word) {
        self.put(if value.is_null() { "null" } else { "pointer" });
    }

    /// Adds a list of entries in parentheses.
    pub(super) fn list(&self, name: &str, entries: impl FnOnce() -> Noted) -> Noted {
        self.open(name);
        entries()?;
        self.close();
        Ok(())
    }

    pub(super) fn text(&self, machine: &Machine<'_>, data: Word, size: i64) -> Noted {
        if data.is_null() {
            self.put("null");
            return Ok(());
        }
        let bytes = if size > 0 { machine.memory.read(data, size as usize, 1)? } else { &[] };
        self.quoted(bytes);
        Ok(())
    }

    /// Bytes above 127 are not escaped, so that UTF-8 stays UTF-8.
    fn quoted(&self, bytes: &[u8]) {
        let mut text = vec![b'"'];
        for &byte in bytes {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', byte]),
                0..=0x1f | 0x7f | b']' => text.extend(format!("\\x{byte:02x}").bytes()),
                _ => text.push(byte),
            }
        }
        text.push(b'"');
        self.put(&String::from_utf8_lossy(&text));
    }

    fn bytes(&self, bytes: &[u8]) -> Noted {
        self.list("bytes", || {
            self.quoted(bytes);
            Ok(())
        })
    }

    pub(super) fn ints(&self, machine: &Machine<'_>, name: &str, data: Word, size: i64) -> Noted {
        if data.is_null() {
            self.put("null");
            return Ok(());
        }
        self.list(name, || {
            (0..size).try_for_each(|index| {
                self.int(machine.memory.load(data.offset(8 * index), 8, 8)?.as_int());
                Ok(())
            })
        })
    }

    pub(super) fn dtype(&self, word: u64) {
        self.put(&format!("dtype({}, {}, {})", word & 255, word >> 8 & 255, word >> 16 & 0xffff));
    }

    pub(super) fn values(
        &self,
        machine: &Machine<'_>,
        name: &str,
        data: Word,
        count: i64,
    ) -> Noted {
        self.list(name, || {
            let values = machine.memory.load_anys(data, count)?;
            values.into_iter().try_for_each(|value| self.value(machine, value))
        })
    }

    pub(super) fn object(&self, machine: &Machine<'_>, at: Word) -> Noted {
        if at.is_null() {
            self.put("null");
            return Ok(());
        }
        let index = machine.memory.load(at.offset(object::TYPE_INDEX.offset.into()), 4, 4)?;
        let index = index.as_int32();
        let cell = || -> Result<(Word, i64), Box<Finding>> {
            let data = machine.memory.load(at.offset(byte_array::DATA.in_object().into()), 8, 8)?;
            let size = machine.memory.load(at.offset(byte_array::SIZE.in_object().into()), 8, 8)?;
            Ok((data, size.as_int()))
        };
        match TypeIndex(index) {
            TypeIndex::STR => {
                let (data, size) = cell()?;
                self.text(machine, data, size)?;
            }
            TypeIndex::BYTES => {
                let (data, size) = cell()?;
                self.list("bytes", || self.text(machine, data, size))?;
            }
            TypeIndex::SHAPE => {
                let (data, size) = cell()?;
                self.ints(machine, "shape", data, size)?;
            }
            TypeIndex::ARRAY | TypeIndex::LIST => {
                let (data, size) = cell()?;
                let name = if index == TypeIndex::ARRAY.0 { "array" } else { "list" };
                self.values(machine, name, data, size)?;
            }
            TypeIndex(128..) => self.put("object"),
            TypeIndex(_) => self.put(&format!("object({index})")),
        }
        Ok(())
    }

    pub(super) fn value(&self, machine: &Machine<'_>, value: Value) -> Noted {
        let (payload, bytes) = (value.payload, value.payload.bits.to_le_bytes());
        let small = || bytes.get(..value.small as usize).unwrap_or(&bytes);
        match TypeIndex(value.index) {
            TypeIndex::NONE => self.put("none"),
            TypeIndex::INT => self.int(payload.as_int()),
            TypeIndex::BOOL => self.put(if payload.bits == 0 { "false" } else { "true" }),
            TypeIndex::FLOAT => self.float(f64::from_bits(payload.bits)),
            TypeIndex::OPAQUE_PTR => self.put(&format!("ptr({})", payload.as_int())),
            TypeIndex::DATA_TYPE => self.dtype(payload.bits),
            TypeIndex::DEVICE => {
                let (ty, id) = (payload.as_int32(), (payload.bits >> 32) as i32);
                self.put(&format!("device({ty}, {id})"));
            }
            TypeIndex::DL_TENSOR_PTR => self.put("tensor"),
            TypeIndex::RAW_STR => self.quoted(&machine.memory.c_string(payload)?),
            TypeIndex::BYTE_ARRAY_PTR => self.bytes(&machine.byte_array(payload)?)?,
            TypeIndex::OBJECT_RVALUE_REF => self.put("rvalue"),
            TypeIndex::SMALL_STR => self.quoted(small()),
            TypeIndex::SMALL_BYTES => self.bytes(small())?,
            _ if value.is_object() => self.object(machine, payload)?,
            _ => self.put(&format!("any({}, {})", value.index, payload.as_int())),
        }
        Ok(())
    }

    /// Reads the value at an address; NULL is allowed.
    pub(super) fn value_at(&self, machine: &Machine<'_>, at: Word) -> Noted {
        if at.is_null() {
            self.put("null");
            return Ok(());
        }
        self.value(machine, machine.memory.load_any(at)?)
    }
}

/// Prints a float as `%.17g` of C does.
fn shortest(value: f64) -> String {
    const DIGITS: i32 = 17;
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    let exact = format!("{value:.16e}");
    let (digits, exponent) = exact.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("it is a number");
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..DIGITS).contains(&exponent) {
        let precision = (DIGITS - 1 - exponent) as usize;
        return trimmed(&format!("{value:.precision$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::shortest;

    #[test]
    fn floats_are_noted_as_c_prints_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.5, "0.5"),
            (0.1, "0.10000000000000001"),
            (1e300, "1.0000000000000001e+300"),
            (1e-7, "9.9999999999999995e-08"),
            (123456.0, "123456"),
            (1e17, "1e+17"),
            (f64::INFINITY, "inf"),
            (5e-324, "4.9406564584124654e-324"),
        ];
        for (value, text) in cases {
            assert_eq!(shortest(value), text);
        }
    }
}
