//! Facts of the CUDA driver, from `cuda.h` of 12.0 and newer: functions, layouts and numbers. What loads, enters a
//! context and launches is in [`routines`](super::explain::routines); another driver replaces both.

use crate::ir::Signature;
use crate::ir::Type::{I32, I64, Ptr};

/// Declares the functions that are taken from the driver: name, parameters, and whether 12.0 has it.
macro_rules! entries {
    ($($(#[$doc:meta])* $variant:ident $name:literal [$($param:ident),*] $needed:literal;)*) => {
        /// A function of the driver; all return a `CUresult`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Entry { $($(#[$doc])* $variant,)* }

        impl Entry {
            /// All of them, in the order of the table that holds their addresses.
            pub(crate) const ALL: &[Entry] = &[$(Entry::$variant),*];

            /// The name of its symbol.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Entry::$variant => $name,)* }
            }

            /// True if nothing works without it.
            pub(crate) const fn is_needed(self) -> bool {
                match self { $(Entry::$variant => $needed,)* }
            }

            pub(crate) fn signature(self) -> Signature {
                match self { $(Entry::$variant => Signature::new(&[$($param),*], Some(I32)),)* }
            }
        }
    };
}

entries! {
    Init "cuInit" [I32] true;
    /// `(int*)`
    DriverGetVersion "cuDriverGetVersion" [Ptr] true;
    /// `(CUresult, const char**)`
    GetErrorName "cuGetErrorName" [I32, Ptr] true;
    GetErrorString "cuGetErrorString" [I32, Ptr] true;
    /// `(CUdevice*)`: that of the current context.
    CtxGetDevice "cuCtxGetDevice" [Ptr] true;
    CtxPushCurrent "cuCtxPushCurrent_v2" [Ptr] true;
    /// `(CUcontext*)`
    CtxPopCurrent "cuCtxPopCurrent_v2" [Ptr] true;
    /// `(CUcontext*, CUdevice)`
    DevicePrimaryCtxRetain "cuDevicePrimaryCtxRetain" [Ptr, I32] true;
    DevicePrimaryCtxRelease "cuDevicePrimaryCtxRelease_v2" [I32] true;
    /// `(int*, CUdevice_attribute, CUdevice)`
    DeviceGetAttribute "cuDeviceGetAttribute" [Ptr, I32, I32] true;
    /// `(CUlibrary*, code, options, values, count, library options, values, count)`
    LibraryLoadData "cuLibraryLoadData" [Ptr, Ptr, Ptr, Ptr, I32, Ptr, Ptr, I32] true;
    LibraryUnload "cuLibraryUnload" [Ptr] true;
    /// `(CUkernel*, CUlibrary, name)`
    LibraryGetKernel "cuLibraryGetKernel" [Ptr, Ptr, Ptr] true;
    /// `(CUfunction*, CUkernel)`: in the current context.
    KernelGetFunction "cuKernelGetFunction" [Ptr, Ptr] true;
    /// `(int*, CUfunction_attribute, CUkernel, CUdevice)`
    KernelGetAttribute "cuKernelGetAttribute" [Ptr, I32, Ptr, I32] true;
    /// `(CUfunction_attribute, value, CUkernel, CUdevice)`
    KernelSetAttribute "cuKernelSetAttribute" [I32, I32, Ptr, I32] true;
    /// `(const CUlaunchConfig*, CUfunction or CUkernel, parameters, extra)`
    LaunchKernelEx "cuLaunchKernelEx" [Ptr, Ptr, Ptr, Ptr] true;
    /// `(map, type, rank, address, extents, strides, box, steps, interleave, swizzle, promotion, fill)`
    TensorMapEncodeTiled "cuTensorMapEncodeTiled" [Ptr, I32, I32, Ptr, Ptr, Ptr, Ptr, Ptr, I32, I32, I32, I32] true;
    /// `(CUkernel, index, size_t* offset, size_t* size)`: 12.4.
    KernelGetParamInfo "cuKernelGetParamInfo" [Ptr, I64, Ptr, Ptr] false;
    /// `(CUfunction)`: 12.4.
    FuncLoad "cuFuncLoad" [Ptr] false;
}

/// The oldest version, as `cuDriverGetVersion` counts.
pub(crate) const VERSION: i64 = 12_000;

/// The libraries, by the loader of the platform.
pub(crate) const LIBRARY: &str = "libcuda.so.1";
pub(crate) const WINDOWS_LIBRARY: &str = "nvcuda.dll";

/// `CUlaunchConfig`; grid, block and shared memory stand first, 32 bits each.
pub(crate) mod config {
    pub(crate) const SIZE: u32 = 56;
    pub(crate) const GRID: i32 = 0;
    pub(crate) const BLOCK: i32 = 12;
    pub(crate) const SHARED: i32 = 24;
    pub(crate) const STREAM: i32 = 32;
    pub(crate) const ATTRIBUTES: i32 = 40;
    pub(crate) const COUNT: i32 = 48;
}

/// `CUlaunchAttribute`: a number, and 64 bytes whose rest is zero.
pub(crate) mod attribute {
    pub(crate) const SIZE: u32 = 72;
    pub(crate) const ID: i32 = 0;
    pub(crate) const VALUE: i32 = 8;
    /// How many words of 8 bytes it has.
    pub(crate) const WORDS: u32 = SIZE / 8;
}

/// `CUtensorMap`: 64 up to 12.9, 128 from 13.0 on.
pub(crate) const MAP_ALIGN: u32 = 128;

/// Streams up to this one are none of a context: the default stream by three names.
pub(crate) const LAST_DEFAULT_STREAM: i64 = 2;

/// `CUresult`: an argument is none that there can be.
pub(crate) const INVALID_VALUE: i64 = 1;

/// `CUresult`: no context is current.
pub(crate) const INVALID_CONTEXT: i64 = 201;

/// The errors after which a context is lost, which earlier work may have caused: numbers from the first on.
pub(crate) const STICKY: (i64, &[i64]) = (700, &[700, 702, 710, 714, 715, 716, 717, 718, 719, 721]);

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`
pub(crate) const MOST_SHARED: i32 = 97;

/// `CUfunction_attribute`
pub(crate) const STATIC_SHARED: i32 = 1;
pub(crate) const DYNAMIC_SHARED: i32 = 8;
pub(crate) const LARGE_CLUSTER: i32 = 14;

/// Fields of 8 bytes of a variable.
macro_rules! fields {
    ($($(#[$doc:meta])* $module:ident { $($(#[$field_doc:meta])* $name:ident $index:literal;)* } $size:literal;)*) => {
        $($(#[$doc])*
        pub(crate) mod $module {
            $($(#[$field_doc])* pub(crate) const $name: i32 = 8 * $index;)*
            pub(crate) const SIZE: u32 = 8 * $size;
        })*
    };
}

fields! {
    /// What a module keeps of an image.
    image {
        /// The `CUlibrary`, once it is loaded.
        LIBRARY 0;
        BYTES 1;
        NAME 2;
        NAME_SIZE 3;
    } 4;
    /// What a module keeps of a kernel.
    kernel {
        /// The `CUkernel`, once it is known.
        KERNEL 0;
        /// A bit for each device on which it has been allowed what it needs.
        DEVICES 1;
        IMAGE 2;
        /// Ends with a NUL.
        NAME 3;
        /// The name in messages, where mangled ones lose their end: how many bytes.
        SHOWN_SIZE 4;
        /// What it needs to be allowed.
        ALLOWED 5;
        /// The address of `cuLaunchKernelEx`, once the kernel is known.
        LAUNCH 6;
        /// How many parameters it has.
        COUNT 7;
        /// The name in messages.
        SHOWN 8;
        /// The bytes of each parameter, which stand behind these fields.
        SIZES 9;
    } 9;
    /// A constant that says how a tensor map is made.
    map {
        RANK 0;
        DTYPE 1;
        /// Of an element.
        BYTES 2;
        INTERLEAVE 3;
        SWIZZLE 4;
        PROMOTION 5;
        FILL 6;
        /// Whether there are steps after the extents of the box.
        STEPS 7;
        /// Whether elements are whole bytes.
        PLAIN 8;
        NAME_SIZE 9;
        /// Stands behind these fields.
        NAME 10;
    } 10;
}

/// Bits of [`kernel::ALLOWED`].
pub(crate) const ALLOW_SHARED: i64 = 1;
pub(crate) const ALLOW_CLUSTER: i64 = 2;

/// How a platform opens libraries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loader {
    /// `dlopen` and `dlsym`.
    #[default]
    Dl,
    /// `LoadLibraryA` and `GetProcAddress`.
    Windows,
}

impl Loader {
    /// That of the machine which runs this.
    pub const HOST: Loader = if cfg!(windows) { Loader::Windows } else { Loader::Dl };
}
