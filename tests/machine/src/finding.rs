//! Findings: violations that end a run.

use std::{error, fmt};

/// A violation and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Reason in words.
    pub reason: String,
    /// Instruction with its operands' values, block and function; then the callers, innermost first.
    pub trace: Vec<String>,
}

impl Finding {
    /// Creates a finding without a place.
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

/// Returns a finding unless a condition holds.
pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Result<(), Box<Finding>> {
    if holds { Ok(()) } else { Err(Finding::new(reason())) }
}
