//! Reading whole files, and writing them so that they appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::string::FromUtf8Error;

use crate::Error;

/// The most that is read of a pipe or device, in bytes: 1 GiB. A file is as large as it is.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// The path that stands for standard input and output.
const STANDARD: &str = "-";

/// So much of a file is looked at before the rest is read.
pub(crate) const HEAD: u64 = 4096;

/// The contents of a file; `-` is standard input.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    Ok(read_if(path, |_| true)?.unwrap_or_default())
}

/// The contents of a file if this holds for how it begins; otherwise no more of it is read.
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

/// A file that can be read in any order; `None` for standard input, pipes and devices.
pub(crate) fn regular(path: &Path) -> Result<Option<File>, Error> {
    if path == Path::new(STANDARD) {
        return Ok(None);
    }
    // What is no file is not opened: that may have an effect, and opening a pipe waits for who writes.
    let open = || Ok(if fs::metadata(path)?.is_file() { Some(File::open(path)?) } else { None });
    open().map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// The contents of a text file without the mark that says that it is UTF-8; `None` if it is longer than this.
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

/// Hands on what a file holds, and how many bytes that are likely to be.
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

/// Whether two paths lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(path).ok();
    one != Path::new(STANDARD) && place(one).is_some_and(|one| place(other) == Some(one))
}

/// Reads the rest of what is likely to be so many bytes.
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

/// What a file is for, which decides who may run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Text or an object.
    Data,
    /// A shared library.
    Executable,
}

/// Writes a file by way of a temporary one beside it, so that on failure whatever was there stays.
/// `-` is standard output. A symbolic link is followed; a device or pipe is written to directly.
pub fn write(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), Error> {
    let result = if path == Path::new(STANDARD) {
        print(bytes)
    } else {
        // Where nothing is there yet, or a link points nowhere, the path is used as it is.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&target) {
            Ok(metadata) if !metadata.is_file() => fs::write(&target, bytes),
            Ok(_) | Err(_) => replace(&target, bytes, mode),
        }
    };
    result.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Writes to standard output, which must be there: what is written to a closed one gets lost.
fn print(bytes: &[u8]) -> io::Result<()> {
    if stdout::was_closed() {
        return Err(io::Error::other("standard output is closed"));
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// How the names of files start that are not complete yet.
const TEMPORARY: &str = ".tvm-ffi-codegen-";

fn replace(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    // A missing folder is the likely fault, and tempfile would show a name that nobody knows.
    fs::metadata(folder)?;
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The umask takes its share.
        options.mode(match mode {
            Mode::Data => 0o666,
            Mode::Executable => 0o777,
        });
    }
    #[cfg(not(unix))]
    let _ = mode;
    // What cannot be made is then said without the name of the temporary file.
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(TEMPORARY).make_in(folder, |path| options.open(path))?;
    // Its own would name the temporary file.
    file.as_file_mut().write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
