//! Facts of the CUDA driver, from `cuda.h` of 12.0 and newer: functions, layouts and constants. The code that loads
//! kernels, enters contexts and launches is in [`routines`](mod@super::routines). Those of HIP are in
//! [`hip`](mod@super::hip); what both share is in [`driver`](mod@super::driver).

use crate::ir::typed::{Handle, Int, Ref, routine, structs};
use crate::lower::driver::{Event, Stream, fields};
use crate::lower::dynamic::entries;
use crate::resolve::launch::MAP_SIZE;

entries! {
    "tvm_ffi_codegen.driver";
    Init "cuInit" init(flags: Int<i32>) true;
    DriverGetVersion "cuDriverGetVersion" driver_get_version(version: Ref<i32>) true;
    GetErrorName "cuGetErrorName" get_error_name(status: Int<i32>, name: Ref<Ref<u8>>) true;
    GetErrorString "cuGetErrorString" get_error_string(status: Int<i32>, text: Ref<Ref<u8>>) true;
    /// Finds the device of the current context.
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
    /// Finds the variable of the current context.
    LibraryGetGlobal "cuLibraryGetGlobal" library_get_global(address: Ref<Ref<u8>>, size: Ref<u64>, library: Ref<CuLibrary>, name: Ref<u8>) true;
    /// Finds the module of the current context.
    LibraryGetModule "cuLibraryGetModule" library_get_module(module: Ref<Ref<CuModule>>, library: Ref<CuLibrary>) true;
    /// Finds the function of a kernel in the current context.
    KernelGetFunction "cuKernelGetFunction" kernel_get_function(function: Ref<Ref<CuFunction>>, kernel: Ref<CuKernel>) true;
    KernelGetAttribute "cuKernelGetAttribute" kernel_get_attribute(value: Ref<i32>, attribute: Int<i32>, kernel: Ref<CuKernel>, device: Int<i32>) true;
    KernelSetAttribute "cuKernelSetAttribute" kernel_set_attribute(attribute: Int<i32>, value: Int<i32>, kernel: Ref<CuKernel>, device: Int<i32>) true;
    /// Accepts a `CUkernel` in place of a `CUfunction`.
    LaunchKernelEx "cuLaunchKernelEx" launch_kernel_ex(config: Ref<Config>, kernel: Ref<CuKernel>, params: Ref<Ref<u8>>, extra: Ref<Ref<u8>>) true;
    TensorMapEncodeTiled "cuTensorMapEncodeTiled" tensor_map_encode_tiled(
        map: Ref<u64>, dtype: Int<i32>, rank: Int<i32>, address: Ref<u8>, extents: Ref<u64>, strides: Ref<u64>, boxes: Ref<u32>,
        steps: Ref<u32>, interleave: Int<i32>, swizzle: Int<i32>, promotion: Int<i32>, fill: Int<i32>) true;
    /// Since 12.4. Offset and size are a `size_t` each.
    KernelGetParamInfo "cuKernelGetParamInfo" kernel_get_param_info(kernel: Ref<CuKernel>, index: Int<i64>, offset: Ref<u64>, size: Ref<u64>) false;
    /// Since 12.4.
    FuncLoad "cuFuncLoad" func_load(function: Ref<CuFunction>) false;
    // Libraries without such commands do not need these, which 12.0 has.
    MemsetD8Async "cuMemsetD8Async" memset_d8_async(to: Ref<u8>, value: Int<i32>, bytes: Int<u64>, stream: Ref<Stream>) false;
    MemsetD32Async "cuMemsetD32Async" memset_d32_async(to: Ref<u32>, value: Int<u32>, count: Int<u64>, stream: Ref<Stream>) false;
    MemcpyAsync "cuMemcpyAsync" memcpy_async(to: Ref<u8>, from: Ref<u8>, bytes: Int<u64>, stream: Ref<Stream>) false;
    /// Copies the operations, so that they may be overwritten after the call, also while the stream is captured.
    StreamBatchMemOp "cuStreamBatchMemOp_v2" stream_batch_mem_op(stream: Ref<Stream>, count: Int<u32>, operations: Ref<MemOp>, flags: Int<i32>) false;
    StreamGetCtx "cuStreamGetCtx" stream_get_ctx(stream: Ref<Stream>, context: Ref<Ref<CuContext>>) false;
    EventCreate "cuEventCreate" event_create(event: Ref<Ref<Event>>, flags: Int<i32>) false;
    /// Stream and event are of one context.
    EventRecord "cuEventRecord" event_record(event: Ref<Event>, stream: Ref<Stream>) false;
    StreamWaitEvent "cuStreamWaitEvent" stream_wait_event(stream: Ref<Stream>, event: Ref<Event>, flags: Int<i32>) false;
    EventDestroy "cuEventDestroy_v2" event_destroy(event: Ref<Event>) false;
    /// Accepts a `CUkernel` in place of a `CUfunction`, and ignores the clusters of the config.
    OccupancyMaxPotentialClusterSize "cuOccupancyMaxPotentialClusterSize" occupancy_max_potential_cluster_size(
        size: Ref<i32>, kernel: Ref<CuKernel>, config: Ref<Config>) false;
    TensorMapEncodeIm2col "cuTensorMapEncodeIm2col" tensor_map_encode_im2col(
        map: Ref<u64>, dtype: Int<i32>, rank: Int<i32>, address: Ref<u8>, extents: Ref<u64>, strides: Ref<u64>, lower: Ref<i32>,
        upper: Ref<i32>, channels: Int<u32>, pixels: Int<u32>, steps: Ref<u32>, interleave: Int<i32>, swizzle: Int<i32>,
        promotion: Int<i32>, fill: Int<i32>) false;
}

/// Opaque types of the driver.
pub(crate) enum CuContext {}
pub(crate) enum CuLibrary {}
pub(crate) enum CuModule {}
pub(crate) enum CuKernel {}
pub(crate) enum CuFunction {}

/// Oldest supported version, in the encoding of `cuDriverGetVersion`.
pub(crate) const MIN_DRIVER_VERSION: i32 = 12_000;

/// Byte offsets in a `CUlaunchConfig`. The extents of grid and block and the size of the shared memory are 32 bits
/// each.
pub(crate) mod config {
    pub(crate) const SIZE: u32 = 56;
    pub(crate) const GRID: i32 = 0;
    pub(crate) const BLOCK: i32 = 12;
    pub(crate) const SHARED: i32 = 24;
    pub(crate) const STREAM: i32 = 32;
    pub(crate) const ATTRIBUTES: i32 = 40;
    pub(crate) const COUNT: i32 = 48;
    /// The words of 8 bytes without the stream, which comes fifth.
    pub(crate) const WORDS_BUT_STREAM: [i32; 6] = [0, 8, 16, 24, ATTRIBUTES, COUNT];
}

/// Byte offsets in a `CUlaunchAttribute`: a number, then a value of 64 bytes, whose unused bytes are zero.
pub(crate) mod attribute {
    pub(crate) const SIZE: u32 = 72;
    pub(crate) const ID: i32 = 0;
    pub(crate) const VALUE: i32 = 8;
    /// Size in words of 8 bytes.
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

pub(crate) use crate::resolve::launch::MAP_ALIGN;

/// Byte offsets in a `CUstreamBatchMemOpParams` that writes a value.
pub(crate) mod mem_op {
    pub(crate) const SIZE: u32 = 48;
    pub(crate) const KIND: i32 = 0;
    pub(crate) const ADDRESS: i32 = 8;
    pub(crate) const VALUE: i32 = 16;
    pub(crate) const FLAGS: i32 = 24;
    pub(crate) const ALIAS: i32 = 32;
    pub(crate) const PADDING: i32 = 40;
}

structs! {
    /// A `CUstreamBatchMemOpParams` that writes a value.
    MemOp MemOpFields: mem_op::SIZE, 8 => {
        kind: Field<u64> = mem_op::KIND,
        address: Field<u64> = mem_op::ADDRESS,
        value: Field<u64> = mem_op::VALUE,
        flags: Field<u64> = mem_op::FLAGS,
        alias: Field<u64> = mem_op::ALIAS,
        padding: Field<u64> = mem_op::PADDING,
    }
}

/// Values of `CUstreamBatchMemOpType`.
pub(crate) const WRITE_VALUE_32: u64 = 2;
pub(crate) const WRITE_VALUE_64: u64 = 5;

/// Largest number of operations in a call of `cuStreamBatchMemOp`, whose documentation wants fewer than 256.
pub(crate) const MOST_OPERATIONS: u64 = 255;

/// The device in the high half of the cell of an attribute: how far it is shifted, and the bit that is inverted.
pub(crate) const ATTRIBUTE_DEVICE_SHIFT: u64 = 32;
pub(crate) const ATTRIBUTE_KNOWN: u64 = 1 << 31;

/// Largest handle of the default stream of the current context. The others are NULL and `CU_STREAM_LEGACY` (1).
pub(crate) const CU_STREAM_PER_THREAD: i64 = 2;

/// Values of `CUresult`.
pub(crate) const CUDA_ERROR_INVALID_VALUE: i32 = 1;
pub(crate) const CUDA_ERROR_INVALID_DEVICE: i32 = 101;
pub(crate) const CUDA_ERROR_INVALID_CONTEXT: i32 = 201;
pub(crate) const CUDA_ERROR_NOT_SUPPORTED: i32 = 801;
const CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: i32 = 701;
const CUDA_ERROR_INVALID_CLUSTER_SIZE: i32 = 912;
const CUDA_ERROR_ILLEGAL_ADDRESS: i32 = 700;
const CUDA_ERROR_LAUNCH_TIMEOUT: i32 = 702;
const CUDA_ERROR_ASSERT: i32 = 710;
const CUDA_ERROR_HARDWARE_STACK_ERROR: i32 = 714;
const CUDA_ERROR_LAUNCH_FAILED: i32 = 719;
const CUDA_ERROR_TENSOR_MEMORY_LEAK: i32 = 721;

/// Returns true if a status leaves the process in an inconsistent state, so that later calls return it too (`cuda.h`,
/// `CUresult`).
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

/// Returns name and text of a status, which end with a NUL; NULL where there is none.
#[routine(inline)]
pub(crate) fn texts(status: i32) -> (&u8, &u8) {
    let name: &u8;
    let text: &u8;
    *name = null;
    *text = null;
    get_error_name(status, name);
    get_error_string(status, text);
    (*name, *text)
}

/// Returns true if a status may mean that a launch exceeds a limit.
#[routine(inline)]
pub(crate) fn may_exceed_limit(status: i32) -> bool {
    match status {
        CUDA_ERROR_INVALID_VALUE
        | CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        | CUDA_ERROR_INVALID_CLUSTER_SIZE => true,
        _ => false,
    }
}

/// Values of `CUdevice_attribute`. The attributes of the other extents of a block and a grid follow those of x.
pub(crate) const MAX_THREADS_PER_BLOCK: i32 = 1;
pub(crate) const MAX_BLOCK_DIM_X: i32 = 2;
pub(crate) const MAX_GRID_DIM_X: i32 = 5;
pub(crate) const CLUSTER_LAUNCH: i32 = 120;
/// `CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS`.
pub(crate) const WIDE_OPERATIONS: i32 = 122;
pub(crate) const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: i32 = 97;

/// Values of `CUfunction_attribute`.
pub(crate) const CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: i32 = 0;
pub(crate) const CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: i32 = 1;
pub(crate) const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
pub(crate) const CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: i32 = 14;

fields! {
    /// The variable of an image in a module.
    image Image ImageFields {
        /// The `CUlibrary`; NULL until the image is loaded.
        LIBRARY 0 library: Field<Ref<CuLibrary>>;
        BYTES 1 bytes: Field<Ref<u8>>;
        NAME 2 name: Field<Ref<u8>>;
        NAME_SIZE 3 name_size: Field<u64>;
    } 4;
    /// The variable of a GPU kernel in a module.
    kernel Kernel KernelFields {
        /// The `CUkernel`; NULL until the kernel is loaded.
        KERNEL 0 handle: Field<Ref<CuKernel>>;
        /// Bit mask of the devices on which the attributes in [`ALLOWED`] are set.
        DEVICES 1 devices: Field<u64>;
        IMAGE 2 image: Field<Ref<Image>>;
        /// The name of the kernel, which ends with a NUL.
        NAME 3 name: Field<Ref<u8>>;
        /// Length in bytes of the name in messages.
        SHOWN_SIZE 4 shown_size: Field<u64>;
        /// Bits of the attributes that launches of the kernel need: [`ALLOW_SHARED`](super::ALLOW_SHARED),
        /// [`ALLOW_CLUSTER`](super::ALLOW_CLUSTER).
        ALLOWED 5 allowed: Field<u64>;
        /// The addresses of functions of the driver, stored when the kernel is loaded: code that shares routines with
        /// other modules has no table of its own.
        GET_DEVICE 6 get_device: Field<Ref<u8>>;
        LAUNCH 7 launch: Field<Ref<u8>>;
        /// Number of parameters.
        COUNT 8 count: Field<i64>;
        /// The name in messages, elided if it is long.
        SHOWN 9 shown: Field<Ref<u8>>;
        /// The size of each parameter in bytes. The sizes follow the fields.
        SIZES 10 sizes: Nested<u64>;
    } 10;
    /// The constant that describes how to encode a tensor map.
    map How HowFields {
        RANK 0 rank: Field<i64>;
        DTYPE 1 dtype: Field<i64>;
        /// Size of an element in bits.
        BITS 2 bits: Field<u64>;
        INTERLEAVE 3 interleave: Field<i64>;
        SWIZZLE 4 swizzle: Field<i64>;
        PROMOTION 5 promotion: Field<i64>;
        FILL 6 fill: Field<i64>;
        /// Bytes of which the address and the strides are multiples.
        UNIT 7 unit: Field<u64>;
        /// Bits of what the declaration gives: [`GIVEN_DIMS`](super::GIVEN_DIMS) and the like.
        GIVEN 8 given: Field<u64>;
        /// Number of inputs in the [cache](super::cache) of the site.
        INPUTS 9 inputs: Field<u64>;
        NAME_SIZE 10 name_size: Field<u64>;
        /// The name of the tensor, which follows the fields.
        NAME 11 name: Nested<u8>;
    } 11;
    /// The cache of a site that makes tensor maps: the last map and the inputs that it was encoded from. The inputs
    /// follow the fields.
    ///
    /// The counter is odd while the cache holds a map; it is 0 in an empty cache and another even number while a thread
    /// writes. A reader loads the counter, inputs and map, and the counter again, all with acquire ordering. If it has
    /// read a word of a later map, then it has read what a release store wrote after the writer had changed the
    /// counter; so its second load of the counter finds a change. A reader that finds the counter even or changed, or
    /// another input, encodes the map in its frame. A writer that loses the compare-exchange of the counter stores
    /// nothing. So nobody waits, also in the child of a process that was forked while another thread wrote.
    cache Cache CacheFields {
        COUNTER 0 counter: Field<u64>;
        MAP 1 map: Nested<u64>;
        INPUTS 17 inputs: Nested<u64>;
    } 17;
    /// A launch that a closure keeps. Its area follows the fields: the config of the first call, the attributes, the
    /// addresses of the arguments and the arguments that are the same in every call. Addresses in it are of itself, or
    /// of what the closure holds.
    ///
    /// The first call fills it; calls that find it partly filled launch from their frames.
    kept Kept KeptFields {
        /// [`KEPT_EMPTY`](super::KEPT_EMPTY), then [`KEPT_FILLING`](super::KEPT_FILLING), then
        /// [`KEPT_FULL`](super::KEPT_FULL).
        STATE 0 state: Field<u64>;
        /// The index of the device.
        DEVICE 1 device: Field<i64>;
        /// The `CUkernel`, which has the permissions that it needs.
        KERNEL 2 kernel: Field<Ref<CuKernel>>;
        AREA 3 area: Nested<u64>;
    } 3;
}

/// Values of [`kept::STATE`].
pub(crate) const KEPT_EMPTY: u64 = 0;
pub(crate) const KEPT_FILLING: u64 = 1;
pub(crate) const KEPT_FULL: u64 = 2;

/// Number of words of a tensor map.
pub(crate) const MAP_WORDS: u32 = MAP_SIZE / 8;

/// Bits of [`map::GIVEN`]: the declaration gives dims, strides, an offset; the elements of the map share bytes.
pub(crate) const GIVEN_DIMS: u64 = 1;
pub(crate) const GIVEN_STRIDES: u64 = 2;
pub(crate) const GIVEN_OFFSET: u64 = 4;
pub(crate) const GIVEN_PACKED: u64 = 8;

/// Bits of [`kernel::ALLOWED`].
pub(crate) const ALLOW_SHARED: u64 = 1;
pub(crate) const ALLOW_CLUSTER: u64 = 2;
