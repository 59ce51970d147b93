//! Evaluation of terms: expressions of the declaration.

mod device;
mod element;
mod evaluate;
mod exact;
mod global;
mod message;
mod property;
mod range;
mod text;

pub(in crate::lower) use device::{attribute_cell, device_of, require_gpu};
pub(super) use element::reach;
pub(in crate::lower) use evaluate::{cast, eval, truth};
pub(super) use evaluate::{narrow, require};
pub(super) use exact::checked_product;
pub(in crate::lower) use global::{Loaded, has_hook_run, prepare_global, run_hook};
pub(in crate::lower) use message::say_piece;
pub(super) use range::may_overflow;
pub(in crate::lower) use range::range;
pub(super) use text::text_equals;
