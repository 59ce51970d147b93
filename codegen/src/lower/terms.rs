//! Code that checks, bodies and launches share: evaluation of terms, arguments of C functions, allocation of tensors,
//! and values in messages.

mod allocate;
mod device;
mod element;
mod evaluate;
mod exact;
mod message;
mod pass;
mod range;
mod text;
