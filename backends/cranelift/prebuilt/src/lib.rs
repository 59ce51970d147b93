//! The routines that all wrappers share, as machine code for the machine that this crate is compiled for. They are
//! compiled with it, so that no process has to.
//!
//! ```
//! use tvm_ffi_codegen_prebuilt::{TARGET, object};
//! # use codegen::Extent;
//!
//! let [few, all] = [Extent::TENSORS, Extent::ALL].map(|extent| object(TARGET, extent));
//! if let (Some(few), Some(all)) = (few, all) {
//!     assert!(few.len() < all.len());
//! }
//! ```

#![forbid(unsafe_code)]

use codegen::Extent;

/// The target of this crate, as rustc names it.
pub const TARGET: &str = env!("PREBUILT_TARGET");

/// The objects by the words for their extents.
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));
const PROCESS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/process"));

/// The object of [`linked_routines`](codegen::linked_routines) for this target, if it is the one of this crate and has a
/// code generator.
pub fn object(target: &str, extent: Extent) -> Option<&'static [u8]> {
    let (_, bytes) = *OBJECTS.iter().find(|(name, _)| *name == extent.name())?;
    Some(bytes).filter(|bytes| !bytes.is_empty() && target == TARGET)
}

/// [`routines`](codegen::routines()) for code in process, as `tvm_ffi_codegen_cranelift::recorded` keeps it, if this
/// machine has a code generator.
pub fn in_process() -> Option<&'static [u8]> {
    Some(PROCESS).filter(|bytes| !bytes.is_empty())
}
