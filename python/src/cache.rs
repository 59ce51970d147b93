//! Linked libraries that this process has loaded: equal ones are loaded once if they have no variables.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use driver::Key;
use object::{Object as _, ObjectSection as _, SectionFlags, elf};

/// Sections that the loader alone writes to.
const OF_LOADER: [&str; 4] = [".got", ".got.plt", ".dynamic", ".relro_padding"];

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
