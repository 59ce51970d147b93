//! The map in which `perf` and other profilers look up names of functions that are in no file.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};

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
    let written = open(&path).and_then(|mut file| file.write_all(lines.as_bytes()));
    written.map_err(|error| Error::Profile { reason: error.to_string() })
}

/// Opens the map, which may exist. Other users can write to the folder, so that a link is not followed, nobody waits
/// for the reader of a pipe, and a file is refused that is not this user's alone.
#[cfg(unix)]
fn open(path: &str) -> io::Result<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().create(true).append(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    // SAFETY: the function has no conditions.
    let own = found.uid() == unsafe { libc::geteuid() };
    if found.is_file() && own && found.nlink() == 1 {
        return Ok(file);
    }
    Err(io::Error::other(format!("{path} is no file of this user alone")))
}

#[cfg(not(unix))]
fn open(path: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
