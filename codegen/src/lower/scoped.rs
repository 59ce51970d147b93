//! Tables of what is known, which return to what they were at an earlier point.

use std::ops::{Index, IndexMut};

use crate::resolve::ids::{Id, Table};

/// A table that remembers what it was since a point was [marked](Scoped::mark). Going back takes as long as there
/// were changes, however large the table is.
#[derive(Debug)]
pub(crate) struct Scoped<K, T> {
    now: Table<K, T>,
    /// What each entry was before it was reached for, while a point is marked.
    before: Vec<(K, T)>,
    /// How many points are marked.
    marks: usize,
}

/// A point to go back to.
#[derive(Debug)]
pub(crate) struct Mark(usize);

impl<K: Id, T: Clone> Scoped<K, T> {
    /// As many copies of an entry as another table has entries.
    pub(crate) fn like<U>(other: &Table<K, U>, entry: T) -> Self {
        Scoped { now: Table::like(other, entry), before: Vec::new(), marks: 0 }
    }

    /// Marks this point.
    pub(crate) fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark(self.before.len())
    }

    /// Goes back to the point that was marked last.
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
