//! What is wrong with the text of a scalar type, an element type or a device.

use std::error::Error;
use std::fmt;

/// Why a text names nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// No scalar type has this name.
    Scalar(String),
    /// No element type has this canonical name.
    DType(String),
    /// No type of device has this name.
    DeviceType(String),
    /// The text after the colon is not the index of a device.
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

/// Reads a number that has one spelling: ASCII digits, no sign, no leading zero.
pub(crate) fn canonical_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let canonical = text == "0" || (text.starts_with(|c: char| c.is_ascii_digit() && c != '0'));
    if canonical { text.parse().ok() } else { None }
}
