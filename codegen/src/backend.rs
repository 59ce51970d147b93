//! The code that all backends share: the interface, the plan of symbols, the error type, facts of targets.
//!
//! Backends translate and decide nothing. The common decisions are here: [`plan()`] maps symbols to native symbols,
//! [`Facts`] holds the C ABI of a platform, [`Machine`] lists the machines with a code generator.

mod apart;
mod error;
mod feature;
mod headers;
mod optimize;
mod plan;
mod preserve;
mod target;
mod thunks;
mod unknown;

pub use error::{Error, Mismatch};
pub use feature::Feature;
pub use headers::{
    CType, RuntimeFunction, is_runtime_struct, is_safe_call, is_system_function, is_word_of_c,
    runtime_function,
};
pub use optimize::{Optimize, is_long};
pub use plan::{Capabilities, Existing, Plan, State, SymbolSource, plan, unused_name};
pub use target::{
    Facts, LARGE, LISTS, Machine, MachineFacts, Narrow, Side, Weak, check_machine, check_words,
    needs_no_builtins,
};
pub use thunks::with_preserving_thunks;
pub use unknown::UnknownWord;

use abi_spec::symbol;

use crate::ir::Module;

/// A kernel, or a module to add to, in a language of a backend, such as LLVM IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The name in errors: that of its file.
    pub name: &'a str,
    /// The contents.
    pub bytes: &'a [u8],
    /// Names of definitions of a kernel that other modules see; all others become local. A module to add to keeps all.
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
        Err(Error::Unsupported { reason: "it has no bitcode; llvm and mlir do" })
    }

    /// Returns a relocatable object file.
    ///
    /// # Errors
    /// As for [`text`](Backend::text).
    fn object(&self, module: &Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error>;

    /// Adds the host IR to a module in a language of the backend, and returns all of it in a form.
    ///
    /// Definitions of `into` keep their names, linkage, attributes, metadata and contents, also those that it does not
    /// export; text and bitcode are not optimised. It takes on the target if it states none. Imports of the host IR may
    /// be declared or defined there, and symbols of [`Linkage::Once`](crate::ir::Linkage::Once) and
    /// [`Weak`](crate::ir::Linkage::Weak) that it defines are not defined again; locals are renamed where their name is
    /// taken. `kernels` are linked in as elsewhere.
    ///
    /// # Errors
    /// Those of [`text`](Backend::text) and [`bitcode`](Backend::bitcode); [`Error::Target`] if `into` is for another
    /// target; [`Error::Unsupported`] from a backend that reads no modules, for which the default is.
    fn extend(
        &self,
        _into: Input<'_>,
        _module: &Module,
        _kernels: &[Input<'_>],
        _form: Form,
    ) -> Result<Vec<u8>, Error> {
        Err(Error::Unsupported { reason: "it adds to no module; llvm and mlir do" })
    }
}

/// Form of a native module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The backend's own text form, in UTF-8.
    Text,
    /// LLVM bitcode, not optimised.
    Bitcode,
    /// A relocatable object file.
    Object,
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
    let refused = Error::Unsupported { reason: "it takes no kernels in IR; llvm and mlir do" };
    if kernels.is_empty() { Ok(()) } else { Err(refused) }
}
