//! Symbols that a native module refers to and nothing defines.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// A list that the module's look-up of symbols and whoever links it share.
#[derive(Clone, Default)]
pub(super) struct Missing(Arc<Mutex<Vec<String>>>);

impl Missing {
    /// Returns the address of a symbol. The module panics without one, so that a symbol which is not found is noted and
    /// gets an invalid address; [`Missing::check`] then fails, and the code is never used.
    pub(super) fn or_note(&self, name: &str, found: Option<*const u8>) -> *const u8 {
        found.unwrap_or_else(|| {
            lock(&self.0).push(name.to_owned());
            std::ptr::dangling()
        })
    }

    /// Returns an error that names the symbols that were not found, and forgets them.
    pub(super) fn check(&self) -> Result<(), Error> {
        let symbols = std::mem::take(&mut *lock(&self.0));
        if symbols.is_empty() { Ok(()) } else { Err(Error::Undefined { symbols }) }
    }
}

/// Locks a mutex. A thread that panicked has left the value consistent.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
