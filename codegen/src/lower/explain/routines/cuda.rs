//! What launches need of the CUDA driver besides the call itself: finding it, loading, contexts, tensor maps, and what
//! is said where that fails. Its facts are in [`cuda`](crate::lower::cuda).

pub(super) mod context;
pub(super) mod driver;
pub(super) mod failed;
pub(super) mod load;
pub(super) mod map;
pub(super) mod prepare;
