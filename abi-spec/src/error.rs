//! The error of parsing scalar types, element types and devices.

use std::error::Error;
use std::fmt;

/// The error of a text that names no type or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text names no scalar type.
    Scalar(String),
    /// The text is no canonical name of an element type.
    DType(String),
    /// The text names no device type.
    DeviceType(String),
    /// The text after the colon is no device index.
    DeviceId(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Scalar(text) => write!(f, "unknown scalar type `{text}`"),
            ParseError::DType(text) => write!(f, "unknown dtype `{text}`"),
            ParseError::DeviceType(text) => write!(f, "unknown device `{text}`"),
            ParseError::DeviceId(text) => {
                write!(f, "expected a device index from 0 to {}, found `{text}`", i32::MAX)
            }
        }
    }
}

impl Error for ParseError {}

/// Parses a number in its only spelling: ASCII digits, no sign, no leading zero.
pub(crate) fn canonical_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let canonical = text == "0" || (text.starts_with(|c: char| c.is_ascii_digit() && c != '0'));
    if canonical { text.parse().ok() } else { None }
}
