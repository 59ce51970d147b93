//! Options of a JIT.

use tvm_ffi_codegen::{Loader, Options, Routines, Unchecked};

use crate::code::machine::OptLevel;
use crate::code::observers::Observers;
use crate::runtime::{Runtime, runtime};

/// The options of lowering for code in process: shared routines, no metadata, all checks.
pub(crate) const LOWERING: Options = Options {
    routines: Routines::Shared,
    metadata: false,
    unchecked: Unchecked::NONE,
    loader: Loader::HOST,
    in_process: true,
};

/// Options of a [`Jit`](crate::Jit).
///
/// ```
/// use tvm_ffi_codegen_jit::{JitOptions, Observers, OptLevel};
///
/// let options = JitOptions {
///     opt_level: OptLevel::Speed,
///     observers: Observers { profiler: true, ..Observers::default() },
///     ..JitOptions::default()
/// };
/// # drop(options);
/// ```
#[derive(Clone, Debug)]
pub struct JitOptions {
    /// The runtime whose functions the code calls; [`runtime`] by default.
    pub runtime: &'static Runtime,
    /// The level for kernels that are [defined](crate::Jit::define) natively; none by default.
    pub opt_level: OptLevel,
    /// The tools that learn of functions; none by default.
    pub observers: Observers,
    /// The options with which [`Jit::compile`](crate::Jit::compile) lowers declarations;
    /// [`Jit::OPTIONS`](crate::Jit::OPTIONS) by default. With metadata, for instance, modules of
    /// [`Compiled::into_module`](crate::Compiled::into_module) have it. With [`Routines::Embedded`], kernels named
    /// `malloc` and `free` replace those of the C library in the routines, as they would in a linked library.
    pub lowering: Options,
}

impl Default for JitOptions {
    fn default() -> Self {
        JitOptions {
            runtime: runtime(),
            opt_level: OptLevel::default(),
            observers: Observers::default(),
            lowering: LOWERING,
        }
    }
}
