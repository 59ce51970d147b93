//! Values that resolving derives from a declaration.

use std::fmt::{self, Formatter};
use std::sync::OnceLock;

/// Values that resolving has derived from a part of a declaration, one after the other. None is ever removed, so that
/// what has been resolved may refer to them as long as to the declaration. They are no part of the declaration: all are
/// equal, and a copy has none.
pub(crate) struct Derived<T>(OnceLock<Box<Found<T>>>);

/// A value, and those that were derived after it: none, unless a declaration was changed and resolved again.
struct Found<T> {
    value: T,
    next: Derived<T>,
}

impl<T: PartialEq> Derived<T> {
    /// Keeps a value. Returns the one that is kept.
    pub(crate) fn keep(&self, value: T) -> &T {
        let (mut at, mut left) = (self, Some(value));
        loop {
            let new = || {
                let value = left.take().unwrap_or_else(|| unreachable!("a value is kept once"));
                Box::new(Found { value, next: Derived::default() })
            };
            let found = at.0.get_or_init(new);
            if left.as_ref().is_none_or(|value| *value == found.value) {
                return &found.value;
            }
            at = &found.next;
        }
    }
}

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Derived(OnceLock::new())
    }
}

impl<T> Drop for Derived<T> {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut found) = next {
            next = found.next.0.take();
        }
    }
}

impl<T> Clone for Derived<T> {
    fn clone(&self) -> Self {
        Derived::default()
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> fmt::Debug for Derived<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Derived")
    }
}
