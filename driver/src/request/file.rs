//! Files of a request: those of options, and kernels in a language of the backend.

use std::path::PathBuf;

use codegen::backend;
use link::Input;

use crate::{Error, file};

/// A file: its path, or its contents in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum File {
    /// A path; `-` is standard input.
    Path(PathBuf),
    /// Contents.
    Bytes {
        /// The name for messages.
        name: String,
        /// The contents.
        bytes: Vec<u8>,
    },
}

impl File {
    /// Returns the path; of contents the name for messages.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            File::Path(path) => path.clone(),
            File::Bytes { name, .. } => name.into(),
        }
    }

    /// Returns the contents.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Error> {
        match self {
            File::Path(path) => file::read(path),
            File::Bytes { bytes, .. } => Ok(bytes.clone()),
        }
    }

    /// Returns the input of a backend; `None` for a file that is not in memory.
    pub(crate) fn input(&self) -> Option<backend::Input<'_>> {
        match self {
            File::Path(_) => None,
            File::Bytes { name, bytes } => Some(backend::Input { name, bytes, exports: &[] }),
        }
    }

    /// Returns the file with its contents in memory, under the name that it has.
    pub(super) fn loaded(self) -> Result<File, Error> {
        let bytes = self.read()?;
        Ok(File::Bytes { name: self.path().display().to_string(), bytes })
    }

    /// Returns the function that checks the contents of a file to link.
    pub(super) fn maker(&self) -> fn(String, Vec<u8>) -> Result<Input, link::Error> {
        match self {
            File::Path(_) => Input::new,
            File::Bytes { .. } => Input::without_path,
        }
    }

    /// Returns name and contents of a file to link; of files that are certainly none only the beginning is read.
    pub(super) fn into_linkable(self) -> Result<(String, Vec<u8>), Error> {
        match self {
            File::Path(path) => Ok((path.display().to_string(), link::read(&path)?)),
            File::Bytes { name, bytes } => Ok((name, bytes)),
        }
    }
}

impl TryFrom<File> for Input {
    type Error = Error;

    fn try_from(file: File) -> Result<Input, Error> {
        let make = file.maker();
        let (name, bytes) = file.into_linkable()?;
        Ok(make(name, bytes)?)
    }
}

/// A kernel in a language of the backend: LLVM IR, as text or bitcode, or MLIR's LLVM dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name for messages: that of the file.
    pub name: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

impl Source {
    /// Returns the input of a backend. `exports` are names of definitions that other modules see.
    pub(crate) fn input<'a>(&'a self, exports: &'a [String]) -> backend::Input<'a> {
        backend::Input { name: &self.name, bytes: &self.bytes, exports }
    }
}
