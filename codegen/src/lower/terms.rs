//! What arguments, bodies and launches share: terms are evaluated, values are passed to C functions, and tensors are
//! allocated.

mod allocate;
mod evaluate;
mod message;
mod pass;
mod text;
