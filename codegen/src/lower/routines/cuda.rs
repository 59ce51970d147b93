//! Routines of launches: opening the CUDA driver, loading images and kernels, entering contexts, encoding tensor maps,
//! other commands on streams, and raising the errors of the driver. Functions and constants of the driver are in [`cuda`](crate::lower::cuda).

use crate::ir::typed::routine;

pub(super) mod command;
pub(super) mod context;
pub(super) mod driver;
pub(super) mod failed;
pub(super) mod kept;
pub(super) mod limits;
pub(super) mod load;
pub(super) mod map;

/// Number of devices with a bit in the masks of kernels and an entry in the table of contexts.
const DEVICES: u64 = 64;

/// Zeroes `count` words.
#[routine]
pub(crate) fn clear(start: &u64, count: i64) {
    for at in 0..count {
        start[at] = 0;
    }
}
