//! The command line as a program.

#![forbid(unsafe_code)]

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use tvm_ffi_codegen_driver::command;

fn main() -> ExitCode {
    // Handled, the signal no longer ends the process: a file that grows too large becomes an error of `write`.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)),
    );
    let mut words = env::args_os();
    let started = words.next();
    let program = env::current_exe().map_or_else(|_| started.unwrap_or_default(), OsString::from);
    let arguments: Vec<OsString> = words.collect();
    command::run(&[program], &arguments).into()
}
