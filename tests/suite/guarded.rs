//! Memory between inaccessible pages.

use std::ffi::c_void;
use std::ptr;

/// Byte and number of canaries; more than a page, because a frame without probes may step over the guard page.
const CANARY: u8 = 0xc5;
const CANARIES: usize = 128 << 10;

/// Canaries, an inaccessible page, memory, and another inaccessible page.
#[derive(Debug)]
pub(crate) struct Guarded {
    start: *mut u8,
    size: usize,
}

/// Returns the size of a page.
fn page() -> usize {
    // SAFETY: the call only reads a property of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

impl Guarded {
    /// Maps fresh memory of at least `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Guarded {
        let page = page();
        let size = bytes.next_multiple_of(page);
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: this is a new mapping; only parts of it lose their access.
        unsafe {
            let start =
                libc::mmap(ptr::null_mut(), CANARIES + size + 2 * page, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED, "there is memory");
            let start = start.cast::<u8>();
            start.write_bytes(CANARY, CANARIES);
            for guard in [start.add(CANARIES), start.add(CANARIES + page + size)] {
                assert_eq!(libc::mprotect(guard.cast(), page, libc::PROT_NONE), 0);
            }
            Guarded { start, size }
        }
    }

    /// Returns the address of the memory.
    pub(crate) fn memory(&self) -> *mut u8 {
        // SAFETY: the offset is inside the mapping.
        unsafe { self.start.add(CANARIES + page()) }
    }

    /// Returns the size of the memory.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns true if the canaries below the guard page are unchanged.
    pub(crate) fn is_intact(&self) -> bool {
        // SAFETY: the canaries are readable.
        let canaries = unsafe { std::slice::from_raw_parts(self.start, CANARIES) };
        canaries.iter().all(|&byte| byte == CANARY)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and nothing uses it any more.
        unsafe { libc::munmap(self.start.cast::<c_void>(), CANARIES + self.size + 2 * page()) };
    }
}
