//! What runs once the arguments are checked: calls, what they are given, control flow, and results.

mod allocate;
mod call;
mod launch;
mod launch_map;
mod launch_now;
pub(crate) mod outlined;
mod packed;
mod pass;
mod received;
mod results;
pub(crate) mod statement;
