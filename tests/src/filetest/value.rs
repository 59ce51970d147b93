//! Values in the text form of directives.

use std::fmt;

use codegen::ir::Type;

/// A result of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// No result.
    Nothing,
    /// A number or a pointer: its type and bits.
    Bits(Type, u64),
}

impl Value {
    /// Parses a value of a type.
    pub(super) fn parse(ty: Type, text: &str) -> Result<Value, String> {
        let bits = bits(ty, text).ok_or_else(|| format!("`{text}` is no {ty}"))?;
        Ok(Value::Bits(ty, bits))
    }
}

/// Parses a value of a type into its bits.
fn bits(ty: Type, text: &str) -> Option<u64> {
    let width = 8 * ty.bytes();
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        return (bits <= u64::MAX >> (64 - width)).then_some(bits);
    }
    match ty {
        Type::Bool => None,
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => {
            let value: i128 = text.parse().ok()?;
            let fits = value >= -(1 << (width - 1)) && value < 1 << width;
            fits.then_some(value as u64 & u64::MAX >> (64 - width))
        }
        Type::F32 => text.parse::<f32>().ok().map(|value| value.to_bits().into()),
        Type::F64 => text.parse::<f64>().ok().map(f64::to_bits),
        Type::Ptr => (text == "null").then_some(0),
    }
}

/// Compares results. All NaNs are equal, and so are all pointers other than NULL, because each engine has its own
/// memory.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        let is_nan = |ty, bits: u64| match ty {
            Type::F32 => f32::from_bits(bits as u32).is_nan(),
            Type::F64 => f64::from_bits(bits).is_nan(),
            Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Ptr => false,
        };
        match (*self, *other) {
            (Value::Nothing, Value::Nothing) => true,
            (Value::Bits(Type::Ptr, a), Value::Bits(Type::Ptr, b)) => (a == 0) == (b == 0),
            (Value::Bits(ty, a), Value::Bits(other, b)) => {
                ty == other && (a == b || is_nan(ty, a) && is_nan(ty, b))
            }
            (Value::Nothing, Value::Bits(..)) | (Value::Bits(..), Value::Nothing) => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Value::Bits(ty, bits) = *self else { return f.write_str("nothing") };
        match ty {
            Type::Bool | Type::I8 => write!(f, "{}", bits as i8),
            Type::I16 => write!(f, "{}", bits as i16),
            Type::I32 => write!(f, "{}", bits as i32),
            Type::I64 => write!(f, "{}", bits as i64),
            Type::F32 => write!(f, "{:?}", f32::from_bits(bits as u32)),
            Type::F64 => write!(f, "{:?}", f64::from_bits(bits)),
            Type::Ptr => f.write_str(if bits == 0 { "null" } else { "a pointer" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_range_of_its_type() {
        let text = |ty, text: &str| Value::parse(ty, text).map(|value| value.to_string());
        assert_eq!(text(Type::I8, "-128"), Ok("-128".into()));
        assert_eq!(text(Type::I8, "255"), Ok("-1".into()));
        assert_eq!(text(Type::I64, "18446744073709551615"), Ok("-1".into()));
        assert_eq!(text(Type::F32, "0x3fc00000"), Ok("1.5".into()));
        assert_eq!(text(Type::F64, "-inf"), Ok("-inf".into()));
        for (ty, wrong) in [
            (Type::I8, "256"),
            (Type::I8, "-129"),
            (Type::I16, "0x10000"),
            (Type::I64, "1.0"),
            (Type::Ptr, "0"),
            (Type::Bool, "true"),
        ] {
            assert_eq!(text(ty, wrong), Err(format!("`{wrong}` is no {ty}")));
        }
    }

    #[test]
    fn what_is_no_number_is_itself() {
        let parse = |text| Value::parse(Type::F64, text).unwrap();
        assert_eq!(parse("nan"), parse("0xfff8000000000001"));
        assert_ne!(parse("0.0"), parse("-0.0"));
        assert_ne!(parse("nan"), Value::Nothing);
    }
}
