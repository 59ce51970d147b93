//! Bodies: statements, calls and results. A body runs after the arguments have passed their checks.

mod call;
pub(crate) mod closure;
pub(crate) mod outlined;
mod packed;
mod results;
pub(crate) mod statement;
