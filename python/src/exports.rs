//! Exports of the shared object: the wrappers with their metadata and documentation, under the names that loaders look
//! for, and the functions for C.

use std::ffi::c_void;

/// Defines functions that call a wrapper of the same type.
macro_rules! forward {
    ($($name:ident($($param:ident: $ty:ty),*) => $wrapper:ident;)*) => {
        unsafe extern "C" {
            $(fn $wrapper($($param: $ty),*) -> i32;)*
        }

        $(
            /// # Safety
            /// The caller keeps the contract of functions of the FFI, or that of the header for C.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "as many as the function for C has")]
            unsafe extern "C" fn $name($($param: $ty),*) -> i32 {
                // SAFETY: the contract of the wrapper is that of the caller.
                unsafe { $wrapper($($param),*) }
            }
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
