//! Functions of the C library and the platform that generated code calls. Tensors are allocated by them where the host
//! has set no allocator.

/// `void* malloc(size_t size)`
pub const MALLOC: &str = "malloc";

/// `void free(void* memory)`
pub const FREE: &str = "free";

/// All names, those of [`loader`] included.
pub const ALL: [&str; 7] = [
    MALLOC,
    FREE,
    loader::DLOPEN,
    loader::DLSYM,
    loader::DLERROR,
    loader::LOAD_LIBRARY,
    loader::GET_PROC_ADDRESS,
];

/// Functions that load a library: launches load the driver of their device with them.
pub mod loader {
    /// `void* dlopen(const char* file, int mode)`, with [`RTLD_NOW`].
    pub const DLOPEN: &str = "dlopen";

    /// `void* dlsym(void* library, const char* name)`
    pub const DLSYM: &str = "dlsym";

    /// `const char* dlerror(void)`: what the last failure of this thread was; NULL if there is none that was not asked
    /// for.
    pub const DLERROR: &str = "dlerror";

    /// The mode that binds all symbols at once, for this caller only.
    pub const RTLD_NOW: i32 = 2;

    /// The bit with which `dlopen` only finds a library that is loaded, on Linux.
    pub const RTLD_NOLOAD: i32 = 4;

    /// The bit with which `dlclose` never unloads the library, on Linux.
    pub const RTLD_NODELETE: i32 = 0x1000;

    /// `HMODULE LoadLibraryA(LPCSTR file)`, on Windows.
    pub const LOAD_LIBRARY: &str = "LoadLibraryA";

    /// `FARPROC GetProcAddress(HMODULE library, LPCSTR name)`, on Windows.
    pub const GET_PROC_ADDRESS: &str = "GetProcAddress";
}
