//! Memory between pages that nobody can touch.

use std::ffi::c_void;
use std::ptr;

/// Pages are no larger than this on the machines that run the tests.
const PAGE: usize = 64 << 10;

/// What canaries are made of.
const CANARY: u8 = 0xc5;

/// A page of canaries, a page that cannot be touched, memory, and again a page that cannot be touched.
#[derive(Debug)]
pub(crate) struct Guarded {
    start: *mut u8,
    size: usize,
}

impl Guarded {
    /// Fresh memory of at least so many bytes.
    pub(crate) fn new(bytes: usize) -> Guarded {
        let size = bytes.next_multiple_of(PAGE);
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: this is a new mapping; only parts of it lose their access.
        unsafe {
            let start = libc::mmap(ptr::null_mut(), size + 3 * PAGE, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED, "there is memory");
            let start = start.cast::<u8>();
            start.write_bytes(CANARY, PAGE);
            for guard in [start.add(PAGE), start.add(2 * PAGE + size)] {
                assert_eq!(libc::mprotect(guard.cast(), PAGE, libc::PROT_NONE), 0);
            }
            Guarded { start, size }
        }
    }

    /// The memory.
    pub(crate) fn memory(&self) -> *mut u8 {
        // SAFETY: the mapping goes on there.
        unsafe { self.start.add(2 * PAGE) }
    }

    /// How much it is.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The last so many bytes of it.
    pub(crate) fn last(&self, bytes: usize) -> *mut u8 {
        // SAFETY: the memory goes on there.
        unsafe { self.memory().add(self.size - bytes) }
    }

    /// Whether nobody has written below the page that cannot be touched.
    pub(crate) fn is_intact(&self) -> bool {
        // SAFETY: the canaries are readable.
        let canaries = unsafe { std::slice::from_raw_parts(self.start, PAGE) };
        canaries.iter().all(|&byte| byte == CANARY)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and who used it has ended.
        unsafe { libc::munmap(self.start.cast::<c_void>(), self.size + 3 * PAGE) };
    }
}
