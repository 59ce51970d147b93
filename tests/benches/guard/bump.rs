//! An allocator whose costs do not depend on earlier allocations. The costs of glibc's depend on the state of its heap:
//! counts of the same code differed by up to three percent. The unsafe code of this file implements the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator until [`start`](Bump::start); from then on memory comes from one end of a chunk to the other
/// and is never reused.
#[derive(Debug)]
pub(crate) struct Bump {
    started: AtomicBool,
    locked: AtomicBool,
    free: UnsafeCell<Free>,
}

/// Remaining part of the chunk.
#[derive(Debug)]
struct Free {
    start: usize,
    end: usize,
}

/// Size of a chunk. Allocations above a small part of it go to the system.
const CHUNK: usize = 64 << 20;
const LARGE: usize = CHUNK / 64;

// SAFETY: only the thread that has set `locked` uses `free`.
unsafe impl Sync for Bump {}

impl Bump {
    /// Creates an allocator that uses the system's.
    pub(crate) const fn new() -> Bump {
        let free = UnsafeCell::new(Free { start: 0, end: 0 });
        Bump { started: AtomicBool::new(false), locked: AtomicBool::new(false), free }
    }

    /// Starts to allocate from chunks.
    pub(crate) fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// # Safety
    /// As for [`GlobalAlloc::alloc`].
    unsafe fn take(&self, layout: Layout) -> *mut u8 {
        while self.locked.swap(true, Ordering::Acquire) {}
        // SAFETY: the lock is ours; a chunk is larger than what is taken, and its memory is never given back.
        let start = unsafe {
            let free = &mut *self.free.get();
            if free.start.next_multiple_of(layout.align()) + layout.size() > free.end {
                free.start = System.alloc(Layout::from_size_align_unchecked(CHUNK, 4096)) as usize;
                free.end = if free.start == 0 { 0 } else { free.start + CHUNK };
            }
            let start = free.start.next_multiple_of(layout.align());
            if free.end != 0 {
                free.start = start + layout.size();
            }
            start
        };
        self.locked.store(false, Ordering::Release);
        start as *mut u8
    }
}

// SAFETY: memory is the system's, or a part of a chunk that nobody else gets.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let is_large = layout.size() > LARGE || layout.align() > 4096;
        // SAFETY: as required of the caller.
        unsafe {
            if is_large || !self.started.load(Ordering::Relaxed) {
                System.alloc(layout)
            } else {
                self.take(layout)
            }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if !self.started.load(Ordering::Relaxed) {
            // SAFETY: as required of the caller; the system has been the only allocator so far.
            unsafe { System.dealloc(at, layout) };
        }
    }
}
