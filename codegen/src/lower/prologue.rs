//! Prologues: code that counts, checks and unpacks the arguments and binds symbols. It dominates the body.
//!
//! A place is a number in an argument: an integer, an extent, a stride or an integer of a shape. An occurrence is a
//! place with a rule for its number. The usual form of an argument is checked inline, unusual forms in cold blocks.

mod again;
pub(crate) mod arguments;
mod binding;
mod devices;
mod element;
mod held;
mod inverse;
mod layout;
mod literal;
mod mapping;
mod optional;
pub(crate) mod outline;
mod registry;
pub(crate) mod runs;
mod scalar;
pub(crate) mod scope;
mod sequence;
mod steps;
pub(crate) mod strides;
mod tensor;
mod union;
mod value;
mod view;
