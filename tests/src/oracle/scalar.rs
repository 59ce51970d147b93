//! The checks of scalars.

use abi_spec::Scalar;

use super::{Call, Checked, Found, Number, Place, half, type_name, words};

impl<'a> Call<'a> {
    pub(super) fn scalar(&mut self, place: &Place<'a>, scalar: Scalar) -> Checked<()> {
        let Some(given) = place.given else {
            let zero = if scalar.is_float() { Number::Float(0.0) } else { Number::Int(0) };
            self.note(place, Found::Missing(zero));
            return Ok(());
        };
        let (index, bits) = words(given);
        let last = if scalar.is_float() { 3 } else { 2 };
        let is_number = (1..=last).contains(&index);
        if !(if scalar == Scalar::Ptr { index == 0 || index == 4 } else { is_number }) {
            return Err(place.wrong_type(&type_name(given)));
        }
        if scalar.is_int() && !in_range(bits, scalar) {
            let expected = format!("{scalar} but got {bits}");
            return Err(place.fault("ValueError", "Out of range", "", expected));
        }
        let number = if scalar == Scalar::Ptr {
            Number::Address { null: index == 0 || bits == 0, offset: 0 }
        } else if scalar.is_float() {
            let wide = if index == 3 { f64::from_bits(bits as u64) } else { bits as f64 };
            Number::Float(half::round(wide, scalar))
        } else if scalar == Scalar::Bool {
            Number::Int(i64::from(bits != 0))
        } else {
            Number::Int(bits)
        };
        self.note(place, Found::Number(number));
        let is_symbol = self.symbols.all().any(|name| name == place.path);
        if scalar.is_int() && is_symbol { self.parameter(place, bits) } else { Ok(()) }
    }
}

/// True if an `int64` is a value of an integer type.
pub(super) fn in_range(value: i64, scalar: Scalar) -> bool {
    let value = i128::from(value);
    let values = 1_i128 << scalar.bits();
    let low = if scalar.is_signed() { -values / 2 } else { 0 };
    (low..low + values).contains(&value)
}
