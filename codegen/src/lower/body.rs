//! Bodies, which run once the arguments are checked: statements, calls, and results.

mod call;
pub(crate) mod outlined;
mod packed;
mod results;
pub(crate) mod statement;
