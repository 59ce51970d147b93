//! Checks of scalars.

use abi_spec::Scalar;

use super::{Call, Checked, Found, Number, Received, half, type_name, words};
use crate::argument::Argument;

impl<'a> Call<'a> {
    pub(super) fn scalar(&mut self, received: &Received<'a>, scalar: Scalar) -> Checked<()> {
        let Some(given) = received.given else {
            let zero = if scalar.is_float() { Number::Float(0.0) } else { Number::int(0, scalar) };
            self.note(received, Found::Missing(zero));
            return Ok(());
        };
        if let Argument::BigInt(value) = given
            && (scalar.is_int() || scalar == Scalar::Ptr)
        {
            return self.big_int(received, scalar, *value);
        }
        let (index, bits) = words(given);
        let last = if scalar.is_float() { 3 } else { 2 };
        let is_number = (1..=last).contains(&index);
        if !(if scalar == Scalar::Ptr { index == 0 || index == 4 } else { is_number }) {
            return Err(received.wrong_type(&type_name(given)));
        }
        if scalar.is_int() && !in_range(bits.into(), scalar) {
            let expected = format!("{scalar} but got {bits}");
            return Err(received.fault("ValueError", "Out of range", "", expected));
        }
        let number = if scalar == Scalar::Ptr {
            Number::Address { null: index == 0 || bits == 0, offset: 0 }
        } else if scalar.is_float() {
            let wide = if index == 3 { f64::from_bits(bits as u64) } else { bits as f64 };
            Number::Float(half::round(wide, scalar))
        } else if scalar == Scalar::Bool {
            Number::Int(i64::from(bits != 0))
        } else {
            Number::int(bits, scalar)
        };
        self.note(received, Found::Number(number));
        let is_symbol = self.symbols.all().any(|name| name == received.path);
        if scalar.is_int() && is_symbol { self.parameter(received, bits) } else { Ok(()) }
    }
}

impl<'a> Call<'a> {
    /// Checks an integer that does not fit `int64`.
    fn big_int(&mut self, received: &Received<'a>, scalar: Scalar, value: i128) -> Checked<()> {
        let symbol = self.symbols.measures(&received.path);
        let number = match (u64::try_from(value), scalar) {
            (Ok(_), Scalar::Ptr) => Number::Address { null: false, offset: 0 },
            (Ok(value), Scalar::Uint64) if !symbol => Number::Unsigned(value),
            _ => {
                let within = if symbol && scalar == Scalar::Uint64 { " within int64" } else { "" };
                let expected = format!("{scalar}{within} but got {value}");
                return Err(received.fault("ValueError", "Out of range", "", expected));
            }
        };
        self.note(received, Found::Number(number));
        if let Number::Unsigned(value) = number
            && self.symbols.all().any(|name| name == received.path)
        {
            return self.parameter(received, value.cast_signed());
        }
        Ok(())
    }
}

/// Returns true if an integer is a value of an integer type.
pub(super) fn in_range(value: i128, scalar: Scalar) -> bool {
    let values = 1_i128 << scalar.bits();
    let low = if scalar.is_signed() { -values / 2 } else { 0 };
    (low..low + values).contains(&value)
}
