//! Memory for code and data. Pages of code are writable first and executable later, never both.
//!
//! Each [`Compiled`](crate::Compiled) owns a few runs of pages from a pool that all of them share. Pieces larger than a
//! run are mappings of their own.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::{ModuleError, ModuleResult};
use region::{Allocation, Protection};

use super::pool::{LARGEST, PageKind, Pages, whole_pages};

/// Largest distance in bytes between pieces of memory: code reaches data and other code by signed 32-bit offsets.
const REACH: usize = i32::MAX as usize;

/// All memory of one JIT module. It goes back to the pool and the system with the last handle.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Mutex<Areas>>);

#[derive(Default)]
struct Areas {
    /// Areas with free space, by [`PageKind`].
    open: [Option<Area>; PageKind::ALL.len()],
    /// Areas that were full, or have been sealed.
    full: Vec<Area>,
    /// The chunk of the pool that the first run came from.
    home: Option<usize>,
    /// True for memory that keeps the free pages of its areas when it is sealed, and allocates from them later.
    is_lasting: bool,
}

/// Pages of one kind.
struct Area {
    kind: PageKind,
    store: Store,
    /// Addresses that are not allocated yet.
    free: Range<usize>,
    sealed: bool,
}

/// The owner of the pages of an area.
enum Store {
    /// A run of the pool.
    Pages(Pages),
    /// A mapping larger than the runs of the pool.
    Mapping(Allocation),
}

// SAFETY: a mapping belongs to its area and is not tied to a thread.
unsafe impl Send for Store {}

impl Memory {
    pub(crate) fn new() -> Memory {
        Memory(Arc::new(Mutex::new(Areas::default())))
    }

    /// Makes memory for a module that is finalized many times. It takes the largest runs of the pool at once, in one
    /// place: what is allocated later would be wherever there is room then, maybe out of [`REACH`].
    pub(crate) fn lasting() -> io::Result<Memory> {
        let mut areas = Areas { is_lasting: true, ..Areas::default() };
        for kind in PageKind::ALL {
            areas.grow(LARGEST, kind)?;
        }
        Ok(Memory(Arc::new(Mutex::new(areas))))
    }

    /// Size of all areas in bytes.
    pub(crate) fn size(&self) -> usize {
        self.with(|areas| areas.all().map(|area| area.range().len()).sum())
    }

    /// The address ranges of code that has been sealed, in the order of sealing.
    pub(crate) fn code(&self) -> Vec<Range<usize>> {
        self.with(|areas| {
            let code = areas.full.iter().filter(|area| matches!(area.kind, PageKind::Code));
            code.map(Area::range).collect()
        })
    }

    /// Calls `f` with the areas. A thread that panicked has left them consistent.
    fn with<T>(&self, f: impl FnOnce(&mut Areas) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Areas {
    fn all(&self) -> impl Iterator<Item = &Area> {
        self.open.iter().flatten().chain(&self.full)
    }

    fn allocate(&mut self, size: usize, align: usize, kind: PageKind) -> io::Result<usize> {
        let open = self.open[kind as usize].as_mut();
        if let Some(start) = open.and_then(|area| area.take(size, align)) {
            return Ok(start);
        }
        self.grow(size.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?, kind)?;
        let area = self.open[kind as usize].as_mut().ok_or(io::ErrorKind::OutOfMemory)?;
        area.take(size, align).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Opens another area of a kind: for at least `size` bytes, and twice as large as the one before, up to `LARGEST`.
    fn grow(&mut self, size: usize, kind: PageKind) -> io::Result<()> {
        let doubled = 2 * self.open[kind as usize].as_ref().map_or(0, |area| area.range().len());
        let len = whole_pages(size.max(doubled.min(LARGEST))).ok_or(io::ErrorKind::OutOfMemory)?;
        let store = if len <= LARGEST {
            let pages = Pages::take(len, kind, self.home)?;
            self.home.get_or_insert(pages.home());
            Store::Pages(pages)
        } else {
            let mapping = region::alloc(len, Protection::READ_WRITE);
            Store::Mapping(mapping.map_err(io::Error::other)?)
        };
        let mut area = Area { kind, store, free: 0..0, sealed: false };
        area.free = area.range();
        self.full.extend(self.open[kind as usize].replace(area));
        self.check_reach()
    }

    /// Returns an error if areas are further apart than [`REACH`].
    fn check_reach(&self) -> io::Result<()> {
        let ranges = || self.all().map(Area::range);
        let low = ranges().map(|range| range.start).min().unwrap_or(0);
        let high = ranges().map(|range| range.end).max().unwrap_or(0);
        if high - low > REACH {
            return Err(io::Error::other("memory is more than 2 GiB apart"));
        }
        Ok(())
    }

    /// Closes all areas and gives them their final protection. Free pages of lasting memory stay open.
    fn seal(&mut self) -> io::Result<()> {
        for open in &mut self.open {
            let is_closed = |area: &mut Area| !self.is_lasting || area.free != area.range();
            let Some(mut area) = open.take_if(is_closed) else { continue };
            *open = if self.is_lasting { area.split_off() } else { None };
            self.full.push(area);
        }
        for area in self.full.iter_mut().filter(|area| !area.sealed) {
            area.seal()?;
        }
        wasmtime_jit_icache_coherence::pipeline_flush_mt().map_err(io::Error::other)
    }
}

impl Area {
    fn range(&self) -> Range<usize> {
        match &self.store {
            Store::Pages(pages) => pages.range(),
            Store::Mapping(mapping) => mapping.as_range(),
        }
    }

    fn take(&mut self, size: usize, align: usize) -> Option<usize> {
        let start = self.free.start.checked_next_multiple_of(align)?;
        let end = start.checked_add(size).filter(|end| *end <= self.free.end)?;
        self.free.start = end;
        Some(start)
    }

    /// Takes the free pages away from the area; `None` if there are none.
    fn split_off(&mut self) -> Option<Area> {
        let used = self.free.start - self.range().start;
        let Store::Pages(pages) = &mut self.store else { return None };
        let rest = pages.split_off(used)?;
        self.free.end = self.range().end;
        let (kind, free) = (self.kind, rest.range());
        Some(Area { kind, store: Store::Pages(rest), free, sealed: false })
    }

    fn seal(&mut self) -> io::Result<()> {
        let range = self.range();
        let used = self.free.start - range.start;
        let start = std::ptr::with_exposed_provenance::<u8>(range.start);
        // SAFETY: the range is mapped and readable, and has just been written as data.
        unsafe { wasmtime_jit_icache_coherence::clear_cache(start.cast(), used) }
            .map_err(io::Error::other)?;
        match &mut self.store {
            Store::Pages(pages) => pages.seal(used)?,
            Store::Mapping(_) => {
                let protection = self.kind.protection();
                // SAFETY: the pages are this area's, and nobody writes to them any more: the module is being
                // finalized, and later allocations get other pages.
                let protected = unsafe { region::protect(start, range.len(), protection) };
                protected.map_err(io::Error::other)?;
            }
        }
        self.sealed = true;
        Ok(())
    }
}

impl JITMemoryProvider for Memory {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let kind = match kind {
            JITMemoryKind::Executable => PageKind::Code,
            JITMemoryKind::ReadOnly => PageKind::Constants,
            JITMemoryKind::Writable => PageKind::Variables,
        };
        let align = usize::try_from(align).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let start = self.with(|areas| areas.allocate(size, align, kind))?;
        Ok(std::ptr::with_exposed_provenance_mut(start))
    }

    /// Does nothing: the last handle frees the memory.
    unsafe fn free_memory(&mut self) {}

    fn finalize(&mut self, _: BranchProtection) -> ModuleResult<()> {
        self.with(Areas::seal).map_err(|err| ModuleError::Allocation { err })
    }
}
