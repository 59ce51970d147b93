//! The functions of the C library that generated code calls. This crate refers to them at link time, because the
//! system's loader does not find them by name in every process.

use std::ffi::c_void;

use abi_spec::c_library::{FREE, MALLOC, loader as names};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

#[cfg(unix)]
mod loader {
    use std::ffi::{c_char, c_int, c_void};

    unsafe extern "C" {
        pub(super) fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
        pub(super) fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        pub(super) fn dlerror() -> *const c_char;
    }
}

#[cfg(windows)]
mod loader {
    use std::ffi::{c_char, c_void};

    unsafe extern "system" {
        pub(super) fn LoadLibraryA(file: *const c_char) -> *mut c_void;
        pub(super) fn GetProcAddress(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
}

/// Returns the address of one of these functions.
pub(crate) fn c_function(name: &str) -> Option<*const u8> {
    match name {
        MALLOC => Some(malloc as *const u8),
        FREE => Some(free as *const u8),
        #[cfg(unix)]
        names::DLOPEN => Some(loader::dlopen as *const u8),
        #[cfg(unix)]
        names::DLSYM => Some(loader::dlsym as *const u8),
        #[cfg(unix)]
        names::DLERROR => Some(loader::dlerror as *const u8),
        #[cfg(windows)]
        names::LOAD_LIBRARY => Some(loader::LoadLibraryA as *const u8),
        #[cfg(windows)]
        names::GET_PROC_ADDRESS => Some(loader::GetProcAddress as *const u8),
        _ => None,
    }
}
