//! Functions of the C library that generated code calls: tensors are made with them where the host has set no
//! allocator.

/// `void* malloc(size_t size)`
pub const MALLOC: &str = "malloc";

/// `void free(void* memory)`
pub const FREE: &str = "free";

/// All of them, the [loaders](loader) included.
pub const ALL: [&str; 6] =
    [MALLOC, FREE, loader::DLOPEN, loader::DLSYM, loader::LOAD_LIBRARY, loader::GET_PROC_ADDRESS];

/// Functions that open a library of the process: launches find the driver of their device with them.
pub mod loader {
    /// `void* dlopen(const char* file, int mode)`, with [`RTLD_NOW`].
    pub const DLOPEN: &str = "dlopen";

    /// `void* dlsym(void* library, const char* name)`
    pub const DLSYM: &str = "dlsym";

    /// Find everything now, for this caller alone.
    pub const RTLD_NOW: i32 = 2;

    /// `HMODULE LoadLibraryA(LPCSTR file)`, on Windows.
    pub const LOAD_LIBRARY: &str = "LoadLibraryA";

    /// `FARPROC GetProcAddress(HMODULE library, LPCSTR name)`, on Windows.
    pub const GET_PROC_ADDRESS: &str = "GetProcAddress";
}
