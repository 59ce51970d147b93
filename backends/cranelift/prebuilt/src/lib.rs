//! The routines that all wrappers share, as machine code for the machine that this crate is compiled for. They are
//! compiled with it, so that no process has to.
//!
//! ```
//! use tvm_ffi_codegen_prebuilt::{TARGET, objects};
//!
//! if let Some(objects) = objects(TARGET) {
//!     assert!(objects.iter().all(|object| !object.defines.is_empty()));
//! }
//! ```

#![forbid(unsafe_code)]

/// An object of one routine, or of a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The name of its file, without an end.
    pub name: &'static str,
    /// The symbols that it has.
    pub defines: &'static [&'static str],
    /// Its contents.
    pub bytes: &'static [u8],
}

/// The target of this crate, as rustc names it.
pub const TARGET: &str = env!("PREBUILT_TARGET");

const OBJECTS: &[Object] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));
const PROCESS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/process"));

/// The objects of [`linked_routines`](codegen::linked_routines) for this target, if it is the one of this crate and has a
/// code generator.
pub fn objects(target: &str) -> Option<&'static [Object]> {
    Some(OBJECTS).filter(|objects| !objects.is_empty() && target == TARGET)
}

/// [`routines`](codegen::routines()) for code in process, as `tvm_ffi_codegen_cranelift::recorded` keeps it, if this
/// machine has a code generator.
pub fn in_process() -> Option<&'static [u8]> {
    Some(PROCESS).filter(|bytes| !bytes.is_empty())
}
