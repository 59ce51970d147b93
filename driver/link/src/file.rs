//! Reading of whole files.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use crate::Error;

/// Most bytes that are read of a pipe or device. Regular files have no limit.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// Path of standard input and output.
pub const STANDARD: &str = "-";

/// Bytes at the beginning of a file that are checked before the rest is read.
pub const HEAD: u64 = 4096;

/// Reads a file; `-` is standard input.
///
/// # Errors
/// [`Error::Read`].
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    Ok(read_if(path, |_| true)?.unwrap_or_default())
}

/// Reads a file if `wanted` accepts its beginning; otherwise reads no more of it and returns `None`.
///
/// # Errors
/// [`Error::Read`].
pub fn read_if(path: &Path, wanted: impl FnOnce(&[u8]) -> bool) -> Result<Option<Vec<u8>>, Error> {
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
///
/// # Errors
/// [`Error::Read`].
pub fn regular(path: &Path) -> Result<Option<File>, Error> {
    if path == Path::new(STANDARD) {
        return Ok(None);
    }
    // Devices and pipes are not opened: that may have an effect, or wait for a writer.
    let open = || Ok(if fs::metadata(path)?.is_file() { Some(File::open(path)?) } else { None });
    open().map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// Reads a text file without its byte order mark; returns `None` if it is longer than `max` bytes.
///
/// # Errors
/// [`Error::Read`], also for a file that is not UTF-8.
pub fn text(path: &Path, max: usize) -> Result<Option<String>, Error> {
    let contents = |source: &mut dyn Read, _| {
        let mut bytes = Vec::new();
        source.take((BYTE_ORDER_MARK.len() + max + 1) as u64).read_to_end(&mut bytes)?;
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        if bytes.len() > max {
            return Ok(None);
        }
        String::from_utf8(bytes).map(Some).map_err(|error| not_utf8(&error))
    };
    with(path, contents)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns the error for bytes that are no UTF-8, with the line and the column of the first that does not fit.
fn not_utf8(error: &FromUtf8Error) -> io::Error {
    let (before, after) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
    let before = String::from_utf8_lossy(before);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let byte = after.first().map_or(String::new(), |byte| format!(" {byte:#04x}"));
    let reason = format!("line {line}, column {column}: the byte{byte} is no UTF-8");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

thread_local! {
    /// The files that this thread has read, while somebody asks for them.
    static NOTED: RefCell<Option<Vec<PathBuf>>> = const { RefCell::new(None) };
}

/// Calls a function and returns its result with the files that this thread has read meanwhile, each once, in order.
/// Files name files, as linker scripts and import trees do, so that no caller knows them all. Calls are not nested.
pub fn noted<T>(work: impl FnOnce() -> T) -> (T, Vec<PathBuf>) {
    NOTED.set(Some(Vec::new()));
    let result = work();
    (result, NOTED.take().unwrap_or_default())
}

/// Notes a file, if somebody asks.
fn note(path: &Path) {
    NOTED.with_borrow_mut(|noted| {
        let new = noted.as_mut().filter(|noted| !noted.iter().any(|known| known == path));
        if let Some(noted) = new {
            noted.push(path.to_owned());
        }
    });
}

/// Opens a file and calls `read` with it and its size, which is 0 if unknown.
fn with<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn Read, u64) -> io::Result<T>,
) -> Result<T, Error> {
    let result = if path == Path::new(STANDARD) {
        read(&mut io::stdin().lock(), 0)
    } else {
        note(path);
        File::open(path).and_then(|mut file| {
            let metadata = file.metadata()?;
            read(&mut file, if metadata.is_file() { metadata.len() } else { 0 })
        })
    };
    result.map_err(|source| Error::Read { path: path.to_owned(), source })
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
