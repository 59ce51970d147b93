//! Routines of launches through HIP: opening the runtime, loading images and kernels, making devices current, other
//! commands on streams, and raising the errors of the runtime. Its functions and constants are in
//! [`hip`](crate::lower::hip).

pub(super) mod command;
pub(super) mod device;
pub(super) mod driver;
pub(super) mod failed;
pub(super) mod launch;
pub(super) mod limits;
pub(super) mod load;
