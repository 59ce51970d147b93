//! Files to inspect, read only as far as needed: a file may be large, or claim to be.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use link::object_file;
use object::{ReadCache, ReadRef};

use super::{Inspection, find_tree, look};
use crate::file;
use crate::{Error, ObjectFault};

/// An open file that begins like one that [`inspect`](super::inspect()) knows. It must not change meanwhile.
#[derive(Debug)]
pub struct Contents(Source);

#[derive(Debug)]
enum Source {
    File(ReadCache<File>),
    /// Contents of a pipe or device, which can be read only once.
    Bytes(Vec<u8>),
}

/// Opens a file; `-` is standard input. If [`inspect`](super::inspect()) does not know such files, only the beginning
/// is read.
///
/// # Errors
/// [`link::Error::Read`], and [`link::Error::Object`] for another file.
pub fn open(path: &Path) -> Result<Contents, Error> {
    let unknown = || link::Error::Object {
        file: path.display().to_string(),
        fault: ObjectFault::Unrecognized,
    };
    let Some(mut opened) = file::regular(path)? else {
        let bytes = file::read_if(path, object_file::begins)?.ok_or_else(unknown)?;
        return Ok(Contents(Source::Bytes(bytes)));
    };
    let mut head = Vec::new();
    let read = opened.by_ref().take(file::HEAD).read_to_end(&mut head);
    read.map_err(|source| link::Error::Read { path: path.to_owned(), source })?;
    if !object_file::begins(&head) {
        return Err(unknown().into());
    }
    Ok(Contents(Source::File(ReadCache::new(opened))))
}

impl Contents {
    /// Inspects the file, like [`inspect`](super::inspect()).
    ///
    /// # Errors
    /// The errors of [`inspect`](super::inspect()).
    pub fn inspect(&self) -> Result<Inspection, ObjectFault> {
        look(&self.0)
    }

    /// Finds the import tree, like [`library_bin`](super::library_bin()).
    ///
    /// # Errors
    /// The errors of [`inspect`](super::inspect()).
    pub fn library_bin(&self) -> Result<Option<&[u8]>, ObjectFault> {
        find_tree(&self.0)
    }
}

impl<'a> ReadRef<'a> for &'a Source {
    fn len(self) -> Result<u64, ()> {
        match self {
            Source::File(file) => file.len(),
            Source::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        match self {
            Source::File(file) => file.read_bytes_at(offset, size),
            Source::Bytes(bytes) => bytes.as_slice().read_bytes_at(offset, size),
        }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        match self {
            Source::File(file) => file
                .read_bytes_at_until(range.clone(), delimiter)
                .or_else(|()| long_name(file, range, delimiter)),
            Source::Bytes(bytes) => bytes.as_slice().read_bytes_at_until(range, delimiter),
        }
    }
}

/// Longest name that the cache itself reads, in bytes, with which [`long_name`] begins.
const WINDOW: u64 = 4096;

/// Reads a name in windows that grow until one has its end.
fn long_name(file: &ReadCache<File>, range: Range<u64>, delimiter: u8) -> Result<&[u8], ()> {
    let most = range.end.checked_sub(range.start).ok_or(())?;
    let mut size = WINDOW;
    while size < most {
        size = size.saturating_mul(8).min(most);
        let window = file.read_bytes_at(range.start, size)?;
        if let Some(end) = window.iter().position(|&byte| byte == delimiter) {
            return Ok(&window[..end]);
        }
    }
    Err(())
}
