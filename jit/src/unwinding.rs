//! Panics that must not reach C.

use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// Runs code that must not unwind into C. What a panic carries is leaked, since dropping it might panic again.
pub(crate) fn quietly(work: impl FnOnce()) {
    if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(work)) {
        mem::forget(panic);
    }
}
