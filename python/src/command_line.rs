//! `command_line`: the program `tvm-ffi-codegen`, inside another process.

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};

use driver::command;
use jit::Returned;

use crate::fault::Fault;

/// Exit code of a Rust program that panics.
const PANICKED: i64 = 101;

/// Runs the command line. Arguments are bytes, as the system passes them.
pub(crate) fn run(program: &Returned, arguments: &Returned) -> Result<i64, Fault> {
    let (program, arguments) = (words(program)?, words(arguments)?);
    Ok(command::run(&program, &arguments).into())
}

/// Returns the exit code of a run. A panic, which has printed its message, becomes an exit code too.
pub(crate) fn exit_code(run: impl FnOnce() -> Result<i64, Fault>) -> i64 {
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(code)) => code,
        Ok(Err(fault)) => {
            eprintln!("error: {}", fault.message);
            1
        }
        Err(_) => PANICKED,
    }
}

fn words(array: &Returned) -> Result<Vec<OsString>, Fault> {
    let word = |word: Returned| Ok(os_string(word.bytes().map_err(Fault::ty)?.to_vec()));
    array.array().map_err(Fault::ty)?.iter().map(word).collect()
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}
