//! Memory for code: written first, then executable and read-only, never both.
//!
//! The memory of one [`Compiled`](crate::Compiled) is one mapping as long as it is small, which costs
//! a fraction of the system calls of Cranelift's own providers. Further mappings double in size.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::{ModuleError, ModuleResult};
use region::{Allocation, Protection};

/// Areas are multiples of this, or of the page size where that is larger.
const UNIT: usize = 16 << 10;
/// Code reaches its data and other code by 32-bit offsets.
const REACH: usize = i32::MAX as usize;

/// All memory of one JIT module; unmapped when the last handle goes.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Mutex<Mappings>>);

struct Mappings {
    /// Owns the memory.
    allocations: Vec<Allocation>,
    /// Areas with free space, for code, constants and variables.
    open: [Area; 3],
    /// Areas that were full before they were sealed.
    full: Vec<Area>,
}

/// Part of a mapping, of whole pages.
struct Area {
    kind: Protection,
    /// What is free.
    memory: Range<*mut u8>,
    /// Where the part starts that is written and not sealed yet.
    unsealed: *mut u8,
}

// SAFETY: the pointers are into the mappings that `Mappings` owns; nothing is tied to a thread.
unsafe impl Send for Mappings {}

impl Memory {
    pub(crate) fn new() -> Memory {
        let kinds = [Protection::READ_EXECUTE, Protection::READ, Protection::READ_WRITE];
        let open = kinds.map(|kind| Area::new(kind, std::ptr::null_mut()..std::ptr::null_mut()));
        Memory(Arc::new(Mutex::new(Mappings { allocations: Vec::new(), open, full: Vec::new() })))
    }

    /// How much is mapped, in bytes.
    pub(crate) fn mapped(&self) -> usize {
        self.with(|mappings| mappings.allocations.iter().map(Allocation::len).sum())
    }

    /// Runs `f` on the mappings, which are consistent even if a thread panicked while it had them.
    fn with<T>(&self, f: impl FnOnce(&mut Mappings) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Mappings {
    fn allocate(&mut self, size: usize, align: usize, kind: usize) -> io::Result<*mut u8> {
        if let Some(start) = self.open[kind].take(size, align) {
            return Ok(start);
        }
        self.grow(size.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?, kind)?;
        self.open[kind].take(size, align).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Maps more for a kind: at first one mapping for all kinds.
    fn grow(&mut self, size: usize, kind: usize) -> io::Result<()> {
        let unit = UNIT.max(region::page::size());
        let first = self.allocations.is_empty() && size <= unit;
        let doubled = 2 * self.allocations.last().map_or(0, Allocation::len);
        let len = if first { 4 * unit } else { size.max(doubled).next_multiple_of(unit) };
        let mut allocation =
            region::alloc(len, Protection::READ_WRITE).map_err(io::Error::other)?;
        let memory = allocation.as_mut_ptr_range::<u8>();
        self.allocations.push(allocation);
        self.check_reach()?;
        if first {
            let at = |units: usize| memory.start.wrapping_add(units * unit);
            let parts = [at(0)..at(2), at(2)..at(3), at(3)..at(4)];
            for (area, part) in self.open.iter_mut().zip(parts) {
                *area = Area::new(area.kind, part);
            }
        } else {
            let area = Area::new(self.open[kind].kind, memory);
            self.full.push(std::mem::replace(&mut self.open[kind], area));
        }
        Ok(())
    }

    fn check_reach(&self) -> io::Result<()> {
        let ranges = || self.allocations.iter().map(Allocation::as_range);
        let low = ranges().map(|range| range.start).min().unwrap_or(0);
        let high = ranges().map(|range| range.end).max().unwrap_or(0);
        if high - low > REACH {
            return Err(io::Error::other("mappings are more than 2 GiB apart"));
        }
        Ok(())
    }

    /// Gives everything that has been written its final protection.
    fn seal(&mut self) -> io::Result<()> {
        for area in self.full.iter_mut().chain(&mut self.open) {
            area.seal()?;
        }
        self.full.clear();
        wasmtime_jit_icache_coherence::pipeline_flush_mt().map_err(io::Error::other)
    }
}

impl Area {
    fn new(kind: Protection, memory: Range<*mut u8>) -> Area {
        Area { kind, unsealed: memory.start, memory }
    }

    fn take(&mut self, size: usize, align: usize) -> Option<*mut u8> {
        let pad = self.memory.start.addr().wrapping_neg() & (align - 1);
        let free = self.memory.end.addr() - self.memory.start.addr();
        if pad.checked_add(size)? > free {
            return None;
        }
        let start = self.memory.start.wrapping_add(pad);
        self.memory.start = start.wrapping_add(size);
        Some(start)
    }

    fn seal(&mut self) -> io::Result<()> {
        let len = self.memory.start.addr() - self.unsealed.addr();
        if len == 0 || self.kind == Protection::READ_WRITE {
            return Ok(());
        }
        // SAFETY: the range is mapped and readable, and has just been written as data.
        unsafe { wasmtime_jit_icache_coherence::clear_cache(self.unsealed.cast(), len) }
            .map_err(io::Error::other)?;
        // SAFETY: the pages are this area's, which starts and ends at page boundaries, and whoever
        // wrote to them is done: the module is being finalized, and will be given other pages.
        unsafe { region::protect(self.unsealed, len, self.kind) }.map_err(io::Error::other)?;
        let pad = self.memory.start.addr().next_multiple_of(region::page::size())
            - self.memory.start.addr();
        self.memory.start = self.memory.start.wrapping_add(pad);
        self.unsealed = self.memory.start;
        Ok(())
    }
}

impl JITMemoryProvider for Memory {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let kind = match kind {
            JITMemoryKind::Executable => 0,
            JITMemoryKind::ReadOnly => 1,
            JITMemoryKind::Writable => 2,
        };
        let align = usize::try_from(align).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.with(|mappings| mappings.allocate(size, align, kind))
    }

    /// Does nothing: the memory goes with its last handle.
    unsafe fn free_memory(&mut self) {}

    fn finalize(&mut self, _: BranchProtection) -> ModuleResult<()> {
        self.with(Mappings::seal).map_err(|err| ModuleError::Allocation { err })
    }
}
