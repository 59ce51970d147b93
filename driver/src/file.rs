//! Reading of whole files, and atomic writing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

pub use link::file::MAX_FILE_BYTES;
pub(crate) use link::file::{HEAD, read_if, regular, text};

use link::file::STANDARD;

use crate::Error;

/// Reads a file; `-` is standard input.
///
/// # Errors
/// [`link::Error::Read`].
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    Ok(link::file::read(path)?)
}

/// Returns whether two paths lead to the same file, or will once it is written.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let new = |path: &Path| {
        let folder = |path: &Path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()
        };
        // A link to a file that is not there yet leads to it as soon as the other path has made it.
        let target =
            folder(path)?.join(fs::read_link(path).ok().unwrap_or(path.file_name()?.into()));
        Some(folder(&target)?.join(target.file_name()?))
    };
    let place = |path: &Path| fs::canonicalize(path).ok().or_else(|| new(path));
    one != Path::new(STANDARD) && place(one).is_some_and(|one| place(other) == Some(one))
}

/// Kind of an output file, which decides about the permission to execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Text or an object.
    Data,
    /// A shared library.
    Executable,
}

/// Writes a temporary file and renames it: on failure an old file stays, and processes keep what they have mapped of
/// it. Permissions of an old file to read, write and execute stay. Other hard links of it keep the old contents. `-` is
/// standard output. A symbolic link is followed; a device or pipe is written to directly.
///
/// Nine tenths of the time that replacing a file takes on ext4 are the file system's, which begins to write the
/// contents out so that a crash of the machine leaves one of the two files, and not an empty one. A file without a name
/// (`O_TMPFILE`) that gets one takes longer than a rename where there is no old file, and cannot replace one.
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
