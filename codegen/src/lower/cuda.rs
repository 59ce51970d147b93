//! Facts of the CUDA driver, from `cuda.h` of 12.0 and newer: functions, layouts and numbers. What loads, enters a
//! context and launches is in [`routines`](mod@super::routines); another driver replaces both.

use crate::ir::Type::I32;
use crate::ir::typed::{Const, Handle, Int, Make, Pointee, Ref, Single, routine, structs};
use crate::ir::{Builder, Signature, Type};
use crate::lower::value::zeros;

/// Declares the functions that are taken from the driver: name, how routines call it, and whether 12.0 has it.
macro_rules! entries {
    ($($(#[$doc:meta])* $variant:ident $name:literal $call:ident($($param:ident: $ty:ty),*) $needed:literal;)*) => {
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
                let mut params = Vec::new();
                match self { $(Entry::$variant => { $(<$ty>::types(&mut params);)* })* }
                Signature::new(&params, Some(I32))
            }
        }

        $(#[doc = concat!("Calls `", $name, "` of the driver, which is open; yields the status.")]
        #[allow(dead_code, clippy::too_many_arguments, reason = "those of the driver; compiled code launches")]
        pub(crate) fn $call(b: &mut Builder<'_>, $($param: impl Make<$ty>),*) -> Int<i32> {
            let mut args = Vec::new();
            $(let $param: $ty = $param.make(b);
            $param.push(b, &mut args);)*
            let function = driver_address(b, Entry::$variant).value(b);
            Int::new(b.call_indirect_value(Entry::$variant.signature(), function, &args))
        })*
    };
}

entries! {
    Init "cuInit" init(flags: Int<i32>) true;
    DriverGetVersion "cuDriverGetVersion" driver_get_version(version: Ref<i32>) true;
    GetErrorName "cuGetErrorName" get_error_name(status: Int<i32>, name: Ref<Ref<u8>>) true;
    GetErrorString "cuGetErrorString" get_error_string(status: Int<i32>, text: Ref<Ref<u8>>) true;
    /// That of the current context.
    CtxGetDevice "cuCtxGetDevice" ctx_get_device(device: Ref<i32>) true;
    CtxPushCurrent "cuCtxPushCurrent_v2" ctx_push_current(context: Ref<CuContext>) true;
    CtxPopCurrent "cuCtxPopCurrent_v2" ctx_pop_current(context: Ref<Ref<CuContext>>) true;
    DevicePrimaryCtxRetain "cuDevicePrimaryCtxRetain" device_primary_ctx_retain(context: Ref<Ref<CuContext>>, device: Int<i32>) true;
    DevicePrimaryCtxRelease "cuDevicePrimaryCtxRelease_v2" device_primary_ctx_release(device: Int<i32>) true;
    DeviceGetAttribute "cuDeviceGetAttribute" device_get_attribute(value: Ref<i32>, attribute: Int<i32>, device: Int<i32>) true;
    LibraryLoadData "cuLibraryLoadData" library_load_data(
        library: Ref<Ref<CuLibrary>>, code: Ref<u8>, options: Ref<i32>, values: Ref<Ref<u8>>, count: Int<i32>,
        library_options: Ref<i32>, library_values: Ref<Ref<u8>>, library_count: Int<i32>) true;
    LibraryUnload "cuLibraryUnload" library_unload(library: Ref<CuLibrary>) true;
    LibraryGetKernel "cuLibraryGetKernel" library_get_kernel(kernel: Ref<Ref<CuKernel>>, library: Ref<CuLibrary>, name: Ref<u8>) true;
    /// In the current context.
    KernelGetFunction "cuKernelGetFunction" kernel_get_function(function: Ref<Ref<CuFunction>>, kernel: Ref<CuKernel>) true;
    KernelGetAttribute "cuKernelGetAttribute" kernel_get_attribute(value: Ref<i32>, attribute: Int<i32>, kernel: Ref<CuKernel>, device: Int<i32>) true;
    KernelSetAttribute "cuKernelSetAttribute" kernel_set_attribute(attribute: Int<i32>, value: Int<i32>, kernel: Ref<CuKernel>, device: Int<i32>) true;
    /// It takes a `CUkernel` for a `CUfunction`.
    LaunchKernelEx "cuLaunchKernelEx" launch_kernel_ex(config: Ref<Config>, kernel: Ref<CuKernel>, params: Ref<Ref<u8>>, extra: Ref<Ref<u8>>) true;
    TensorMapEncodeTiled "cuTensorMapEncodeTiled" tensor_map_encode_tiled(
        map: Ref<u8>, dtype: Int<i32>, rank: Int<i32>, address: Ref<u8>, extents: Ref<u64>, strides: Ref<u64>, boxes: Ref<u32>,
        steps: Ref<u32>, interleave: Int<i32>, swizzle: Int<i32>, promotion: Int<i32>, fill: Int<i32>) true;
    /// 12.4. Offset and size are a `size_t` each.
    KernelGetParamInfo "cuKernelGetParamInfo" kernel_get_param_info(kernel: Ref<CuKernel>, index: Int<i64>, offset: Ref<u64>, size: Ref<u64>) false;
    /// 12.4.
    FuncLoad "cuFuncLoad" func_load(function: Ref<CuFunction>) false;
}

/// A routine hands it to functions of Rust.
impl Const for Entry {
    type Handle = Entry;

    fn constant(self, _: &mut Builder<'_>) -> Entry {
        self
    }
}

/// How many there are.
pub(crate) const COUNT: u64 = Entry::ALL.len() as u64;

structs! {
    /// The addresses of the functions, and at last a word that is not 0 once they are there.
    Table TableFields: 8 * COUNT as u32 + 8, 8 => {
        functions: Nested<Ref<u8>> = 0,
        ready: Field<u64> = 8 * COUNT as i32,
    }
}

/// The addresses of the functions.
pub(crate) fn table(b: &mut Builder<'_>) -> Ref<Table> {
    variable(b, "tvm_ffi_codegen.driver", 1)
}

/// The address of a function of the driver, which is open; NULL if it has none.
pub(crate) fn driver_address(b: &mut Builder<'_>, entry: Entry) -> Ref<u8> {
    let table = table(b).value(b);
    Ref::new(b.load(Type::Ptr, table, 8 * entry as i32))
}

/// A variable of the process: so many in a row, zeros at first.
pub(crate) fn variable<T: Pointee>(b: &mut Builder<'_>, name: &str, count: u64) -> Ref<T> {
    let symbol = zeros(b.module, name, count as usize * T::SIZE as usize);
    Ref::new(b.address(symbol))
}

/// What the driver has made, which only it sees into.
pub(crate) enum CuContext {}
pub(crate) enum CuLibrary {}
pub(crate) enum CuKernel {}
pub(crate) enum CuFunction {}

/// The oldest version, as `cuDriverGetVersion` counts.
pub(crate) const MIN_DRIVER_VERSION: i32 = 12_000;

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

structs! {
    /// A `CUlaunchConfig`.
    Config ConfigFields: config::SIZE, 8 => {
        grid: Nested<u32> = config::GRID,
        block: Nested<u32> = config::BLOCK,
        shared: Field<u32> = config::SHARED,
        attributes: Field<Ref<Attribute>> = config::ATTRIBUTES,
        count: Field<u32> = config::COUNT,
    }
    /// A `CUlaunchAttribute`.
    Attribute AttributeFields: attribute::SIZE, 8 => {
        id: Field<u32> = attribute::ID,
        extents: Nested<u32> = attribute::VALUE,
    }
}

/// `CUtensorMap`: 64 up to 12.9, 128 from 13.0 on.
pub(crate) const MAP_ALIGN: u32 = 128;

/// The last of the handles that stand for the default stream of the current context: NULL, `CU_STREAM_LEGACY` (1) and
/// this one.
pub(crate) const CU_STREAM_PER_THREAD: i64 = 2;

/// Values of `CUresult`.
pub(crate) const CUDA_ERROR_INVALID_VALUE: i32 = 1;
pub(crate) const CUDA_ERROR_INVALID_DEVICE: i32 = 101;
pub(crate) const CUDA_ERROR_INVALID_CONTEXT: i32 = 201;
const CUDA_ERROR_ILLEGAL_ADDRESS: i32 = 700;
const CUDA_ERROR_LAUNCH_TIMEOUT: i32 = 702;
const CUDA_ERROR_ASSERT: i32 = 710;
const CUDA_ERROR_HARDWARE_STACK_ERROR: i32 = 714;
const CUDA_ERROR_LAUNCH_FAILED: i32 = 719;
const CUDA_ERROR_TENSOR_MEMORY_LEAK: i32 = 721;

/// Whether `cuda.h` says of a status that it leaves the process in an inconsistent state, so that later calls return
/// it too.
#[routine(inline)]
pub(crate) fn loses_context(status: i32) -> bool {
    match status {
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_LAUNCH_TIMEOUT
        | CUDA_ERROR_ASSERT
        | CUDA_ERROR_HARDWARE_STACK_ERROR..=CUDA_ERROR_LAUNCH_FAILED
        | CUDA_ERROR_TENSOR_MEMORY_LEAK => true,
        _ => false,
    }
}

/// A `CUdevice_attribute`.
pub(crate) const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: i32 = 97;

/// Values of `CUfunction_attribute`.
pub(crate) const CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: i32 = 1;
pub(crate) const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
pub(crate) const CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: i32 = 14;

/// Variables of fields of 8 bytes: where each field is, and what routines see there.
macro_rules! fields {
    ($($(#[$doc:meta])* $module:ident $struct:ident $fields:ident {
        $($(#[$field_doc:meta])* $name:ident $index:literal $field:ident: $kind:ident<$ty:ty>;)*
    } $size:literal;)*) => {
        $($(#[$doc])*
        pub(crate) mod $module {
            $($(#[$field_doc])* pub(crate) const $name: i32 = 8 * $index;)*
            pub(crate) const SIZE: u32 = 8 * $size;
        })*

        structs! {
            $($(#[$doc])* $struct $fields: $module::SIZE, 8 => { $($field: $kind<$ty> = $module::$name,)* })*
        }
    };
}

fields! {
    /// What a module keeps of an image.
    image Image ImageFields {
        /// The `CUlibrary`, once it is loaded.
        LIBRARY 0 library: Field<Ref<CuLibrary>>;
        BYTES 1 bytes: Field<Ref<u8>>;
        NAME 2 name: Field<Ref<u8>>;
        NAME_SIZE 3 name_size: Field<u64>;
    } 4;
    /// What a module keeps of a kernel.
    kernel Kernel KernelFields {
        /// The `CUkernel`, once it is known.
        KERNEL 0 handle: Field<Ref<CuKernel>>;
        /// A bit for each device on which it has been allowed what it needs.
        DEVICES 1 devices: Field<u64>;
        IMAGE 2 image: Field<Ref<Image>>;
        /// Ends with a NUL.
        NAME 3 name: Field<Ref<u8>>;
        /// The name in messages, where mangled ones lose their end: how many bytes.
        SHOWN_SIZE 4 shown_size: Field<u64>;
        /// What it needs to be allowed.
        ALLOWED 5 allowed: Field<u64>;
        /// The address of `cuLaunchKernelEx`, once the kernel is known.
        LAUNCH 6 launch: Field<Ref<u8>>;
        /// How many parameters it has.
        COUNT 7 count: Field<i64>;
        /// The name in messages.
        SHOWN 8 shown: Field<Ref<u8>>;
        /// The bytes of each parameter, which stand behind these fields.
        SIZES 9 sizes: Nested<u64>;
    } 9;
    /// A constant that says how a tensor map is made.
    map How HowFields {
        RANK 0 rank: Field<i64>;
        DTYPE 1 dtype: Field<i64>;
        /// Of an element.
        BYTES 2 bytes: Field<u64>;
        INTERLEAVE 3 interleave: Field<i64>;
        SWIZZLE 4 swizzle: Field<i64>;
        PROMOTION 5 promotion: Field<i64>;
        FILL 6 fill: Field<i64>;
        /// Whether there are steps after the extents of the box.
        STEPS 7 steps: Field<u64>;
        /// Whether elements are whole bytes.
        PLAIN 8 plain: Field<u64>;
        NAME_SIZE 9 name_size: Field<u64>;
        /// Stands behind these fields.
        NAME 10 name: Nested<u8>;
    } 10;
}

/// Bits of [`kernel::ALLOWED`].
pub(crate) const ALLOW_SHARED: u64 = 1;
pub(crate) const ALLOW_CLUSTER: u64 = 2;

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
