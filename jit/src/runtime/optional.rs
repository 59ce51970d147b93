//! Functions that some runtimes lack, and that this crate calls itself.

use std::ffi::{c_char, c_void};

use super::Runtime;
use crate::abi::{Any, ByteArray, Object};
use crate::error::Error;

/// Declares functions: each is looked up when it is needed.
macro_rules! optional {
    ($($field:ident: $symbol:literal, fn($($arg:ty),*) -> $result:ty;)*) => {
        impl Runtime {
            $(
                pub(crate) fn $field(
                    &self,
                ) -> Result<unsafe extern "C" fn($($arg),*) -> $result, Error> {
                    let symbol = self.symbol($symbol);
                    let symbol = symbol.ok_or(Error::Unavailable { function: $symbol })?;
                    // SAFETY: what a runtime exports under this name has this type.
                    Ok(unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($arg),*) -> $result,
                        >(symbol)
                    })
                }
            )*
        }
    };
}

optional! {
    register_symbol: "TVMFFIEnvModRegisterSystemLibSymbol",
        fn(*const c_char, *const c_void) -> i32;
    make_bytes: "TVMFFIBytesFromByteArray", fn(*const ByteArray, *mut Any) -> i32;
    set_global: "TVMFFIFunctionSetGlobal", fn(*const ByteArray, *mut Object, i32) -> i32;
    get_global: "TVMFFIFunctionGetGlobal", fn(*const ByteArray, *mut *mut Object) -> i32;
}
