//! Rounding to the narrower float types by definition: to the nearest multiple of the unit in the last place. Every
//! step but the rounding is exact in `f64`.

use abi_spec::Scalar;

/// Rounds to the nearest value of a float type, ties to even.
pub(super) fn round(value: f64, scalar: Scalar) -> f64 {
    if scalar == Scalar::Float32 {
        f64::from(value as f32)
    } else if scalar == Scalar::Float16 {
        round_to(value, 10, -14, 65504.0)
    } else if scalar == Scalar::BFloat16 {
        round_to(value, 7, -126, f64::from(f32::from_bits(0x7f7f_0000)))
    } else {
        value
    }
}

fn round_to(value: f64, mantissa: i32, least_exponent: i32, max: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least_exponent);
    let unit = 2.0_f64.powi(exponent - mantissa);
    let rounded = (value / unit).round_ties_even() * unit;
    if rounded.abs() > max { f64::INFINITY.copysign(value) } else { rounded }
}
