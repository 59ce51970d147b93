//! What every backend shares: the interface, the plan of symbols, the error type, facts of targets.
//!
//! Backends translate and decide nothing. What they would otherwise decide each on its own is here:
//! which names become what ([`plan()`]), what a platform's C ABI says ([`Facts`]), which machines there are
//! code generators for ([`Machine`]).

mod error;
mod plan;
mod target;

pub use error::Error;
pub use plan::{Action, Existing, Place, Plan, State, plan, unused_name};
pub use target::{Facts, LARGE, Machine, Narrow, Side, is_apart};

use crate::ir::Module;

/// A code generator, set up for one target. Each backend crate also has a native tier: `emit` into a
/// module that the caller owns.
pub trait Backend {
    /// The name by which the command line knows it.
    fn name(&self) -> &'static str;

    /// The backend's own text form of the module.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Target`], [`Error::Native`].
    fn text(&self, module: &Module) -> Result<String, Error>;

    /// A relocatable object file.
    ///
    /// # Errors
    /// As for [`text`](Backend::text).
    fn object(&self, module: &Module) -> Result<Vec<u8>, Error>;
}
