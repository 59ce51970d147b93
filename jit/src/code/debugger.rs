//! GDB's JIT interface, which LLDB reads too: a list of object files in memory, one for each library, and a function
//! that is called after each change of the list, in which debuggers set a breakpoint.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::address::FunctionRange;
use super::image::image;

/// `jit_code_entry`
#[repr(C)]
struct CodeEntry {
    next: *mut CodeEntry,
    prev: *mut CodeEntry,
    file: *const u8,
    size: u64,
}

/// `jit_descriptor`
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut CodeEntry,
    first: *mut CodeEntry,
}

/// `JIT_REGISTER_FN`
const REGISTER: u32 = 1;
/// `JIT_UNREGISTER_FN`
const UNREGISTER: u32 = 2;

/// Guards the list against other threads of this crate. Debuggers find the list by its symbol, which is weak because
/// other code generators in the process define it too.
static LOCK: Mutex<()> = Mutex::new(());

#[cfg(target_os = "linux")]
std::arch::global_asm!(
    ".pushsection .text.tvm_ffi_jit_debug, \"ax\", %progbits",
    ".weak __jit_debug_register_code",
    ".type __jit_debug_register_code, %function",
    "__jit_debug_register_code:",
    "ret",
    ".size __jit_debug_register_code, . - __jit_debug_register_code",
    ".popsection",
    ".pushsection .data.tvm_ffi_jit_debug, \"aw\", %progbits",
    ".p2align 3",
    ".weak __jit_debug_descriptor",
    ".type __jit_debug_descriptor, %object",
    "__jit_debug_descriptor:",
    ".long 1, 0",
    ".quad 0, 0",
    ".size __jit_debug_descriptor, 24",
    ".popsection",
);

#[cfg(target_os = "linux")]
unsafe extern "C" {
    static mut __jit_debug_descriptor: Descriptor;
    fn __jit_debug_register_code();
}

/// The list on other platforms, where no debugger looks for it.
#[cfg(not(target_os = "linux"))]
#[allow(non_upper_case_globals, reason = "the name on Linux")]
static mut __jit_debug_descriptor: Descriptor =
    Descriptor { version: 1, action: 0, relevant: ptr::null_mut(), first: ptr::null_mut() };

#[cfg(not(target_os = "linux"))]
unsafe extern "C" fn __jit_debug_register_code() {}

/// Functions that debuggers know until this is dropped.
pub(super) struct Announced {
    entry: *mut CodeEntry,
    _file: Box<[u8]>,
}

// SAFETY: the list is changed under a lock, on any thread.
unsafe impl Send for Announced {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Announced {}

impl Announced {
    /// Announces functions, the section `.eh_frame` of their frames, and sections of debug information.
    pub(super) fn new(
        functions: &[FunctionRange],
        frames: &[u8],
        lines: &[(&str, Vec<u8>)],
    ) -> Announced {
        let file = image(functions, frames, lines).into_boxed_slice();
        let (next, prev) = (ptr::null_mut(), ptr::null_mut());
        let entry = CodeEntry { next, prev, file: file.as_ptr(), size: file.len() as u64 };
        let entry = Box::into_raw(Box::new(entry));
        let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the list is well-formed and changes under the lock only; the entry is new.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            (*entry).next = (*list).first;
            if let Some(next) = (*entry).next.as_mut() {
                next.prev = entry;
            }
            (*list).first = entry;
            tell(REGISTER, entry);
        }
        Announced { entry, _file: file }
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the entry is in the list, and belongs to this.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            let CodeEntry { next, prev, .. } = *self.entry;
            match prev.as_mut() {
                Some(prev) => prev.next = next,
                None => (*list).first = next,
            }
            if let Some(next) = next.as_mut() {
                next.prev = prev;
            }
            tell(UNREGISTER, self.entry);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Lets debuggers stop to read a change of the list.
///
/// # Safety
/// The caller holds the lock.
unsafe fn tell(action: u32, entry: *mut CodeEntry) {
    // SAFETY: as required above.
    unsafe {
        let list = &raw mut __jit_debug_descriptor;
        (*list).relevant = entry;
        (*list).action = action;
        __jit_debug_register_code();
        (*list).action = 0;
        (*list).relevant = ptr::null_mut();
    }
}
