//! Pages that all compiled libraries of the process share.
//!
//! A *chunk* is one mapping, with a *zone* for each kind of memory. Libraries take runs of pages from zones. Pages that
//! come back keep the protection of their zone, so that neighbours stay one mapping of the system however many
//! libraries live and go: Linux allows 65,530 mappings. A few single pages are made writable again as they come back,
//! and keep their memory, so that the next small library needs no system call.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use region::{Allocation, Protection};

/// A kind of memory, and the index of its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Code,
    Constants,
    Variables,
}

impl PageKind {
    pub(super) const ALL: [PageKind; 3] =
        [PageKind::Code, PageKind::Constants, PageKind::Variables];

    /// The protection of pages once they are sealed.
    pub(super) fn protection(self) -> Protection {
        match self {
            PageKind::Code => Protection::READ_EXECUTE,
            PageKind::Constants => Protection::READ,
            PageKind::Variables => Protection::READ_WRITE,
        }
    }
}

/// Size in bytes of each zone of the first chunk.
const FIRST: usize = 1 << 20;
/// Number of further chunks whose zones are twice as large as those of the chunk before. Later chunks do not grow.
const DOUBLINGS: usize = 5;

/// Largest number of single writable pages that a zone keeps.
const WAITING: usize = 16;

/// The pages of the process. Chunks are never unmapped, but most pages that come back return their memory to the
/// system.
static POOL: Mutex<Pool> = Mutex::new(Pool { chunks: Vec::new() });

struct Pool {
    chunks: Vec<Chunk>,
}

struct Chunk {
    _mapping: Allocation,
    /// The zones, indexed by [`PageKind`].
    zones: [Zone; PageKind::ALL.len()],
}

// SAFETY: the mapping belongs to the pool; nothing is tied to a thread.
unsafe impl Send for Chunk {}

/// The pages of one kind in a chunk.
struct Zone {
    kind: PageKind,
    /// Pages that were never handed out: readable and writable.
    fresh: Range<usize>,
    /// Starts and lengths of runs that came back, with the protection of the kind.
    free: BTreeMap<usize, usize>,
    /// Single pages that came back: readable and writable.
    waiting: Vec<Range<usize>>,
}

/// A run of pages, readable and writable until it is sealed; given back when it is dropped.
pub(super) struct Pages {
    kind: PageKind,
    chunk: usize,
    range: Range<usize>,
    sealed: bool,
}

/// Rounds a size up to whole pages; `None` if that overflows.
pub(super) fn whole_pages(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(region::page::size())
}

/// Locks the pool. A thread that panicked has left it consistent.
fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Length in bytes of the largest run that the pool hands out.
pub(super) const LARGEST: usize = FIRST / 4;

impl Pages {
    /// Takes a run of whole pages of `len` bytes, from the chunk `home` if it has room.
    pub(super) fn take(len: usize, kind: PageKind, home: Option<usize>) -> io::Result<Pages> {
        let mut pool = pool();
        let others = (0..pool.chunks.len()).rev().filter(|index| Some(*index) != home);
        let order: Vec<usize> = home.into_iter().chain(others).collect();
        for chunk in order {
            if let Some(range) = pool.zone(chunk, kind).take(len)? {
                return Ok(Pages { kind, chunk, range, sealed: false });
            }
        }
        let chunk = pool.grow()?;
        let range = pool.zone(chunk, kind).take(len)?;
        let range = range.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Pages { kind, chunk, range, sealed: false })
    }

    /// The index of the chunk that the pages belong to.
    pub(super) fn home(&self) -> usize {
        self.chunk
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Takes the pages behind the first `used` bytes away from the run; `None` if there are none.
    pub(super) fn split_off(&mut self, used: usize) -> Option<Pages> {
        let at = self.range.start + whole_pages(used)?;
        let rest = at..self.range.end;
        self.range.end = self.range.end.min(at);
        let Pages { kind, chunk, .. } = *self;
        (!rest.is_empty()).then_some(Pages { kind, chunk, range: rest, sealed: false })
    }

    /// Gives the pages their protection. Those behind the first `used` bytes go back to the pool.
    pub(super) fn seal(&mut self, used: usize) -> io::Result<()> {
        protect(&self.range, self.kind.protection())?;
        self.sealed = true;
        let end = self.range.start + whole_pages(used).unwrap_or(self.range.len());
        let rest = end..self.range.end;
        if !rest.is_empty() {
            self.range.end = end;
            pool().zone(self.chunk, self.kind).give(rest);
        }
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.range.is_empty() || pool().zone(self.chunk, self.kind).hold_ready(&self.range) {
            return;
        }
        // Pages whose protection cannot be set are never used again.
        if !self.sealed && protect(&self.range, self.kind.protection()).is_err() {
            return;
        }
        discard(&self.range);
        pool().zone(self.chunk, self.kind).give(self.range.clone());
    }
}

impl Pool {
    fn zone(&mut self, chunk: usize, kind: PageKind) -> &mut Zone {
        &mut self.chunks[chunk].zones[kind as usize]
    }

    /// Maps another chunk and returns its index.
    fn grow(&mut self) -> io::Result<usize> {
        let size = FIRST << self.chunks.len().min(DOUBLINGS);
        let mapping = region::alloc(3 * size, Protection::READ_WRITE).map_err(io::Error::other)?;
        let start = mapping.as_range().start;
        let zones = PageKind::ALL.map(|kind| {
            let start = start + kind as usize * size;
            Zone { fresh: start..start + size, ..Zone::empty(kind) }
        });
        self.chunks.push(Chunk { _mapping: mapping, zones });
        Ok(self.chunks.len() - 1)
    }
}

impl Zone {
    fn empty(kind: PageKind) -> Zone {
        Zone { kind, fresh: 0..0, free: BTreeMap::new(), waiting: Vec::new() }
    }

    /// Takes the first run that is large enough, and makes it writable. Returns `None` if there is none.
    fn take(&mut self, len: usize) -> io::Result<Option<Range<usize>>> {
        if let Some(page) = self.waiting.pop_if(|page| page.len() == len) {
            return Ok(Some(page));
        }
        if let Some((&start, &found)) = self.free.iter().find(|(_, found)| **found >= len) {
            let range = start..start + len;
            if self.kind.protection() != Protection::READ_WRITE {
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

    /// Keeps a single page writable for the next library. Returns false for other runs, and where enough pages wait.
    fn hold_ready(&mut self, range: &Range<usize>) -> bool {
        let is_held = range.len() == region::page::size()
            && self.waiting.len() < WAITING
            && protect(range, Protection::READ_WRITE).is_ok();
        if is_held {
            self.waiting.push(range.clone());
        }
        is_held
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
    // SAFETY: the pages belong to one run, which is the caller's; nobody runs or writes them.
    unsafe { region::protect(start, range.len(), protection) }.map_err(io::Error::other)
}

/// Gives the memory of pages back to the system. Their contents are zeros afterwards, or as before.
fn discard(range: &Range<usize>) {
    #[cfg(target_os = "linux")]
    {
        let start = std::ptr::with_exposed_provenance_mut(range.start);
        // SAFETY: the pages belong to one run that nobody uses any more.
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
        let mut zone = Zone::empty(PageKind::Variables);
        for (range, expected) in [
            (0..10, vec![(0, 10)]),
            (20..30, vec![(0, 10), (20, 10)]),
            (40..50, vec![(0, 10), (20, 10), (40, 10)]),
            (10..20, vec![(0, 30), (40, 10)]),
            (30..40, vec![(0, 50)]),
        ] {
            zone.give(range);
            assert_eq!(zone.free.clone().into_iter().collect::<Vec<_>>(), expected);
        }
        assert_eq!(zone.take(20).unwrap(), Some(0..20));
        assert_eq!(zone.take(40).unwrap(), None);
        assert_eq!(zone.take(30).unwrap(), Some(20..50));
        assert!(zone.free.is_empty());
    }
}
