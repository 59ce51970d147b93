//! The coarse interface that makes backends interchangeable.

use std::error::Error;

use crate::ir::Module;

/// A code generator, set up for one target. Each backend crate also has a native tier: `emit` into a
/// module that the caller owns.
pub trait Backend {
    /// The name by which the command line knows it.
    fn name(&self) -> &'static str;

    /// The backend's own text form of the module.
    fn text(&self, module: &Module) -> Result<String, Box<dyn Error + Send + Sync>>;

    /// A relocatable object file.
    fn object(&self, module: &Module) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>>;
}
