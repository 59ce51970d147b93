//! The map in which `perf` and other profilers look up names of functions that are in no file.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use super::address::FunctionRange;
use crate::error::Error;

/// Appends functions to `/tmp/perf-<process>.map`. Lines of freed code stay; profilers take the last line of an
/// address.
pub(super) fn append(functions: &[FunctionRange]) -> Result<(), Error> {
    let mut lines = String::new();
    for FunctionRange { name, start, size } in functions {
        // The name is the rest of the line after address and size.
        let name = name.replace(['\n', '\r'], " ");
        // Writing into a string does not fail.
        let _ = writeln!(lines, "{start:x} {size:x} {name}");
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    // Other users can write to the folder, so a link there is not followed.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let written = options.open(path).and_then(|mut file| file.write_all(lines.as_bytes()));
    written.map_err(|error| Error::Profile { reason: error.to_string() })
}
