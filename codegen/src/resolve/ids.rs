//! Typed indices of the values, symbols, outputs, locals and tensor maps of a function, and the tables that they index.
//!
//! The crate `cranelift-entity` has such tables too. It is not used, since this crate builds without Cranelift and
//! needs only a few methods.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index.
pub(crate) trait Id: Copy {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub(crate) struct $name(u32);

            impl Id for $name {
                fn new(index: usize) -> Self {
                    $name(index as u32)
                }

                fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )*
    };
}

ids! {
    /// Index of a [value](super::value::Value).
    ValueId;
    /// Index of a [symbol](super::named::Symbol).
    SymbolId;
    /// Index of an [allocated tensor](super::named::Output).
    OutputId;
    /// Index of a [local](super::named::Local).
    LocalId;
    /// Index of a tensor map that has a name.
    MapId;
    /// Index of a [look-up](super::look_up::LookUp).
    LookUpId;
}

/// A vector that one type of index accesses.
#[derive(Clone, PartialEq)]
pub(crate) struct Table<K, T> {
    entries: Vec<T>,
    key: PhantomData<K>,
}

impl<K: Id, T> Table<K, T> {
    /// Builds a table with as many entries as another, all equal.
    pub(crate) fn like<U>(other: &Table<K, U>, entry: T) -> Self
    where
        T: Clone,
    {
        Table { entries: vec![entry; other.len()], key: PhantomData }
    }

    /// Builds an empty table with room for so many entries.
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Table { entries: Vec::with_capacity(entries), key: PhantomData }
    }

    /// Returns the index of the next entry.
    pub(crate) fn next(&self) -> K {
        K::new(self.entries.len())
    }

    /// Appends an entry and returns its index.
    pub(crate) fn push(&mut self, entry: T) -> K {
        self.entries.push(entry);
        K::new(self.entries.len() - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, T> {
        (0..self.entries.len()).map(K::new)
    }

    /// Returns the indices from that of entry number `first` on.
    pub(crate) fn keys_from(&self, first: usize) -> impl Iterator<Item = K> + use<K, T> {
        (first..self.entries.len()).map(K::new)
    }

    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> + ExactSizeIterator {
        self.entries.iter().enumerate().map(|(index, entry)| (K::new(index), entry))
    }

    /// Returns the index of the first entry for which a predicate holds.
    pub(crate) fn find(&self, wanted: impl FnMut(&T) -> bool) -> Option<K> {
        self.entries.iter().position(wanted).map(K::new)
    }
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Table { entries: Vec::new(), key: PhantomData }
    }
}

impl<K: Id, T> FromIterator<T> for Table<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Table { entries: entries.into_iter().collect(), key: PhantomData }
    }
}

impl<K: Id, T> Index<K> for Table<K, T> {
    type Output = T;

    fn index(&self, key: K) -> &T {
        &self.entries[key.index()]
    }
}

impl<K: Id, T> IndexMut<K> for Table<K, T> {
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.entries[key.index()]
    }
}

impl<K, T: fmt::Debug> fmt::Debug for Table<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.fmt(f)
    }
}

/// A tensor whose device an allocation or a launch shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// A value of the function.
    Value(ValueId),
    /// An allocated tensor.
    Output(OutputId),
}
