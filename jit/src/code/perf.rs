//! The file in which `perf` and other profilers look for names of code that no file has.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use super::address::FunctionRange;
use crate::error::Error;

/// Appends functions to `/tmp/perf-<process>.map`. Lines of code that is freed stay: later ones of the same
/// addresses win.
pub(super) fn append(functions: &[FunctionRange]) -> Result<(), Error> {
    let mut lines = String::new();
    for FunctionRange { name, start, size } in functions {
        // A line is an address, a size and the rest of the line.
        let name = name.replace(['\n', '\r'], " ");
        // Writing into a string does not fail.
        let _ = writeln!(lines, "{start:x} {size:x} {name}");
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    // Others may write to the folder: a link that they left there is not followed.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let written = options.open(path).and_then(|mut file| file.write_all(lines.as_bytes()));
    written.map_err(|error| Error::Profile { reason: error.to_string() })
}
