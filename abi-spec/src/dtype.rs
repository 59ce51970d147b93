//! Element types of tensors.

use std::fmt;
use std::str::FromStr;

use crate::error::canonical_number;
use crate::{ParseError, TypeCode};

/// `DLDataType` of DLPack: any four bytes, known type code or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DType {
    /// A `DLDataTypeCode`.
    pub code: u8,
    /// The bits of one lane.
    pub bits: u8,
    /// The lanes of one element; negative as an `i16` for scalable vectors.
    pub lanes: u16,
}

/// The first number of lanes that means a scalable vector.
const SCALABLE: u16 = 0x8000;

impl DType {
    /// `bool`, one byte.
    pub const BOOL: DType = DType::new(TypeCode::Bool, 8, 1);
    /// `int8`
    pub const INT8: DType = DType::new(TypeCode::Int, 8, 1);
    /// `int16`
    pub const INT16: DType = DType::new(TypeCode::Int, 16, 1);
    /// `int32`
    pub const INT32: DType = DType::new(TypeCode::Int, 32, 1);
    /// `int64`
    pub const INT64: DType = DType::new(TypeCode::Int, 64, 1);
    /// `uint8`
    pub const UINT8: DType = DType::new(TypeCode::UInt, 8, 1);
    /// `uint16`
    pub const UINT16: DType = DType::new(TypeCode::UInt, 16, 1);
    /// `uint32`
    pub const UINT32: DType = DType::new(TypeCode::UInt, 32, 1);
    /// `uint64`
    pub const UINT64: DType = DType::new(TypeCode::UInt, 64, 1);
    /// `float16`
    pub const FLOAT16: DType = DType::new(TypeCode::Float, 16, 1);
    /// `bfloat16`
    pub const BFLOAT16: DType = DType::new(TypeCode::Bfloat, 16, 1);
    /// `float32`
    pub const FLOAT32: DType = DType::new(TypeCode::Float, 32, 1);
    /// `float64`
    pub const FLOAT64: DType = DType::new(TypeCode::Float, 64, 1);
    /// `handle`, a pointer.
    pub const HANDLE: DType = DType::new(TypeCode::Handle, 64, 1);
    /// `void`, the type of no value.
    pub const VOID: DType = DType::new(TypeCode::Handle, 0, 0);

    /// Returns the type of elements of `lanes` lanes of `bits` bits each.
    pub const fn new(code: TypeCode, bits: u8, lanes: u16) -> DType {
        DType { code: code as u8, bits, lanes }
    }

    /// Returns the four bytes of the struct as a little-endian word.
    pub const fn to_word(self) -> u32 {
        self.code as u32 | (self.bits as u32) << 8 | (self.lanes as u32) << 16
    }

    /// Returns the type of a word; the inverse of [`to_word`](DType::to_word).
    pub const fn from_word(word: u32) -> DType {
        DType { code: word as u8, bits: (word >> 8) as u8, lanes: (word >> 16) as u16 }
    }

    /// Returns the type code, if it is a known one.
    pub fn type_code(self) -> Option<TypeCode> {
        TypeCode::from_number(self.code)
    }

    /// Returns the bytes of one lane: its bits rounded up, at least 1. The natural alignment of an element.
    pub const fn lane_bytes(self) -> u32 {
        if self.bits == 0 { 1 } else { (self.bits as u32).div_ceil(8) }
    }
}

/// Prints the runtime's name, with the lanes unless they are 1. Types that the runtime cannot print are `complex<bits>`
/// and `dtype(code, bits, lanes)`; the latter also prints types whose bits differ from those that their name
/// [implies](TypeCode::implied_bits). No two types with different bits print alike.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DType { bits, lanes, .. } = *self;
        if *self == DType::VOID {
            return f.write_str("void");
        }
        let Some(code) = self.type_code().filter(|code| code.names_bits(bits)) else {
            return write!(f, "dtype({}, {bits}, {lanes})", self.code);
        };
        f.write_str(code.name())?;
        if code.implied_bits() != Some(bits) {
            write!(f, "{bits}")?;
        }
        match lanes {
            1 => Ok(()),
            0..SCALABLE => write!(f, "x{lanes}"),
            SCALABLE.. => write!(f, "xvscalex{}", lanes.wrapping_neg()),
        }
    }
}

impl DType {
    /// Returns true if `TVMFFIDataTypeFromString` takes a text for an element type. It knows more than [`FromStr`]
    /// does: `int`, `i32`, `void`, any bits up to 255, scalable vectors, and custom types, which others register; but
    /// no complex numbers. Source: `StringViewToDLDataType_` in `tvm/ffi/dtype.h`.
    pub fn is_named_by(text: &str) -> bool {
        if text.is_empty() || text == "void" || text.starts_with("custom[") {
            return true;
        }
        let (name, lanes) = text.split_once('x').unwrap_or((text, "1"));
        let lanes = lanes.strip_prefix("vscalex").unwrap_or(lanes);
        let has_lanes = lanes.parse::<u16>().is_ok_and(|lanes| lanes > 0);
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let may_have_bits = matches!(
            word,
            "int" | "uint" | "float" | "bfloat" | "bool" | "handle" | "i" | "u" | "f" | "bf"
        );
        let has_bits = may_have_bits && name[word.len()..].parse::<u8>().is_ok();
        let mut codes = TypeCode::ALL.iter().filter(|code| **code != TypeCode::Complex);
        let is_known = codes.any(|code| code.name() == name) || name == "float4_e2m1fn_";
        has_lanes && (has_bits || is_known)
    }
}

/// Parses the output of [`Display`](fmt::Display) for element types that tensors can have: no shorthands (`float`), no
/// `x1`, no scalable vectors, no `void`.
impl FromStr for DType {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<DType, ParseError> {
        parse(text).ok_or_else(|| ParseError::DType(text.into()))
    }
}

fn parse(text: &str) -> Option<DType> {
    for code in TypeCode::ALL {
        let Some(rest) = text.strip_prefix(code.name()) else { continue };
        let (digits, lanes) = match rest.split_once('x') {
            Some((digits, lanes)) => (digits, canonical_number(lanes)?),
            None => (rest, 1),
        };
        let bits = match code.implied_bits() {
            Some(bits) if digits.is_empty() => bits,
            Some(_) => continue,
            None => match canonical_number(digits) {
                Some(bits) if code.accepts_bits(bits) => bits,
                _ => continue,
            },
        };
        let fixed = (1..SCALABLE).contains(&lanes) && !rest.ends_with("x1");
        return fixed.then_some(DType::new(code, bits, lanes));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers are those of version 0.1.15.
    #[test]
    fn names_are_those_that_the_runtime_takes() {
        let taken = "float99 float32 f32 i32 u8 bf16 bfloat float8 int0 int255 uint bool1 handle handle32 handlex2 \
            float32x1 float32x01 float32xvscalex4 int08 int8x40000 boolx4 bool8x2 void float8_e4m3fnx2 float4_e2m1fn \
            float4_e2m1fn_x2 float6_e2m3fn custom[foo]32";
        for text in taken.split_ascii_whitespace().chain([""]) {
            assert!(DType::is_named_by(text), "{text}");
        }
        let refused = "u f i b int256 int+8 float32x0 float8_e4m3fn8 complex64 half double e4m3 float32x float32y \
            int8x65536 x4 voidx2 Float32 float32x-1 fl32 float8_ float64x2x2";
        for text in refused.split_ascii_whitespace().chain(["float32 ", "int 8", "float32\0"]) {
            assert!(!DType::is_named_by(text), "{text}");
        }
        let mut names = TypeCode::ALL.map(TypeCode::name).to_vec();
        names.retain(|name| !DType::is_named_by(name));
        assert_eq!(names, ["complex"]);
    }

    #[test]
    fn every_type_that_parses_round_trips() {
        let mut parsed = 0;
        for code in 0..=20 {
            for bits in 0..=u8::MAX {
                for lanes in [0, 1, 2, 3, 4, 32767, 32768, 65532, 65535] {
                    let dtype = DType { code, bits, lanes };
                    let Ok(back) = dtype.to_string().parse::<DType>() else { continue };
                    assert_eq!(back.to_string(), dtype.to_string());
                    assert_eq!(back.to_string().parse(), Ok(back));
                    parsed += usize::from(back == dtype);
                }
            }
        }
        // 64 int, 64 uint, 3 float, 1 bfloat, 2 complex, 13 with implied bits; 5 kinds of lanes.
        assert_eq!(parsed, (64 + 64 + 3 + 1 + 2 + 13) * 5);
    }

    #[test]
    fn canonical_names() {
        let rows = [
            ("int4", DType::new(TypeCode::Int, 4, 1)),
            ("uint1", DType::new(TypeCode::UInt, 1, 1)),
            ("float32x4", DType::new(TypeCode::Float, 32, 4)),
            ("float8_e4m3fn", DType::new(TypeCode::Float8E4m3fn, 8, 1)),
            ("float8_e4m3b11fnuz", DType::new(TypeCode::Float8E4m3b11fnuz, 8, 1)),
            ("float4_e2m1fnx2", DType::new(TypeCode::Float4E2m1fn, 4, 2)),
            ("bool", DType::BOOL),
            ("bfloat16", DType::BFLOAT16),
            ("complex64", DType::new(TypeCode::Complex, 64, 1)),
            ("handle", DType::HANDLE),
        ];
        for (name, dtype) in rows {
            assert_eq!(name.parse(), Ok(dtype));
            assert_eq!(dtype.to_string(), name);
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        let texts = "float int uint half f32 Float32 FLOAT32 float8 float128 int0 int65 int08 int+8 \
             bool8 boolx bool1 bfloat bfloat32 complex complex32 float32x float32x0 float32x1 \
             float32x04 float32x32768 float32x-2 float32xvscalex4 float32x4x4 float8_e4m3fn8 handle64 \
             void e4m3 float8_e4m3f";
        for text in texts.split_whitespace().chain(["", " float32", "float32 ", "int²"]) {
            assert_eq!(text.parse::<DType>(), Err(ParseError::DType(text.into())));
        }
    }

    #[test]
    fn whatever_arrives_prints() {
        let rows = [
            (DType::VOID, "void"),
            (DType { code: 99, bits: 8, lanes: 1 }, "dtype(99, 8, 1)"),
            (DType { code: 6, bits: 1, lanes: 1 }, "bool1"),
            (DType { code: 10, bits: 4, lanes: 1 }, "dtype(10, 4, 1)"),
            (DType { code: 3, bits: 8, lanes: 1 }, "dtype(3, 8, 1)"),
            (DType { code: 3, bits: 64, lanes: 2 }, "handlex2"),
            (DType { code: 2, bits: 32, lanes: 65532 }, "float32xvscalex4"),
            (DType { code: 2, bits: 32, lanes: 0 }, "float32x0"),
        ];
        for (dtype, text) in rows {
            assert_eq!(dtype.to_string(), text);
        }
    }

    #[test]
    fn words_are_the_little_endian_struct() {
        assert_eq!(DType::FLOAT32.to_word(), 0x0001_2002);
        assert_eq!(DType::BOOL.to_word(), 0x0001_0806);
        for word in [0, 1, 0x0102_0304, u32::MAX] {
            assert_eq!(DType::from_word(word).to_word(), word);
        }
    }

    #[test]
    fn lanes_fill_whole_bytes() {
        let bytes = |bits| DType { code: 0, bits, lanes: 7 }.lane_bytes();
        assert_eq!([0, 1, 8, 9, 64, 255].map(bytes), [1, 1, 1, 2, 8, 32]);
    }
}
