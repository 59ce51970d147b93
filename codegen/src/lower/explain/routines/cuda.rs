//! Launching through the CUDA driver: finding it, loading, contexts, the launch itself, tensor maps, and what is
//! said where that fails. Its facts are in [`cuda`](crate::lower::cuda).

pub(super) mod context;
pub(super) mod driver;
pub(super) mod failed;
pub(super) mod launch;
pub(super) mod load;
pub(super) mod map;
pub(super) mod prepare;
