//! What runs once the arguments are checked: the call, what it is given, and its results.

pub(crate) mod allocate;
pub(crate) mod call;
pub(crate) mod results;
