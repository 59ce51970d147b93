//! What the shared object exports: the wrappers and what is said of them, under the names that loaders look for, and
//! the functions for C.

use std::ffi::c_void;

/// Functions that go on to others, which have the same type.
macro_rules! forward {
    ($($name:ident($($param:ident: $ty:ty),*) => $wrapper:ident;)*) => {
        unsafe extern "C" {
            $(fn $wrapper($($param: $ty),*) -> i32;)*
        }

        $(
            /// # Safety
            /// Called as functions of the FFI are, or as the header for C says.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "as many as C has")]
            unsafe extern "C" fn $name($($param: $ty),*) -> i32 {
                // SAFETY: the wrapper expects what the caller gives.
                unsafe { $wrapper($($param),*) }
            }
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
