//! What every backend shares: the interface, the plan of symbols, the error type, facts of targets.
//!
//! Backends translate and decide nothing. What they would otherwise decide each on its own is here:
//! which names become what ([`plan()`]), what a platform's C ABI says ([`Facts`]), which machines there are
//! code generators for ([`Machine`]).

mod error;
mod keep;
mod optimize;
mod plan;
mod target;

pub use error::{Error, Mismatch};
pub use optimize::Optimize;
pub use plan::{Capabilities, Existing, Plan, State, SymbolSource, plan, unused_name};
pub use target::{Facts, LARGE, LISTS, Machine, Narrow, Side, is_apart};

use crate::ir::Module;

/// A kernel in a language of a backend, such as LLVM IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// What errors call it: the name of its file.
    pub name: &'a str,
    /// Its contents.
    pub bytes: &'a [u8],
}

/// A code generator, set up for one target. Each backend crate also has a native tier: `emit` into a
/// module that the caller owns.
///
/// `kernels` are those that the backend [reads](Backend::reads): they become part of the native module before
/// the host IR does, and may be inlined into it.
pub trait Backend {
    /// The name by which the command line knows it.
    fn name(&self) -> &'static str;

    /// Whether these may be the bytes of a kernel in a language of the backend. Objects are not.
    fn reads(&self, kernel: &[u8]) -> bool;

    /// The backend's own text form of the module.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Target`], [`Error::Native`]; with kernels [`Error::Kernel`],
    /// [`Error::Defined`], and [`Error::Unsupported`] from a backend that reads none.
    fn text(&self, module: &Module, kernels: &[Input<'_>]) -> Result<String, Error>;

    /// LLVM bitcode, not optimised.
    ///
    /// # Errors
    /// As for [`text`](Backend::text), and [`Error::Unsupported`] from a backend without such a form.
    fn bitcode(&self, module: &Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error>;

    /// A relocatable object file.
    ///
    /// # Errors
    /// As for [`text`](Backend::text).
    fn object(&self, module: &Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error>;
}
