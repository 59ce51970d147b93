//! Checks: steps of a declaration, and the terms that they compare. The prologue checks arguments, a body checks what
//! it receives from calls, finds in sequences and unpacks in the arms of a `match`.
//!
//! Steps evaluate terms, and a term may look up an element of a sequence, which takes the steps of that element. So
//! both are one room.
//!
//! A place is a number in an argument: an integer, an extent, a stride or an integer of a shape. An occurrence is a
//! place with a rule for its number. The usual form of an argument is checked inline, unusual forms in cold blocks.

mod again;
mod binding;
mod check;
mod checker;
mod devices;
mod element;
mod forms;
mod inverse;
mod layout;
mod literal;
mod mapping;
mod optional;
mod outline;
mod registry;
mod runs;
mod scalar;
mod scope;
mod sequence;
mod steps;
mod strides;
mod tensor;
pub(super) mod terms;
mod text;
mod union;
mod value;
mod view;

pub(super) use again::{know_symbol, receive, unpack_steps};
pub(super) use checker::Checker;
pub(super) use devices::device_table;
pub(super) use element::look_up_all;
pub(super) use forms::forms;
pub(super) use steps::check_steps;
pub(super) use tensor::same_device;
