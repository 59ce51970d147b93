//! What runs once the arguments are checked: calls, what they are given, control flow, and results.

mod call;
pub(crate) mod outlined;
mod packed;
mod received;
mod results;
pub(crate) mod statement;
