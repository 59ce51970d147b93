//! Memory between pages that nobody can touch.

use std::ffi::c_void;
use std::ptr;

/// What canaries are made of, and how many there are: a frame that is not probed may step over a page.
const CANARY: u8 = 0xc5;
const CANARIES: usize = 128 << 10;

/// Canaries, a page that cannot be touched, memory, and again a page that cannot be touched.
#[derive(Debug)]
pub(crate) struct Guarded {
    start: *mut u8,
    size: usize,
}

/// The size of a page.
fn page() -> usize {
    // SAFETY: this only asks.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

impl Guarded {
    /// Fresh memory of at least so many bytes.
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

    /// The memory.
    pub(crate) fn memory(&self) -> *mut u8 {
        // SAFETY: the mapping goes on there.
        unsafe { self.start.add(CANARIES + page()) }
    }

    /// How much it is.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether nobody has written below the page that cannot be touched.
    pub(crate) fn is_intact(&self) -> bool {
        // SAFETY: the canaries are readable.
        let canaries = unsafe { std::slice::from_raw_parts(self.start, CANARIES) };
        canaries.iter().all(|&byte| byte == CANARY)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and who used it has ended.
        unsafe { libc::munmap(self.start.cast::<c_void>(), CANARIES + self.size + 2 * page()) };
    }
}
