//! Routines of launches through HIP that CUDA lacks: loading images and kernels, making devices current. Functions and
//! constants of the runtime are in [`hip`](crate::lower::hip).

pub(super) mod command;
pub(super) mod device;
pub(super) mod launch;
pub(super) mod limits;
pub(super) mod load;
