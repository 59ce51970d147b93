//! The shared routines as machine code for the target of this crate, compiled when the crate is, so that no process
//! compiles them.
//!
//! ```
//! use tvm_ffi_codegen_prebuilt::{TARGET, objects};
//!
//! if let Some(objects) = objects(TARGET) {
//!     assert!(objects.iter().all(|object| !object.defines.is_empty()));
//! }
//! ```

#![forbid(unsafe_code)]

/// An object with one routine, or a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The name of the file, without an extension.
    pub name: &'static str,
    /// The symbols that it defines.
    pub defines: &'static [&'static str],
    /// The contents of the file.
    pub bytes: &'static [u8],
}

/// The target of this crate, as rustc names it.
pub const TARGET: &str = env!("PREBUILT_TARGET");

const OBJECTS: &[Object] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));
const PROCESS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/process"));

/// Returns the objects of [`linked_routines`](codegen::linker::linked_routines), if `target` is that of this crate and
/// has a code generator.
pub fn objects(target: &str) -> Option<&'static [Object]> {
    Some(OBJECTS).filter(|objects| !objects.is_empty() && target == TARGET)
}

/// Returns [`routines`](codegen::linker::routines()) for code in process, in the form of
/// `tvm_ffi_codegen_cranelift::recorded`, if this machine has a code generator.
pub fn in_process() -> Option<&'static [u8]> {
    Some(PROCESS).filter(|bytes| !bytes.is_empty())
}
