//! What becomes of tests that the machine has not all for: they fail in CI, and elsewhere say so.

use std::io::{self, Write};

/// A test, or a part of it, that cannot run since something is missing that `tests/setup` installs.
///
/// # Panics
/// In CI, where nothing may be missing.
pub(crate) fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "there is no {what}; use tests/run");
    left_out(&format!("there is no {what}"));
}

/// Says that a test, or a part of it, does not run, and why. What is printed by `eprintln` the harness would keep to
/// itself, since the test passes.
pub(crate) fn left_out(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    writeln!(io::stderr(), "left out: {test}: {reason}").expect("errors can be written");
}
