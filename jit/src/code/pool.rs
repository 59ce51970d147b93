//! Pages that all compiled libraries of the process share.
//!
//! A *chunk* is one mapping, with a part for code, one for constants and one for variables. Libraries take
//! runs of pages. Pages of code that were handed out keep their protection for ever, so that neighbours stay
//! one mapping of the system however many libraries live and go: it allows 65,530 of them. A few single pages
//! are made writable as they come back, and keep their memory: for the next small library there is nothing to ask
//! the system for.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use region::{Allocation, Protection};

/// The protection of code, constants and variables.
pub(super) const KINDS: [Protection; 3] =
    [Protection::READ_EXECUTE, Protection::READ, Protection::READ_WRITE];

/// Bytes of a part of the first chunk.
const FIRST: usize = 1 << 20;
/// How often the parts of chunks double in size.
const DOUBLINGS: usize = 5;

/// How many single pages of a part may wait.
const WAITING: usize = 16;

/// The pages of the process. Chunks are never unmapped; the memory of most pages that are given back is.
static POOL: Mutex<Pool> = Mutex::new(Pool { chunks: Vec::new() });

struct Pool {
    chunks: Vec<Chunk>,
}

struct Chunk {
    _mapping: Allocation,
    parts: [Part; 3],
}

// SAFETY: the mapping belongs to the pool; nothing is tied to a thread.
unsafe impl Send for Chunk {}

/// The part of a chunk for one kind.
#[derive(Default)]
struct Part {
    /// Never handed out: readable and writable.
    fresh: Range<usize>,
    /// Given back, with the protection of the kind: starts and lengths.
    free: BTreeMap<usize, usize>,
    /// Single pages that were given back: readable and writable.
    waiting: Vec<Range<usize>>,
}

/// A run of pages, readable and writable until it is sealed; given back when it is dropped.
pub(super) struct Pages {
    kind: usize,
    chunk: usize,
    range: Range<usize>,
    sealed: bool,
}

/// Rounds up to whole pages.
pub(super) fn whole_pages(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(region::page::size())
}

/// What is behind the lock is never left half changed.
fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The largest run that the pool hands out.
pub(super) const LARGEST: usize = FIRST / 4;

impl Pages {
    /// Takes a run of whole pages, if it can be near `home`.
    pub(super) fn take(len: usize, kind: usize, home: Option<usize>) -> io::Result<Pages> {
        let mut pool = pool();
        let others = (0..pool.chunks.len()).rev().filter(|index| Some(*index) != home);
        let order: Vec<usize> = home.into_iter().chain(others).collect();
        for chunk in order {
            if let Some(range) = pool.chunks[chunk].parts[kind].take(len, kind)? {
                return Ok(Pages { kind, chunk, range, sealed: false });
            }
        }
        let chunk = pool.grow()?;
        let range = pool.chunks[chunk].parts[kind].take(len, kind)?;
        let range = range.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Pages { kind, chunk, range, sealed: false })
    }

    /// Which chunk they are in.
    pub(super) fn home(&self) -> usize {
        self.chunk
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Gives the pages their protection, and those behind the first `used` bytes back.
    pub(super) fn seal(&mut self, used: usize) -> io::Result<()> {
        protect(&self.range, KINDS[self.kind])?;
        self.sealed = true;
        let end = self.range.start + whole_pages(used).unwrap_or(self.range.len());
        let rest = end..self.range.end;
        if !rest.is_empty() {
            self.range.end = end;
            give(self.chunk, self.kind, rest);
        }
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.range.is_empty() || pool().chunks[self.chunk].parts[self.kind].keep(&self.range) {
            return;
        }
        // Pages of which the protection cannot be set any more are lost.
        if !self.sealed && protect(&self.range, KINDS[self.kind]).is_err() {
            return;
        }
        discard(&self.range);
        give(self.chunk, self.kind, self.range.clone());
    }
}

fn give(chunk: usize, kind: usize, range: Range<usize>) {
    pool().chunks[chunk].parts[kind].give(range);
}

impl Pool {
    /// Maps another chunk.
    fn grow(&mut self) -> io::Result<usize> {
        let part = FIRST << self.chunks.len().min(DOUBLINGS);
        let mapping = region::alloc(3 * part, Protection::READ_WRITE).map_err(io::Error::other)?;
        let start = mapping.as_range().start;
        let parts = [0, 1, 2].map(|index| {
            let start = start + index * part;
            Part { fresh: start..start + part, ..Part::default() }
        });
        self.chunks.push(Chunk { _mapping: mapping, parts });
        Ok(self.chunks.len() - 1)
    }
}

impl Part {
    /// Takes the first run that is large enough, and makes it writable.
    fn take(&mut self, len: usize, kind: usize) -> io::Result<Option<Range<usize>>> {
        if let Some(page) = self.waiting.pop_if(|page| page.len() == len) {
            return Ok(Some(page));
        }
        if let Some((&start, &found)) = self.free.iter().find(|(_, found)| **found >= len) {
            let range = start..start + len;
            if KINDS[kind] != Protection::READ_WRITE {
                protect(&range, Protection::READ_WRITE)?;
            }
            self.free.remove(&start);
            if found > len {
                self.free.insert(range.end, found - len);
            }
            return Ok(Some(range));
        }
        if self.fresh.len() < len {
            return Ok(None);
        }
        let range = self.fresh.start..self.fresh.start + len;
        self.fresh.start = range.end;
        Ok(Some(range))
    }

    /// Keeps a single page for the next who wants one; false if it is to be given back.
    fn keep(&mut self, range: &Range<usize>) -> bool {
        let kept = range.len() == region::page::size()
            && self.waiting.len() < WAITING
            && protect(range, Protection::READ_WRITE).is_ok();
        if kept {
            self.waiting.push(range.clone());
        }
        kept
    }

    /// Takes a run back and joins it with its neighbours.
    fn give(&mut self, mut range: Range<usize>) {
        if let Some((&start, &len)) = self.free.range(..range.start).next_back()
            && start + len == range.start
        {
            self.free.remove(&start);
            range.start = start;
        }
        if let Some(len) = self.free.remove(&range.end) {
            range.end += len;
        }
        self.free.insert(range.start, range.len());
    }
}

fn protect(range: &Range<usize>, protection: Protection) -> io::Result<()> {
    let start = std::ptr::with_exposed_provenance::<u8>(range.start);
    // SAFETY: the pages are of one run, of which the caller disposes; nobody runs or writes them.
    unsafe { region::protect(start, range.len(), protection) }.map_err(io::Error::other)
}

/// Gives the memory of pages back to the system. They read as zeros then, or stay as they are.
fn discard(range: &Range<usize>) {
    #[cfg(target_os = "linux")]
    {
        let start = std::ptr::with_exposed_provenance_mut(range.start);
        // SAFETY: the pages are of one run that nobody uses any more.
        unsafe { libc::madvise(start, range.len(), libc::MADV_DONTNEED) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = range;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_given_back_are_joined() {
        let mut part = Part::default();
        for (range, expected) in [
            (0..10, vec![(0, 10)]),
            (20..30, vec![(0, 10), (20, 10)]),
            (40..50, vec![(0, 10), (20, 10), (40, 10)]),
            (10..20, vec![(0, 30), (40, 10)]),
            (30..40, vec![(0, 50)]),
        ] {
            part.give(range);
            assert_eq!(part.free.clone().into_iter().collect::<Vec<_>>(), expected);
        }
        let kind = 2;
        assert_eq!(part.take(20, kind).unwrap(), Some(0..20));
        assert_eq!(part.take(40, kind).unwrap(), None);
        assert_eq!(part.take(30, kind).unwrap(), Some(20..50));
        assert!(part.free.is_empty());
    }
}
