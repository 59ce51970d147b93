//! Tests that register global functions, in processes of their own: the runtime's table of functions has no lock.

use std::io::{self, Write};
use std::process::Command;
use std::{env, thread};

/// The environment variable that tells a process that no other test runs in it.
const ALONE: &str = "TVM_FFI_CODEGEN_TEST_ALONE";

/// Runs a test, the one that calls this, when no other test runs: in another process if this one has several threads.
pub(crate) fn alone(test: impl FnOnce()) {
    let thread = thread::current();
    // The harness names threads after tests, and runs tests on the main thread if it may have one thread only.
    let name = thread.name().filter(|&name| name != "main" && env::var_os(ALONE).is_none());
    let Some(name) = name else { return test() };
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args(["--exact", name]).env(ALONE, "1").output().unwrap();
    io::stderr().write_all(&output.stderr).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
