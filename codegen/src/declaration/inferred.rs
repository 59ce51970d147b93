//! Types of results that a declaration does not write.

use std::fmt::{self, Formatter};
use std::sync::OnceLock;

use super::ParamType;

/// Types that resolving has found for a result whose type is not written, one after the other. None is ever removed, so
/// that what has been resolved may refer to them as long as to the declaration. It is no part of the declaration: all are
/// equal, and a copy has none.
#[derive(Default)]
pub(crate) struct Inferred(OnceLock<Box<Found>>);

/// A type, and those that were found after it: none, unless a declaration was changed and resolved again.
struct Found {
    ty: ParamType,
    next: Inferred,
}

impl Inferred {
    /// Keeps a type. Returns the one that is kept.
    pub(crate) fn keep(&self, ty: ParamType) -> &ParamType {
        let mut at = self;
        loop {
            let new = || Box::new(Found { ty: ty.clone(), next: Inferred::default() });
            let found = at.0.get_or_init(new);
            if found.ty == ty {
                return &found.ty;
            }
            at = &found.next;
        }
    }
}

impl Drop for Inferred {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut found) = next {
            next = found.next.0.take();
        }
    }
}

impl Clone for Inferred {
    fn clone(&self) -> Inferred {
        Inferred::default()
    }
}

impl PartialEq for Inferred {
    fn eq(&self, _: &Inferred) -> bool {
        true
    }
}

impl fmt::Debug for Inferred {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Inferred")
    }
}
