//! An allocator that measures peak memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with the bytes that this thread holds.
struct Counting;

thread_local! {
    /// The bytes that are allocated now, and the peak.
    static ALLOCATED: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(bytes: isize) {
    // A thread that ends may allocate after its thread-locals are gone.
    let _ = ALLOCATED.try_with(|allocated| {
        let (now, most) = allocated.get();
        allocated.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `f`; returns its peak of allocated bytes.
pub(crate) fn peak<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.with(|allocated| {
        let (now, _) = allocated.get();
        allocated.set((now, now));
        now
    });
    let result = f();
    let (_, most) = ALLOCATED.with(Cell::get);
    (result, (most - before).unsigned_abs())
}
