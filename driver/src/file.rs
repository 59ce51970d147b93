//! Reading of whole files, and atomic writing.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::string::FromUtf8Error;

use crate::Error;

/// Most bytes that are read of a pipe or device. Regular files have no limit.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// Path of standard input and output.
const STANDARD: &str = "-";

/// Bytes at the beginning of a file that are checked before the rest is read.
pub(crate) const HEAD: u64 = 4096;

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    Ok(read_if(path, |_| true)?.unwrap_or_default())
}

/// Reads a file if `wanted` accepts its beginning; otherwise reads no more of it and returns `None`.
pub(crate) fn read_if(
    path: &Path,
    wanted: impl FnOnce(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, Error> {
    let contents = |source: &mut dyn Read, expected| {
        let mut bytes = Vec::new();
        source.take(HEAD).read_to_end(&mut bytes)?;
        if !wanted(&bytes) {
            return Ok(None);
        }
        read_all(source, expected, &mut bytes)?;
        Ok(Some(bytes))
    };
    with(path, contents)
}

/// Opens a file that can be read in any order; returns `None` for standard input, pipes and devices.
pub(crate) fn regular(path: &Path) -> Result<Option<File>, Error> {
    if path == Path::new(STANDARD) {
        return Ok(None);
    }
    // Devices and pipes are not opened: that may have an effect, or wait for a writer.
    let open = || Ok(if fs::metadata(path)?.is_file() { Some(File::open(path)?) } else { None });
    open().map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// Reads a text file without its byte order mark; returns `None` if it is longer than `max` bytes.
pub(crate) fn text(path: &Path, max: usize) -> Result<Option<String>, Error> {
    let contents = |source: &mut dyn Read, _| {
        let mut bytes = Vec::new();
        source.take((BYTE_ORDER_MARK.len() + max + 1) as u64).read_to_end(&mut bytes)?;
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        if bytes.len() > max {
            return Ok(None);
        }
        let fault =
            |error: FromUtf8Error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        String::from_utf8(bytes).map(Some).map_err(fault)
    };
    with(path, contents)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Opens a file and calls `read` with it and its size, which is 0 if unknown.
fn with<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn Read, u64) -> io::Result<T>,
) -> Result<T, Error> {
    let result = if path == Path::new(STANDARD) {
        read(&mut io::stdin().lock(), 0)
    } else {
        File::open(path).and_then(|mut file| {
            let metadata = file.metadata()?;
            read(&mut file, if metadata.is_file() { metadata.len() } else { 0 })
        })
    };
    result.map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// Returns whether two paths lead to the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(path).ok();
    one != Path::new(STANDARD) && place(one).is_some_and(|one| place(other) == Some(one))
}

/// Reads the rest of a file of an expected size.
fn read_all(source: &mut dyn Read, expected: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let max = MAX_FILE_BYTES.max(expected);
    let room = usize::try_from(expected).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(room.saturating_sub(bytes.len()))?;
    source.take(max + 1 - bytes.len() as u64).read_to_end(bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("larger than {max} bytes")));
    }
    Ok(())
}

/// Kind of an output file, which decides about the permission to execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Text or an object.
    Data,
    /// A shared library.
    Executable,
}

/// Writes a temporary file and renames it: on failure an old file stays, and processes keep what they have mapped of it.
/// Permissions of an old file to read, write and execute stay. Other hard links of it keep the old contents. `-` is
/// standard output. A symbolic link is followed; a device or pipe is written to directly.
pub fn write(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), Error> {
    let result = if path == Path::new(STANDARD) {
        print(bytes)
    } else {
        // A new file, or a dangling link, keeps its path.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&target) {
            Ok(metadata) if !metadata.is_file() => fs::write(&target, bytes),
            Ok(_) | Err(_) => replace(&target, bytes, mode),
        }
    };
    result.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Writes to standard output. A closed one is an error, because the output would be lost.
fn print(bytes: &[u8]) -> io::Result<()> {
    if crate::stdout::was_closed() {
        return Err(io::Error::other("standard output is closed"));
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Prefix of temporary files.
const TEMPORARY: &str = ".tvm-ffi-codegen-";

fn replace(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    // Without this check a missing folder would be reported with the name of the temporary file.
    fs::metadata(folder)?;
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    let old = {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        // The bits without setuid and setgid, since the owner may become another.
        let old = fs::metadata(path).ok().map(|old| old.permissions().mode() & 0o777);
        // The umask clears bits of these.
        options.mode(old.unwrap_or(match mode {
            Mode::Data => 0o666,
            Mode::Executable => 0o777,
        }));
        old
    };
    #[cfg(not(unix))]
    let _ = mode;
    // Errors must not name the temporary file, so the error of `open` is returned as it is.
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(TEMPORARY).make_in(folder, |path| options.open(path))?;
    // `write_all` of the temporary file would name it in errors; that of the file does not.
    file.as_file_mut().write_all(bytes)?;
    #[cfg(unix)]
    if let Some(old) = old {
        use std::os::unix::fs::PermissionsExt;
        // Some file systems have no permissions to set.
        if file.as_file().metadata()?.permissions().mode() & 0o777 != old {
            file.as_file().set_permissions(fs::Permissions::from_mode(old))?;
        }
    }
    file.persist(path).map(drop).map_err(|error| error.error)
}
