//! An allocator for which what came before makes no difference. What glibc's costs depends on how its heap
//! happens to be arranged: counts of the same code differed by up to three percent. All unsafe code of this
//! file is that of an allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, until it is told to [`start`](Bump::start); then it hands out memory from one end
/// of a chunk to the other, and takes nothing back.
#[derive(Debug)]
pub(crate) struct Bump {
    started: AtomicBool,
    locked: AtomicBool,
    free: UnsafeCell<Free>,
}

/// What is left of the chunk.
#[derive(Debug)]
struct Free {
    start: usize,
    end: usize,
}

/// The size of a chunk. What is larger than a small part of it is the system's.
const CHUNK: usize = 64 << 20;
const LARGE: usize = CHUNK / 64;

// SAFETY: `free` is used by who has set `locked`.
unsafe impl Sync for Bump {}

impl Bump {
    /// The system's allocator.
    pub(crate) const fn new() -> Bump {
        let free = UnsafeCell::new(Free { start: 0, end: 0 });
        Bump { started: AtomicBool::new(false), locked: AtomicBool::new(false), free }
    }

    /// From now on, no memory is given back.
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
