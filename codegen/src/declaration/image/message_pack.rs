//! A reader of MessagePack, the format of the notes in AMD's code objects. It reads what it is asked for and skips the
//! rest; bytes that are cut or of another format have no values.

/// The bytes from the start of a value on.
#[derive(Clone, Copy)]
pub(super) struct Value<'a>(&'a [u8]);

/// First part of a value: all of it, or the number of values that follow.
enum Head<'a> {
    Integer(u64),
    Text(&'a [u8]),
    Array(usize),
    /// Number of pairs.
    Map(usize),
    /// A value of another type.
    Other,
}

impl<'a> Value<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Value<'a> {
        Value(bytes)
    }

    pub(super) fn integer(self) -> Option<u64> {
        match self.head()?.0 {
            Head::Integer(value) => Some(value),
            Head::Text(_) | Head::Array(_) | Head::Map(_) | Head::Other => None,
        }
    }

    pub(super) fn text(self) -> Option<&'a str> {
        match self.head()?.0 {
            Head::Text(text) => std::str::from_utf8(text).ok(),
            Head::Integer(_) | Head::Array(_) | Head::Map(_) | Head::Other => None,
        }
    }

    /// Returns the values of an array; none of them if one is cut.
    pub(super) fn items(self) -> Option<Vec<Value<'a>>> {
        let (Head::Array(count), mut next) = self.head()? else { return None };
        let mut found = Vec::new();
        for _ in 0..count {
            found.push(next);
            next = next.after()?;
        }
        Some(found)
    }

    /// Returns the value of the first key of a map that is this text.
    pub(super) fn get(self, key: &str) -> Option<Value<'a>> {
        let (Head::Map(count), mut next) = self.head()? else { return None };
        for _ in 0..count {
            let value = next.after()?;
            if next.text() == Some(key) {
                return Some(value);
            }
            next = value.after()?;
        }
        None
    }

    /// Returns what follows the value. Every part of a value has at least one byte, so the loop ends.
    fn after(self) -> Option<Value<'a>> {
        let (mut next, mut parts) = (self, 1_usize);
        while parts > 0 {
            let (head, rest) = next.head()?;
            next = rest;
            let inner = match head {
                Head::Array(count) => count,
                Head::Map(count) => count.saturating_mul(2),
                Head::Integer(_) | Head::Text(_) | Head::Other => 0,
            };
            parts = (parts - 1).saturating_add(inner);
        }
        Some(next)
    }

    /// Reads the head, and returns it with what follows.
    fn head(self) -> Option<(Head<'a>, Value<'a>)> {
        let (&first, rest) = self.0.split_first()?;
        // A number of 2 to the power of `log` bytes.
        let number = |log: u8| {
            let (bytes, rest) = rest.split_at_checked(1 << log)?;
            Some((bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)), rest))
        };
        let length = |log: u8| {
            let (length, rest) = number(log)?;
            Some((usize::try_from(length).ok()?, rest))
        };
        let low = |mask: u8| usize::from(first & mask);
        let text = |(size, rest): (usize, &'a [u8])| {
            let (text, rest) = rest.split_at_checked(size)?;
            Some((Head::Text(text), Value(rest)))
        };
        let skipped =
            |(size, rest): (usize, &'a [u8])| Some((Head::Other, Value(rest.get(size..)?)));
        let (head, rest) = match first {
            0..=0x7f => (Head::Integer(first.into()), rest),
            0x80..=0x8f => (Head::Map(low(0xf)), rest),
            0x90..=0x9f => (Head::Array(low(0xf)), rest),
            0xa0..=0xbf => return text((low(0x1f), rest)),
            // Nil, a byte that no value starts with, false and true; small negative numbers.
            0xc0..=0xc3 | 0xe0..=0xff => (Head::Other, rest),
            // Bytes, and values of an application's own types, which have a byte more.
            0xc4..=0xc6 => return skipped(length(first - 0xc4)?),
            0xc7..=0xc9 => {
                let (size, rest) = length(first - 0xc7)?;
                return skipped((size.checked_add(1)?, rest));
            }
            // Floats, signed numbers, and values of an application's own types.
            0xca | 0xcb => return skipped((4 << (first - 0xca), rest)),
            0xd0..=0xd3 => return skipped((1 << (first - 0xd0), rest)),
            0xd4..=0xd8 => return skipped((1 + (1 << (first - 0xd4)), rest)),
            0xcc..=0xcf => {
                let (value, rest) = number(first - 0xcc)?;
                (Head::Integer(value), rest)
            }
            0xd9..=0xdb => return text(length(first - 0xd9)?),
            0xdc | 0xdd => {
                let (count, rest) = length(first - 0xdc + 1)?;
                (Head::Array(count), rest)
            }
            0xde | 0xdf => {
                let (count, rest) = length(first - 0xde + 1)?;
                (Head::Map(count), rest)
            }
        };
        Some((head, Value(rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    /// Every type of value stands before the key that is looked for.
    #[test]
    fn values_of_every_type_are_skipped() {
        let values: [&[u8]; 24] = [
            b"\x7f",
            b"\x82\x01\x02\x03\x04",
            b"\x92\x90\x91\x00",
            b"\xa2ab",
            b"\xc0",
            b"\xc2",
            b"\xff",
            b"\xc4\x01a",
            b"\xc5\x00\x01a",
            b"\xc7\x01ta",
            b"\xca1234",
            b"\xcb12345678",
            b"\xcc1",
            b"\xcf12345678",
            b"\xd01",
            b"\xd312345678",
            b"\xd4t1",
            b"\xd8t1234567812345678",
            b"\xd9\x01a",
            b"\xdb\x00\x00\x00\x01a",
            b"\xdc\x00\x01\x00",
            b"\xdd\x00\x00\x00\x01\x00",
            b"\xde\x00\x01\x00\x00",
            b"\xdf\x00\x00\x00\x01\x00\x00",
        ];
        for value in values {
            let map = [b"\x82\x00", value, b"\xa1k\xcd\x01\x02"].concat();
            let found = |bytes| Value::new(bytes).get("k").and_then(Value::integer);
            assert_eq!(found(&map), Some(0x102), "{value:?}");
            for end in 0..map.len() {
                assert_eq!(found(&map[..end]), None, "{value:?}");
            }
        }
    }

    #[test]
    fn counts_beyond_the_bytes_have_no_values() {
        let large: [&[u8]; 3] =
            [b"\xdd\xff\xff\xff\xff\x00", b"\xdf\xff\xff\xff\xff\x00\x00", b"\xdb\xff\xff\xff\xff"];
        for bytes in large {
            let value = Value::new(bytes);
            assert!(value.items().is_none() && value.get("k").is_none() && value.text().is_none());
        }
        let deep = vec![0x91; 1 << 20];
        assert!(Value::new(&deep).items().is_none());
    }
}
