//! The built-in runtime: the part of `libtvm_ffi` that generated code needs, for machines without that library.
//!
//! Objects have the real header and cells, so that any code can read and release them. There are no modules, no
//! containers but arrays and shapes, no reflection, no native backtraces, and no global functions but `ffi.Array` and
//! `ffi.Shape`.

mod array;
mod c_library;
mod dlpack;
mod error;
mod function;
mod object;
mod stream;
mod string;
mod tensor;
mod types;

pub(crate) use c_library::c_function;

use std::ffi::c_void;

use crate::abi::Any;

pub(crate) use error::raise;
pub(crate) use object::dec_ref;

/// Copies text into a string value that the caller owns. Short text needs no object. Every runtime can hold the value.
pub(crate) fn text(bytes: &[u8]) -> Any {
    string::text(bytes).expect("there is room for a copy")
}

/// Returns the address of a function of the built-in runtime.
pub(crate) fn symbol(name: &str) -> Option<*const c_void> {
    Some(match name {
        "TVMFFIGetVersion" => get_version as *const c_void,
        "TVMFFIObjectIncRef" => object::inc_ref as *const c_void,
        "TVMFFIObjectDecRef" => object::dec_ref as *const c_void,
        "TVMFFIErrorCreate" => error::create as *const c_void,
        "TVMFFIErrorSetRaised" => error::set_raised as *const c_void,
        "TVMFFIErrorMoveFromRaised" => error::move_from_raised as *const c_void,
        "TVMFFIErrorSetRaisedFromCStr" => error::set_raised_from_c_str as *const c_void,
        "TVMFFIErrorSetRaisedFromCStrParts" => error::set_raised_from_c_str_parts as *const c_void,
        "TVMFFIFunctionCreate" => function::create as *const c_void,
        "TVMFFIFunctionCall" => function::call as *const c_void,
        "TVMFFIFunctionGetGlobal" => array::get_global as *const c_void,
        "TVMFFIStringFromByteArray" => string::string_from_byte_array as *const c_void,
        "TVMFFIBytesFromByteArray" => string::bytes_from_byte_array as *const c_void,
        "TVMFFIAnyViewToOwnedAny" => string::any_view_to_owned_any as *const c_void,
        "TVMFFIDataTypeFromString" => types::data_type_from_string as *const c_void,
        "TVMFFIGetTypeInfo" => types::get_type_info as *const c_void,
        "TVMFFITypeKeyToIndex" => types::type_key_to_index as *const c_void,
        "TVMFFIEnvGetStream" => stream::get as *const c_void,
        "TVMFFIEnvSetStream" => stream::set as *const c_void,
        "TVMFFITensorFromDLPack" => dlpack::from_unversioned as *const c_void,
        "TVMFFITensorToDLPack" => dlpack::to_unversioned as *const c_void,
        "TVMFFITensorFromDLPackVersioned" => dlpack::from_versioned as *const c_void,
        "TVMFFITensorToDLPackVersioned" => dlpack::to_versioned as *const c_void,
        "TVMFFIEnvTensorAlloc" => tensor::alloc as *const c_void,
        "TVMFFIEnvGetDLPackManagedTensorAllocator" => tensor::get_allocator as *const c_void,
        "TVMFFIEnvSetDLPackManagedTensorAllocator" => tensor::set_allocator as *const c_void,
        "TVMFFIEnvModLookupFromImports" => array::look_up as *const c_void,
        "TVMFFIEnvCheckSignals" => check_signals as *const c_void,
        _ => return None,
    })
}

/// The release whose rules this runtime follows.
const VERSION: [u32; 3] = [0, 1, 15];

/// `TVMFFIGetVersion`
///
/// # Safety
/// `out` is valid.
unsafe extern "C" fn get_version(out: *mut [u32; 3]) {
    // SAFETY: as required above.
    unsafe { *out = VERSION };
}

/// `TVMFFIEnvCheckSignals`: always 0, since there is no environment with signals.
extern "C" fn check_signals() -> i32 {
    0
}
