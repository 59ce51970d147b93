//! The code that all backends share: the interface, the plan of symbols, the error type, facts of targets.
//!
//! Backends translate and decide nothing. The common decisions are here: [`plan()`] maps symbols to native symbols,
//! [`Facts`] holds the C ABI of a platform, [`Machine`] lists the machines with a code generator.

mod apart;
mod error;
mod feature;
mod optimize;
mod plan;
mod preserve;
mod target;
mod thunks;

pub use error::{Error, Mismatch};
pub use feature::Feature;
pub use optimize::{Optimize, is_long};
pub use plan::{Capabilities, Existing, Plan, State, SymbolSource, plan, unused_name};
pub use target::{
    Facts, LARGE, LISTS, Machine, MachineFacts, Narrow, Side, Weak, needs_no_builtins,
};
pub use thunks::with_preserving_thunks;

use abi_spec::symbol;

use crate::ir::Module;

/// A kernel in a language of a backend, such as LLVM IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The name in errors: that of its file.
    pub name: &'a str,
    /// The contents.
    pub bytes: &'a [u8],
    /// Names of definitions that other modules see; all others become local.
    pub exports: &'a [String],
}

impl Input<'_> {
    /// Returns whether a definition keeps its linkage: one of [`exports`](Input::exports), or a variable that a loader
    /// fills. A local one would never be found.
    pub fn keeps(&self, name: &str, is_variable: bool) -> bool {
        (is_variable && symbol::is_for_loader(name)) || self.exports.iter().any(|one| one == name)
    }
}

/// A code generator for one target. Each backend crate also has a native tier: `emit` into a module that the caller
/// owns.
///
/// `kernels` must be in a language that the backend [reads](Backend::reads). They are linked into the native module
/// before the host IR is emitted, and may be inlined.
pub trait Backend {
    /// Returns the name of the backend on the command line.
    fn name(&self) -> &'static str;

    /// Returns true if the bytes may be a kernel in a language of the backend. Objects are not. The default is for a
    /// backend without such a language.
    fn reads(&self, _kernel: &[u8]) -> bool {
        false
    }

    /// Returns the module in the backend's own text form.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Target`], [`Error::Native`]; with kernels [`Error::Kernel`],
    /// [`Error::Defined`], and [`Error::Unsupported`] from a backend that reads none.
    fn text(&self, module: &Module, kernels: &[Input<'_>]) -> Result<String, Error>;

    /// Returns LLVM bitcode, not optimised.
    ///
    /// # Errors
    /// Those of [`text`](Backend::text), and [`Error::Unsupported`] from a backend without such a form, for which the
    /// default is.
    fn bitcode(&self, _module: &Module, _kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        Err(Error::Unsupported { reason: "bitcode is a form of llvm and mlir" })
    }

    /// Returns a relocatable object file.
    ///
    /// # Errors
    /// As for [`text`](Backend::text).
    fn object(&self, module: &Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error>;
}

/// Returns a text in quotes, as text forms of LLVM and MLIR have it: bytes that are no plain ASCII are escaped.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | ..b' ' | 0x7f.. => quoted.push_str(&format!("\\{byte:02X}")),
            _ => quoted.push(byte.into()),
        }
    }
    quoted + "\""
}

/// Refuses kernels, for a backend that reads none.
///
/// # Errors
/// [`Error::Unsupported`] if there is a kernel.
pub fn no_kernels(kernels: &[Input<'_>]) -> Result<(), Error> {
    let refused = Error::Unsupported { reason: "only llvm and mlir take kernels in IR" };
    if kernels.is_empty() { Ok(()) } else { Err(refused) }
}
