//! Linked libraries by what they are made of: equal ones are linked once per folder, and loaded once per process if they
//! have no variables.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use codegen::ir;
use driver::Request;
use object::{Object as _, ObjectSection as _, SectionFlags, elf};

use crate::fault::Fault;

/// Sections that the loader alone writes to.
const OF_LOADER: [&str; 4] = [".got", ".got.plt", ".dynamic", ".relro_padding"];

/// Number of bytes of a digest.
const DIGEST: usize = blake3::OUT_LEN;

/// Name of a library: the digest of all that decides about its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(String);

impl Key {
    /// Computes the key of what a request links with a module.
    pub(crate) fn of(request: &Request, module: &ir::Module) -> Key {
        let mut digest = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            digest.update(&part.len().to_le_bytes());
            digest.update(part);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(request.target.to_string().as_bytes());
        add(module.to_string().as_bytes());
        request.rpath.iter().for_each(|folder| add(folder.as_bytes()));
        // The library records the names of shared libraries.
        request
            .kernels
            .iter()
            .flat_map(|input| [input.name().as_bytes(), input.bytes()])
            .for_each(add);
        Key(digest.finalize().to_hex().to_string())
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0).with_extension("so")
    }

    /// Returns true if a folder has a file for the library.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        self.path(folder).exists()
    }

    /// Reads the library from a folder. `None` if it is not there, or damaged.
    fn read(&self, folder: &Path) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(folder)).ok()?;
        let digest = bytes.split_off(bytes.len().checked_sub(DIGEST)?);
        (blake3::hash(&bytes).as_bytes()[..] == digest[..]).then_some(bytes)
    }

    /// Writes the library to a folder, which is made if it is not there. The file is there in one step. Its digest follows
    /// the library, where no loader looks.
    fn write(&self, folder: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.write_all(blake3::hash(bytes).as_bytes())?;
        file.persist(self.path(folder)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Returns the library of a folder; makes it, and puts it there, if it is not there. Without a folder makes it.
    pub(crate) fn linked(
        &self,
        folder: Option<&Path>,
        make: impl FnOnce() -> Result<Vec<u8>, Fault>,
    ) -> Result<Vec<u8>, Fault> {
        let Some(folder) = folder else { return make() };
        if let Some(bytes) = self.read(folder) {
            return Ok(bytes);
        }
        let bytes = make()?;
        self.write(folder, &bytes).map_err(Fault::file)?;
        Ok(bytes)
    }
}

/// Values of libraries that this process has loaded.
pub(crate) struct Loaded<T>(Mutex<Option<HashMap<Key, T>>>);

impl<T: Clone> Loaded<T> {
    pub(crate) const fn new() -> Loaded<T> {
        Loaded(Mutex::new(None))
    }

    pub(crate) fn get(&self, key: &Key) -> Option<T> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.as_ref()?.get(key).cloned()
    }

    /// Keeps the value of a library, if that has no variables: nobody can tell that it is loaded once.
    pub(crate) fn keep(&self, key: Key, library: &[u8], value: &T) {
        if !has_variables(library) {
            let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            table.get_or_insert_default().insert(key, value.clone());
        }
    }
}

/// Returns true if code may write to a library, or runs when it is loaded, and for files that are no ELF.
fn has_variables(library: &[u8]) -> bool {
    let Ok(file) = object::File::parse(library) else { return true };
    file.sections().any(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return true };
        let is_written = sh_flags & elf::SHF_WRITE == elf::SHF_WRITE;
        let name = section.name().unwrap_or_default();
        let is_of_loader = OF_LOADER.contains(&name) || name.starts_with(".data.rel.ro");
        is_written && section.size() > 0 && !is_of_loader
    })
}
