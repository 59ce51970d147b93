//! What launches need of the CUDA driver besides the call itself: finding it, loading, contexts, tensor maps, and what
//! is said where that fails. Its facts are in [`cuda`](crate::lower::cuda).

use crate::ir::Builder;
use crate::lower::explain::codes::Used;

pub(super) mod context;
pub(super) mod driver;
pub(super) mod failed;
pub(super) mod load;
pub(super) mod map;
pub(super) mod prepare;

/// `(address, count)`: words of zeros.
pub(super) fn clear(b: &mut Builder<'_>, _: Used) {
    let [start, count] = [0, 1].map(|i| b.param(i));
    let zero = b.i64(0);
    b.fold(count, [], |b, at, []| {
        let to = b.element(start, at);
        b.store(zero, to, 0);
        []
    });
    b.ret(None);
}
