//! Tables of the GNU C library that libraries are linked for, so that they do not depend on the one of this machine:
//! the names of its symbols and of those of libgcc_s, by library and version.
//!
//! `glibc/make.py` writes the tables and says where the facts come from. A line that begins with a blank lists names.
//! The line before such lines has the library, and the version in which linkers take the names from it; or else
//! [`ABSENT`], and the version that is the first to have them, or the archive in which compilers find them.

use codegen::backend::Machine;

use super::machine::facts;

/// The version of the library, which is that of the platform `manylinux_2_28`.
pub(crate) const STATED: &str = "2.28";

/// Stands for the library of names that no library has in this version.
const ABSENT: &str = "absent";

/// The table of one architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table(&'static str);

/// Names of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The file of their library; `None` for names that no library has in this version.
    pub(super) file: Option<&'static str>,
    /// The version; an archive for names that are in no library.
    pub(super) version: &'static str,
    /// The names, with blanks in between.
    pub(super) names: &'static str,
}

impl Table {
    /// Returns the table for a machine.
    pub(super) fn of(machine: Machine) -> Table {
        Table(facts(machine).glibc)
    }

    /// Returns the groups, each library's together. Those of names that are absent are the last.
    pub(super) fn groups(self) -> impl Iterator<Item = Group> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (title, after) = rest.split_once('\n')?;
            let (file, version) = title.split_once(' ')?;
            let end = after.match_indices('\n').find(|(at, _)| !after[at + 1..].starts_with(' '));
            let (names, next) = after.split_at(end.map_or(after.len(), |(at, _)| at + 1));
            rest = next;
            Some(Group { file: (file != ABSENT).then_some(file), version, names })
        })
    }

    /// Returns the files of the libraries, those that most kernels need first.
    pub(super) fn files(self) -> Vec<&'static str> {
        let mut files: Vec<&str> = self.groups().filter_map(|group| group.file).collect();
        files.dedup();
        files
    }

    /// Returns whether the library of `-l name`, which may be `:FILE`, is in the table.
    pub(super) fn has_library(self, name: &str) -> bool {
        let named = |file: &'static str| file.strip_prefix("lib")?.split_once(".so.");
        let is_library = |file: &'static str| match name.strip_prefix(':') {
            Some(wanted) => file == wanted,
            None => named(file).is_some_and(|(known, _)| known == name),
        };
        self.files().into_iter().any(is_library)
    }
}
