//! What launches need of the CUDA driver besides the call itself: finding it, loading, contexts, tensor maps, and what
//! is said where that fails. Its facts are in [`cuda`](crate::lower::cuda).

use crate::ir::typed::routine;

pub(super) mod context;
pub(super) mod driver;
pub(super) mod failed;
pub(super) mod load;
pub(super) mod map;

/// Devices that have a bit, or a place for their context.
const DEVICES: u64 = 64;

/// Writes so many words of zeros.
#[routine]
pub(crate) fn clear(start: &u64, count: i64) {
    for at in 0..count {
        start[at] = 0;
    }
}
