//! Routines of launches through the CUDA driver that HIP lacks: loading images and kernels, entering contexts, encoding
//! tensor maps. Functions and constants of the driver are in [`cuda`](crate::lower::cuda).

use crate::ir::typed::routine;

pub(super) mod command;
pub(super) mod context;
pub(super) mod kept;
pub(super) mod limits;
pub(super) mod load;
pub(super) mod map;
pub(super) mod shared;

use crate::lower::driver::DEVICES;

/// Zeroes `count` words.
#[routine]
pub(crate) fn clear(start: &u64, count: i64) {
    for at in 0..count {
        start[at] = 0;
    }
}
