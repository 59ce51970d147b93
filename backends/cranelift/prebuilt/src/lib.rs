//! The routines that all wrappers share, as machine code for the machine that this crate is compiled for. They are
//! compiled with it, so that no process has to.
//!
//! ```
//! use tvm_ffi_codegen_prebuilt::{TARGET, object};
//! # use codegen::Extent;
//!
//! let [few, all] = [Extent::Tensors, Extent::All].map(|extent| object(TARGET, extent));
//! if let (Some(few), Some(all)) = (few, all) {
//!     assert!(few.len() < all.len());
//! }
//! ```

#![forbid(unsafe_code)]

use codegen::Extent;

/// The target of this crate, as rustc names it.
pub const TARGET: &str = env!("PREBUILT_TARGET");

const TENSORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tensors"));
const EXPRESSIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/expressions"));
const VALUES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/values"));
const ALLOCATIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/allocations"));
const LAUNCHES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launches"));
const ALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/all"));
const PROCESS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/process"));

/// The object of [`linked_routines`](codegen::linked_routines) for this target, if it is the one of this crate and has a
/// code generator.
pub fn object(target: &str, extent: Extent) -> Option<&'static [u8]> {
    let bytes = match extent {
        Extent::Tensors => TENSORS,
        Extent::Expressions => EXPRESSIONS,
        Extent::Values => VALUES,
        Extent::Allocations => ALLOCATIONS,
        Extent::Launches => LAUNCHES,
        Extent::All => ALL,
    };
    Some(bytes).filter(|bytes| !bytes.is_empty() && target == TARGET)
}

/// [`routines`](codegen::routines()) for code in process, as `tvm_ffi_codegen_cranelift::recorded` keeps it, if this
/// machine has a code generator.
pub fn in_process() -> Option<&'static [u8]> {
    Some(PROCESS).filter(|bytes| !bytes.is_empty())
}
