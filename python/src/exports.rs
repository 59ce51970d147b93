//! What the shared object exports: the wrappers and what is said of them, under the names that loaders look for.

use ::jit::abi::Any;
use std::ffi::c_void;

/// Functions that go on to others, which have the same type.
macro_rules! forward {
    ($($name:ident => $wrapper:ident;)*) => {
        unsafe extern "C" {
            $(fn $wrapper(handle: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32;)*
        }

        $(
            /// # Safety
            /// Called as functions of the FFI are.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                handle: *mut c_void,
                args: *const Any,
                count: i32,
                result: *mut Any,
            ) -> i32 {
                // SAFETY: the wrapper expects what the caller gives to a function of the FFI.
                unsafe { $wrapper(handle, args, count, result) }
            }
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
