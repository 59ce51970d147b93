//! Keeping of launches, of which every call of a closure passes the same.

use crate::ir::typed::routine;
use crate::lower::cuda::{self, CuKernel, Kept, config};

/// Word of the address of the attributes in a config.
const ATTRIBUTES: u64 = config::ATTRIBUTES as u64 / 8;

/// Keeps a launch, unless another thread has begun to: `words` words of the area of a frame, of which `count` from
/// `start` on are addresses of arguments.
#[routine]
pub(crate) fn keep_launch(
    kept: &Kept,
    area: &u64,
    words: u64,
    start: u64,
    count: u64,
    kernel: &CuKernel,
    device: i64,
) {
    if (&kept.state).compare_exchange(cuda::KEPT_EMPTY, cuda::KEPT_FILLING) != cuda::KEPT_EMPTY {
        return;
    }
    kept.device = device;
    kept.kernel = kernel;
    let to = kept.area;
    for at in 0..words {
        to[at] = area[at];
    }
    move_address(area, to, words, ATTRIBUTES);
    for at in start..start + count {
        move_address(area, to, words, at);
    }
    (&kept.state).store_atomic(cuda::KEPT_FULL);
}

/// Makes an address within one area the same within another.
#[routine(inline)]
fn move_address(from: &u64, to: &u64, words: u64, at: u64) {
    let offset = from[at] - from as u64;
    if offset < 8 * words {
        to[at] = to as u64 + offset;
    }
}
