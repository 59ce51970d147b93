//! Tests that need tools that the machine lacks: they fail in CI, and elsewhere print that they are left out.

use std::io::{self, Write};

/// Prints that the test, or a part of it, does not run without a tool that `tests/setup` installs.
///
/// # Panics
/// In CI, where nothing may be missing.
pub(crate) fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "there is no {what}; use tests/run");
    left_out(&format!("there is no {what}"));
}

/// Prints why the test, or a part of it, does not run. The harness hides the output of `eprintln` in tests that pass,
/// so this writes to standard error itself.
pub(crate) fn left_out(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    writeln!(io::stderr(), "left out: {test}: {reason}").expect("errors can be written");
}
