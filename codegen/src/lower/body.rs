//! What runs once the arguments are checked: the call, what it is given, and its results.

mod allocate;
mod pass;
pub(crate) mod results;
pub(crate) mod statement;
