//! A table that can be restored to an earlier state.

use std::ops::{Index, IndexMut};

use crate::resolve::ids::{Id, Table};

/// A table that logs the entries that change after a [mark](Scoped::mark). Restoring takes time in proportion to the
/// changes, not to the size of the table.
#[derive(Debug)]
pub(crate) struct Scoped<K, T> {
    now: Table<K, T>,
    /// The log: keys and old entries of the changes since the first mark, in order.
    before: Vec<(K, T)>,
    /// Number of marks.
    marks: usize,
}

/// A state to restore, as the length of the log at the mark.
#[derive(Debug)]
pub(crate) struct Mark(usize);

impl<K: Id, T: Clone> Scoped<K, T> {
    /// Returns a table of copies of an entry, with the length of another table.
    pub(crate) fn like<U>(other: &Table<K, U>, entry: T) -> Self {
        Scoped { now: Table::like(other, entry), before: Vec::new(), marks: 0 }
    }

    /// Marks the current state.
    pub(crate) fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark(self.before.len())
    }

    /// Restores the state of the last mark.
    pub(crate) fn go_back(&mut self, Mark(length): Mark) {
        self.marks -= 1;
        for (key, entry) in self.before.drain(length..).rev() {
            self.now[key] = entry;
        }
    }
}

impl<K: Id, T> Index<K> for Scoped<K, T> {
    type Output = T;

    fn index(&self, key: K) -> &T {
        &self.now[key]
    }
}

impl<K: Id, T: Clone> IndexMut<K> for Scoped<K, T> {
    fn index_mut(&mut self, key: K) -> &mut T {
        if self.marks > 0 {
            self.before.push((key, self.now[key].clone()));
        }
        &mut self.now[key]
    }
}
