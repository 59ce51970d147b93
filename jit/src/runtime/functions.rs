//! The functions that every runtime has and that this crate calls itself.

use std::ffi::c_void;

use crate::abi::{Any, ByteArray, DLManagedTensorVersioned, Object, SafeCall};

/// Declares functions that are looked up together. All of them exist since 0.1.0.
macro_rules! functions {
    ($($field:ident: $symbol:literal, fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that every runtime has; their contracts are those of `c_api.h`.
        #[derive(Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Looks all functions up. The error is the name of the first that is missing.
            pub(super) fn resolve(
                symbol: impl Fn(&str) -> Option<*const c_void>,
            ) -> Result<Functions, &'static str> {
                Ok(Functions {
                    // SAFETY: this is the type of the function in `c_api.h`.
                    $($field: unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($arg),*) $(-> $result)?,
                        >(symbol($symbol).ok_or($symbol)?)
                    },)*
                })
            }
        }
    };
}

functions! {
    inc_ref: "TVMFFIObjectIncRef", fn(*mut Object) -> i32;
    dec_ref: "TVMFFIObjectDecRef", fn(*mut Object) -> i32;
    move_from_raised: "TVMFFIErrorMoveFromRaised", fn(*mut *mut Object);
    error_create: "TVMFFIErrorCreate",
        fn(*const ByteArray, *const ByteArray, *const ByteArray, *mut *mut Object) -> i32;
    error_set_raised: "TVMFFIErrorSetRaised", fn(*mut Object);
    function_create: "TVMFFIFunctionCreate",
        fn(*mut c_void, SafeCall, Option<unsafe extern "C" fn(*mut c_void)>, *mut *mut Object) -> i32;
    string_from: "TVMFFIStringFromByteArray", fn(*const ByteArray, *mut Any) -> i32;
    any_to_owned: "TVMFFIAnyViewToOwnedAny", fn(*const Any, *mut Any) -> i32;
    tensor_from_dlpack: "TVMFFITensorFromDLPackVersioned",
        fn(*mut DLManagedTensorVersioned, i32, i32, *mut *mut Object) -> i32;
    tensor_to_dlpack: "TVMFFITensorToDLPackVersioned",
        fn(*mut Object, *mut *mut DLManagedTensorVersioned) -> i32;
}
