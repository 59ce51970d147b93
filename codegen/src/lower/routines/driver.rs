//! Routines that CUDA and HIP both have: opening the library, commands on streams other than launches, and raising the
//! errors of the library. What differs between the platforms stands in the table of [`Driver`].

use std::fmt::Debug;

use abi_spec::DeviceType;

use crate::ir::Builder;
use crate::ir::typed::{Bool, Field, Int, Raise, Ref, Struct, Text};
use crate::lower::cuda::{self, Config};
use crate::lower::driver::Stream;
use crate::lower::dynamic::Entries;
use crate::lower::hip;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda as on_cuda;
use crate::lower::routines::driver::command::Command;
use crate::lower::routines::driver::failed::Attempt;
use crate::lower::routines::driver::limits::Extents;
use crate::lower::routines::hip as on_hip;
use crate::lower::routines::memory::Caller;

pub(super) mod command;
pub(super) mod failed;
pub(super) mod global;
pub(super) mod limits;
pub(super) mod open;
pub(super) mod thread;

/// Declares [`Driver`]. A row is a type, the symbol of a routine, a constant or a function, and what it is
/// for CUDA and for HIP.
macro_rules! platforms {
    (
        types { $($(#[$type_doc:meta])* $ty:ident: $($bound:ident)+ = $cuda_ty:ty, $hip_ty:ty;)* }
        symbols { $($symbol:ident: $cuda_symbol:literal, $hip_symbol:literal;)* }
        constants { $($(#[$const_doc:meta])* $name:ident: $const_ty:ty = $cuda_value:expr, $hip_value:expr;)* }
        functions { $($(#[$fn_doc:meta])* $fn:ident($($arg:ident: $arg_ty:ty),*) -> $result:ty = $cuda_fn:expr, $hip_fn:expr;)* }
    ) => {
        /// A platform: a library that launches GPU kernels, and its facts.
        pub(crate) trait Driver: Copy + Debug + 'static {
            $($(#[$type_doc])* type $ty: $($bound +)+;)*
            $(const $symbol: &'static str;)*
            $($(#[$const_doc])* const $name: $const_ty;)*
            $($(#[$fn_doc])* fn $fn(b: &mut Builder<'_>, $($arg: $arg_ty),*) -> $result;)*
        }

        impl Driver for Cuda {
            $(type $ty = $cuda_ty;)*
            $(const $symbol: &'static str = concat!("tvm_ffi_codegen.", $cuda_symbol);)*
            $(const $name: $const_ty = $cuda_value;)*
            $(fn $fn(b: &mut Builder<'_>, $($arg: $arg_ty),*) -> $result { ($cuda_fn)(b, $($arg),*).into() })*
        }

        impl Driver for Hip {
            $(type $ty = $hip_ty;)*
            $(const $symbol: &'static str = concat!("tvm_ffi_codegen.", $hip_symbol);)*
            $(const $name: $const_ty = $hip_value;)*
            $(fn $fn(b: &mut Builder<'_>, $($arg: $arg_ty),*) -> $result { ($hip_fn)(b, $($arg),*).into() })*
        }
    };
}

/// The CUDA driver.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cuda {}

/// The HIP runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hip {}

platforms! {
    types {
        Entry: Entries = cuda::Entry, hip::Entry;
        /// The variable of a kernel in a module.
        Kernel: Copy Debug = cuda::Kernel, hip::Kernel;
        /// The variable of an image in a module.
        Image: Copy Debug = cuda::Image, hip::Image;
        /// Values of messages about the clusters of a launch.
        Cluster: Raise = Extents, ();
    }
    symbols {
        OPEN_DRIVER: "open_driver", "open_hip";
        DRIVER_FAILED: "driver_failed", "hip_failed";
        KERNEL_FAILED: "kernel_failed", "hip_kernel_failed";
        LAUNCH_FAILED: "launch_failed", "hip_launch_failed";
        UP_TO: "up_to", "hip_up_to";
        FITS: "fits", "hip_fits";
        FILL: "fill", "hip_fill";
        COPY: "copy", "hip_copy";
        WAIT: "wait", "hip_wait";
        RECORD: "record", "hip_record";
        DEVICE_ATTRIBUTE: "device_attribute", "hip_device_attribute";
        CURRENT_DEVICE: "current_device", "hip_current_device";
        FIND_GLOBAL: "find_global", "hip_find_global";
        RUN_HOOK: "run_hook", "hip_run_hook";
    }
    constants {
        DEVICE_TYPE: i64 = DeviceType::CUDA.0 as i64, DeviceType::ROCM.0 as i64;
        /// Status for a device that there is not.
        INVALID_DEVICE: i32 = cuda::CUDA_ERROR_INVALID_DEVICE, hip::HIP_ERROR_INVALID_DEVICE;
        /// Status of a thread that has no current device yet, which for a runtime is device 0.
        NO_DEVICE_YET: i32 = cuda::CUDA_ERROR_INVALID_CONTEXT, hip::HIP_ERROR_INVALID_CONTEXT;

        // Names of the library's file, newest first, for each `Loader`. The last one of HIP is a link that development
        // packages have.
        DL_FILES: &'static [&'static str] =
            &["libcuda.so.1"], &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"];
        WINDOWS_FILES: &'static [&'static str] = &["nvcuda.dll"], &["amdhip64_7.dll", "amdhip64_6.dll"];

        // Fields of the variables.
        KERNEL_IMAGE: Field<Ref<Self::Image>> = cuda::Kernel::FIELDS.image, hip::Kernel::FIELDS.image;
        KERNEL_SHOWN: Field<Ref<u8>> = cuda::Kernel::FIELDS.shown, hip::Kernel::FIELDS.shown;
        KERNEL_SHOWN_SIZE: Field<u64> = cuda::Kernel::FIELDS.shown_size, hip::Kernel::FIELDS.shown_size;
        IMAGE_NAME: Field<Ref<u8>> = cuda::Image::FIELDS.name, hip::Image::FIELDS.name;
        IMAGE_NAME_SIZE: Field<u64> = cuda::Image::FIELDS.name_size, hip::Image::FIELDS.name_size;

        GET_DEVICE: Self::Entry = cuda::Entry::CtxGetDevice, hip::Entry::GetDevice;
        DEVICE_GET_ATTRIBUTE: Self::Entry = cuda::Entry::DeviceGetAttribute, hip::Entry::DeviceGetAttribute;
        GET_GLOBAL: Self::Entry = cuda::Entry::LibraryGetGlobal, hip::Entry::ModuleGetGlobal;
        /// The function whose status is that of [`Self::handles`]; a runtime has its handle since it was loaded.
        GET_HANDLES: Self::Entry = cuda::Entry::LibraryGetModule, hip::Entry::ModuleLoadData;
        MEMSET: Self::Entry = cuda::Entry::MemsetD8Async, hip::Entry::MemsetAsync;
        MEMSET_WORDS: Self::Entry = cuda::Entry::MemsetD32Async, hip::Entry::MemsetD32Async;
        MEMCPY: Self::Entry = cuda::Entry::MemcpyAsync, hip::Entry::MemcpyAsync;
        EVENT_CREATE: Self::Entry = cuda::Entry::EventCreate, hip::Entry::EventCreateWithFlags;
        EVENT_RECORD: Self::Entry = cuda::Entry::EventRecord, hip::Entry::EventRecord;
        EVENT_DESTROY: Self::Entry = cuda::Entry::EventDestroy, hip::Entry::EventDestroy;
        STREAM_WAIT_EVENT: Self::Entry = cuda::Entry::StreamWaitEvent, hip::Entry::StreamWaitEvent;
        /// `CU_EVENT_DISABLE_TIMING`, `hipEventDisableTiming`.
        DISABLE_TIMING: i32 = 2, 2;

        NO_LIBRARY: Complaint = Complaint::NoDriver, Complaint::NoHip;
        NO_ENTRY: Complaint = Complaint::NoEntry, Complaint::NoHipEntry;
        LAUNCH: Complaint = Complaint::Launch, Complaint::HipLaunch;
    }
    functions {
        /// Prepares the library, whose functions are found. Returns 0, or -1 once it has raised.
        start(caller: Caller, file: Text) -> Option<Int<i32>> = on_cuda::context::start, |_, _, _| None::<Int<i32>>;
        /// Returns name and text of a status, which end with a NUL; NULL where there is none.
        texts(status: Int<i32>) -> (Ref<u8>, Ref<u8>) = cuda::texts, hip::texts;
        /// Returns true if a status may stem from earlier work.
        is_lasting(status: Int<i32>) -> Bool = cuda::loses_context, hip::loses_device;
        /// Returns true if a status may mean that a launch exceeds a limit.
        may_exceed_limit(status: Int<i32>) -> Bool = cuda::may_exceed_limit, hip::may_exceed_limit;

        /// Makes a device current. Returns 0 if it already is, another number for [`Self::leave`], or -1 once it has
        /// raised.
        enter(attempt: Attempt<Self>) -> Int<i32> = on_cuda::context::enter_context, on_hip::device::enter_device;
        /// Makes the device of a stream current: of a default stream that of the command. Returns as [`Self::enter`]
        /// does.
        enter_stream(command: Command, stream: Ref<Stream>) -> Int<i32> = on_cuda::command::enter_stream, on_hip::command::stream_device;
        /// Makes the device of the stream of a command current, if a wait needs that. Returns as [`Self::enter`] does.
        enter_waiter(command: Command) -> Int<i32> = on_cuda::command::enter_waiter, on_hip::command::enter_waiter;
        /// Makes what was current before `entered` was returned current again. Returns 0, or -1 once it has raised. A
        /// `status` that is not 0 is an earlier failure, whose error takes precedence.
        leave(caller: Caller, entered: Int<i32>, status: Int<i32>) -> Int<i32> = on_cuda::context::leave, on_hip::device::leave_device;
        /// Copies memory on a stream; yields the status.
        copy_memory(to: Ref<u8>, from: Ref<u8>, bytes: Int<u64>, stream: Ref<Stream>) -> Int<i32> = cuda::memcpy_async, on_hip::command::copy_memory;
        /// Checks that the library has what waits need. Returns 0, or -1 once it has raised.
        can_wait(caller: Caller) -> Option<Int<i32>> = on_cuda::command::can_wait, |_, _| None::<Int<i32>>;

        /// Loads the image of a kernel on the device, which is current, unless it is loaded. Returns 0, or -1 once it
        /// has raised.
        load_image(attempt: Attempt<Self>) -> Int<i32> = on_cuda::load::load_image, on_hip::load::load_module;
        /// Finds address and size of the device variable in the place of a kernel, whose image is loaded; yields the
        /// status.
        get_global(attempt: Attempt<Self>, address: Ref<Ref<u8>>, size: Ref<u64>) -> Int<i32> = on_cuda::load::get_global, on_hip::load::get_global;
        /// Returns the library and the module of an image that is loaded, NULL for what the platform has not, and a
        /// status.
        handles(attempt: Attempt<Self>) -> (Ref<u8>, Ref<u8>, Int<i32>) = on_cuda::load::handles, on_hip::load::handles;

        /// Returns the extents of the clusters of a launch.
        cluster(config: Ref<Config>) -> Self::Cluster = on_cuda::limits::cluster, |_, _| ();
        /// Raises the error for the first limit that a launch exceeds. Returns 0 if it exceeds none that is known here,
        /// or -1 once it has raised.
        check_limits(attempt: Attempt<Self>, config: Ref<Config>) -> Int<i32> = on_cuda::limits::check_limits, on_hip::limits::hip_check_limits;
    }
}
