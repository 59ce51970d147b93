//! `command_line`: what the program `tvm-ffi-codegen` does, in a process of somebody else.

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};

use driver::command_line;
use jit::Returned;

use crate::fault::Fault;

/// The exit code of a program that panics, as Rust has it.
const PANICKED: i64 = 101;

/// Runs it with arguments as the system has them.
pub(crate) fn run(program: &Returned, arguments: &Returned) -> Result<i64, Fault> {
    let (program, arguments) = (words(program)?, words(arguments)?);
    Ok(command_line::run(&program, &arguments).into())
}

/// The exit code of a run. A panic goes no further; what it says is printed already.
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
