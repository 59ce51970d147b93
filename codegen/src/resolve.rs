//! What declarations mean: names, kinds, the order of checks, and everything that can be wrong.

pub(crate) mod accept;
pub(crate) mod kind;
pub(crate) mod linear;
pub(crate) mod outputs;
pub(crate) mod scope;
pub(crate) mod steps;
pub(crate) mod validate;
pub(crate) mod validate_results;
pub(crate) mod values;
