//! Machine code: its memory, its symbols, and the tools that learn of it.

pub(crate) mod address;
pub(crate) mod assembly;
pub(crate) mod callers;
mod debugger;
mod frames;
mod image;
pub(crate) mod machine;
mod memory;
mod missing;
mod native;
pub(crate) mod observers;
mod perf;
mod pool;
pub(crate) mod routines;
pub(crate) mod symbols;
