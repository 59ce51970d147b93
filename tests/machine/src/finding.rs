//! What the machine says is wrong.

use std::{error, fmt};

/// Something that no code may do, and where it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub reason: String,
    /// The instruction with the values of its operands, its block and its function; then the callers, the
    /// nearest first.
    pub trace: Vec<String>,
}

impl Finding {
    /// A finding that no function is known for yet.
    pub fn new(reason: impl Into<String>) -> Box<Finding> {
        Box::new(Finding { reason: reason.into(), trace: Vec::new() })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        self.trace.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl error::Error for Finding {}

/// A finding unless something holds.
pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Result<(), Box<Finding>> {
    if holds { Ok(()) } else { Err(Finding::new(reason())) }
}
