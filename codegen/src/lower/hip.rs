//! Facts of the HIP runtime, from `hip_runtime_api.h` of 6.0 and newer: functions, layouts and constants. The code that
//! loads kernels and makes devices current is in [`routines`](mod@super::routines).

use crate::ir::Builder;
use crate::ir::typed::{Handle, Int, Ref, routine};
use crate::lower::driver::{Event, Stream, fields};
use crate::lower::dynamic::entries;

entries! {
    "tvm_ffi_codegen.hip";
    GetDevice "hipGetDevice" get_device(device: Ref<i32>) true;
    SetDevice "hipSetDevice" set_device(device: Int<i32>) true;
    /// Returns the text.
    GetErrorName "hipGetErrorName" get_error_name(status: Int<i32>) -> Ref<u8>, true;
    /// Returns the text.
    GetErrorString "hipGetErrorString" get_error_string(status: Int<i32>) -> Ref<u8>, true;
    DeviceGetAttribute "hipDeviceGetAttribute" device_get_attribute(value: Ref<i32>, attribute: Int<i32>, device: Int<i32>) true;
    /// Loads code for the current device.
    ModuleLoadData "hipModuleLoadData" module_load_data(module: Ref<Ref<HipModule>>, image: Ref<u8>) true;
    ModuleUnload "hipModuleUnload" module_unload(module: Ref<HipModule>) true;
    ModuleGetFunction "hipModuleGetFunction" module_get_function(function: Ref<Ref<HipFunction>>, module: Ref<HipModule>, name: Ref<u8>) true;
    ModuleGetGlobal "hipModuleGetGlobal" module_get_global(address: Ref<Ref<u8>>, size: Ref<u64>, module: Ref<HipModule>, name: Ref<u8>) true;
    FuncGetAttribute "hipFuncGetAttribute" func_get_attribute(value: Ref<i32>, attribute: Int<i32>, function: Ref<HipFunction>) true;
    ModuleLaunchKernel "hipModuleLaunchKernel" module_launch_kernel(
        function: Ref<HipFunction>, grid_x: Int<u32>, grid_y: Int<u32>, grid_z: Int<u32>, block_x: Int<u32>, block_y: Int<u32>,
        block_z: Int<u32>, shared: Int<u32>, stream: Ref<Stream>, params: Ref<Ref<u8>>, extra: Ref<Ref<u8>>) true;
    ModuleLaunchCooperativeKernel "hipModuleLaunchCooperativeKernel" module_launch_cooperative_kernel(
        function: Ref<HipFunction>, grid_x: Int<u32>, grid_y: Int<u32>, grid_z: Int<u32>, block_x: Int<u32>, block_y: Int<u32>,
        block_z: Int<u32>, shared: Int<u32>, stream: Ref<Stream>, params: Ref<Ref<u8>>) true;
    MemsetAsync "hipMemsetAsync" memset_async(to: Ref<u8>, value: Int<i32>, bytes: Int<u64>, stream: Ref<Stream>) true;
    MemsetD32Async "hipMemsetD32Async" memset_d32_async(to: Ref<u32>, value: Int<u32>, count: Int<u64>, stream: Ref<Stream>) true;
    MemcpyAsync "hipMemcpyAsync" memcpy_async(to: Ref<u8>, from: Ref<u8>, bytes: Int<u64>, kind: Int<i32>, stream: Ref<Stream>) true;
    EventCreateWithFlags "hipEventCreateWithFlags" event_create_with_flags(event: Ref<Ref<Event>>, flags: Int<u32>) true;
    /// Stream and event are of one device.
    EventRecord "hipEventRecord" event_record(event: Ref<Event>, stream: Ref<Stream>) true;
    StreamWaitEvent "hipStreamWaitEvent" stream_wait_event(stream: Ref<Stream>, event: Ref<Event>, flags: Int<u32>) true;
    EventDestroy "hipEventDestroy" event_destroy(event: Ref<Event>) true;
    /// Since 5.6.
    StreamGetDevice "hipStreamGetDevice" stream_get_device(stream: Ref<Stream>, device: Ref<i32>) false;
}

/// Returns name and text of a status, which end with a NUL.
pub(crate) fn texts(b: &mut Builder<'_>, status: Int<i32>) -> (Ref<u8>, Ref<u8>) {
    (get_error_name(b, status), get_error_string(b, status))
}

/// Opaque types of the runtime.
pub(crate) enum HipModule {}
pub(crate) enum HipFunction {}

/// Largest handle of a default stream, `hipStreamPerThread`. The others are NULL and `hipStreamLegacy` (1).
pub(crate) const LAST_DEFAULT: u64 = 2;

/// Values of `hipError_t`.
const HIP_ERROR_INVALID_VALUE: i32 = 1;
const HIP_ERROR_INVALID_CONFIGURATION: i32 = 9;
pub(crate) const HIP_ERROR_INVALID_DEVICE: i32 = 101;
pub(crate) const HIP_ERROR_INVALID_CONTEXT: i32 = 201;
const HIP_ERROR_ILLEGAL_ADDRESS: i32 = 700;
const HIP_ERROR_LAUNCH_OUT_OF_RESOURCES: i32 = 701;
const HIP_ERROR_ASSERT: i32 = 710;
const HIP_ERROR_LAUNCH_FAILURE: i32 = 719;

/// Returns true if a status may stem from earlier work on the device.
#[routine(inline)]
pub(crate) fn loses_device(status: i32) -> bool {
    match status {
        HIP_ERROR_ILLEGAL_ADDRESS | HIP_ERROR_ASSERT | HIP_ERROR_LAUNCH_FAILURE => true,
        _ => false,
    }
}

/// Returns true if a status may mean that a launch exceeds a limit.
#[routine(inline)]
pub(crate) fn may_exceed_limit(status: i32) -> bool {
    match status {
        HIP_ERROR_INVALID_VALUE
        | HIP_ERROR_INVALID_CONFIGURATION
        | HIP_ERROR_LAUNCH_OUT_OF_RESOURCES => true,
        _ => false,
    }
}

/// Values of `hipDeviceAttribute_t`. The attributes of the other extents of a block and a grid follow those of x.
pub(crate) const MAX_BLOCK_DIM_X: i32 = 26;
pub(crate) const MAX_GRID_DIM_X: i32 = 29;
pub(crate) const MAX_THREADS_PER_BLOCK: i32 = 56;
pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK: i32 = 74;

/// `HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`.
pub(crate) const SHARED_SIZE_BYTES: i32 = 1;

/// `hipMemcpyDefault`: the addresses tell on which devices they are.
pub(crate) const HIP_MEMCPY_DEFAULT: i32 = 4;

pub(crate) use crate::lower::driver::DEVICES;

fields! {
    /// The variable of an image in a module.
    image Image ImageFields {
        BYTES 0 bytes: Field<Ref<u8>>;
        NAME 1 name: Field<Ref<u8>>;
        NAME_SIZE 2 name_size: Field<u64>;
        /// The `hipModule_t` of each device; NULL until the image is loaded on it.
        MODULES 3 modules: Nested<Ref<HipModule>>;
    } 3 + super::DEVICES as u32;
    /// The variable of a GPU kernel in a module.
    kernel Kernel KernelFields {
        IMAGE 0 image: Field<Ref<Image>>;
        /// The name of the kernel, which ends with a NUL.
        NAME 1 name: Field<Ref<u8>>;
        /// Length in bytes of the name in messages.
        SHOWN_SIZE 2 shown_size: Field<u64>;
        /// The name in messages, elided if it is long.
        SHOWN 3 shown: Field<Ref<u8>>;
        /// The addresses of functions of the runtime, stored when the kernel is loaded: code that shares routines with
        /// other modules has no table of its own.
        GET_DEVICE 4 get_device: Field<Ref<u8>>;
        LAUNCH 5 launch: Field<Ref<u8>>;
        LAUNCH_COOPERATIVE 6 launch_cooperative: Field<Ref<u8>>;
        /// The `hipFunction_t` of each device; NULL until the kernel is loaded on it.
        FUNCTIONS 7 functions: Nested<Ref<HipFunction>>;
    } 7 + super::DEVICES as u32;
}
