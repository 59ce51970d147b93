//! Launches of GPU kernels: the statement, kernel arguments and tensor maps. Facts of the driver are in
//! [`cuda`](crate::lower::cuda), the routines of launches in [`routines`](mod@crate::lower::routines).

mod area;
mod command;
mod cuda;
mod hip;
pub(crate) mod kept;
mod map;
mod parts;
mod statement;

pub(super) use command::command;
pub(super) use map::named_map;
pub(super) use statement::{launch, load_kernels};
