//! The runtime of the code that has called a kernel, which the kernel itself does not know.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock};

use crate::runtime::{Runtime, runtime};

/// The runtimes that code of this process calls, each once.
static USED: Mutex<Vec<&'static Runtime>> = Mutex::new(Vec::new());

/// All code in memory, by the address of its first byte: its end and its runtime.
static CODE: RwLock<BTreeMap<usize, (usize, &'static Runtime)>> = RwLock::new(BTreeMap::new());

/// Code that can be found by addresses in it, until this is dropped.
pub(super) struct Known(Vec<usize>);

impl Known {
    pub(super) fn new(
        ranges: impl Iterator<Item = Range<usize>>,
        runtime: &'static Runtime,
    ) -> Known {
        let mut code = CODE.write().unwrap_or_else(PoisonError::into_inner);
        let starts = ranges.map(|range| {
            code.insert(range.start, (range.end, runtime));
            range.start
        });
        Known(starts.collect())
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let mut code = CODE.write().unwrap_or_else(PoisonError::into_inner);
        for start in &self.0 {
            code.remove(start);
        }
    }
}

/// Records that code which calls this runtime is going to be in the process.
pub(crate) fn note(runtime: &'static Runtime) {
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    if !used.iter().any(|known| known.is_same(runtime)) {
        used.push(runtime);
    }
}

/// Returns the runtime that the innermost compiled code on this thread's stack calls: the only one that code of this
/// process calls, or else, on Unix, that of the code which is found on the stack, or else the default one.
pub(crate) fn calling() -> &'static Runtime {
    let only = {
        let used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        if let [only] = used[..] { Some(only) } else { None }
    };
    only.or_else(stack::find).unwrap_or_else(runtime)
}

/// Returns the runtime of the code at an address.
fn at(address: usize) -> Option<&'static Runtime> {
    let code = CODE.read().unwrap_or_else(PoisonError::into_inner);
    let (_, &(end, runtime)) = code.range(..=address).next_back()?;
    (address < end).then_some(runtime)
}

#[cfg(unix)]
mod stack {
    use std::ffi::c_void;

    use crate::runtime::Runtime;

    // Functions of the unwinder that Rust's standard library links, libgcc's or LLVM's.
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            visit: extern "C" fn(frame: *mut c_void, found: *mut c_void) -> i32,
            found: *mut c_void,
        ) -> i32;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    }

    /// The result of a visitor that goes on.
    const CONTINUE: i32 = 0;
    /// The result of a visitor that stops.
    const STOP: i32 = 4;

    /// Returns the runtime of the innermost compiled code on the stack.
    pub(super) fn find() -> Option<&'static Runtime> {
        extern "C" fn visit(frame: *mut c_void, found: *mut c_void) -> i32 {
            // SAFETY: the unwinder passes a frame that it visits.
            // An address that a call returns to may be behind the code, where a call is the last instruction.
            let address = unsafe { _Unwind_GetIP(frame) }.wrapping_sub(1);
            let Some(runtime) = super::at(address) else { return CONTINUE };
            // SAFETY: the place is that of the function below.
            unsafe { found.cast::<Option<&'static Runtime>>().write(Some(runtime)) };
            STOP
        }
        let mut found: Option<&'static Runtime> = None;
        // SAFETY: the visitor takes this place.
        unsafe { _Unwind_Backtrace(visit, (&raw mut found).cast()) };
        found
    }
}

#[cfg(not(unix))]
mod stack {
    use crate::runtime::Runtime;

    /// Finds nothing: the code has no tables that this platform's unwinder reads.
    pub(super) fn find() -> Option<&'static Runtime> {
        None
    }
}
