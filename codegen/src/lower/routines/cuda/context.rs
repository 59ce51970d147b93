//! CUDA contexts: making the primary context of a device current, and preparing a kernel in it so that its launches
//! load nothing. The default stream belongs to the current context.

use crate::ir::Builder;
use crate::ir::typed::{Ref, Text, routine};
use crate::lower::cuda::{self, Config, CuContext, CuFunction, Entry};
use crate::lower::dynamic::{entry_address, variable};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::DEVICES;
use crate::lower::routines::cuda::load::{allow, load_kernel};
use crate::lower::routines::driver::Cuda;
use crate::lower::routines::driver::failed::{
    Attempt, check, check_driver, check_of, kernel_failed,
};
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Emits the address of the table of primary contexts, one for each device. A context is retained once and never
/// released.
fn contexts(b: &mut Builder<'_>) -> Ref<Ref<CuContext>> {
    variable(b, "tvm_ffi_codegen.contexts", DEVICES)
}

/// Checks the version of the driver, whose library is `file`, and initializes it. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(crate) fn start(caller: Caller, file: Text) -> i32 {
    let version: i32;
    check_driver::<Cuda>(Entry::DriverGetVersion, caller, cuda::driver_get_version(version))?;
    if *version < cuda::MIN_DRIVER_VERSION {
        raise!(caller, Complaint::OldDriver, file, cuda::MIN_DRIVER_VERSION, *version);
    }
    check_driver::<Cuda>(Entry::Init, caller, cuda::init(0))?;
    0
}

/// Makes the primary context of a device current unless the current context is of that device. Returns 1 if it has
/// pushed a context, else 0, or -1 once it has raised.
#[routine]
pub(crate) fn enter_context(attempt: Attempt<Cuda>) -> i32 {
    let current: i32;
    let status = cuda::ctx_get_device(current);
    if status == 0 && *current as u64 == attempt.device {
        return 0;
    }
    enter_primary(attempt, status)?;
    1
}

/// Makes the primary context of a device current where the current context is not of the device. `status` is that of
/// the `cuCtxGetDevice` which found this. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn enter_primary(attempt: Attempt<Cuda>, status: i32) -> i32 {
    if status != cuda::CUDA_ERROR_INVALID_CONTEXT {
        check_of(Entry::CtxGetDevice, attempt, status)?;
    }
    push_primary(attempt)
}

/// Pushes the primary context of a device. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn push_primary(attempt: Attempt<Cuda>) -> i32 {
    let device = attempt.device;
    let has_place = device < DEVICES;
    let place = if has_place { device } else { 0 };
    let cell = &contexts()[place];
    let context: &CuContext;
    *context = null;
    if has_place {
        *context = cell.load_atomic();
    }
    if *context == null {
        let status = cuda::device_primary_ctx_retain(context, device as i32);
        check_of(Entry::DevicePrimaryCtxRetain, attempt, status)?;
        // If threads race, one stores the context and the others release it.
        if has_place && cell.compare_exchange(null, *context) != null {
            cuda::device_primary_ctx_release(device as i32);
        }
    }
    check_of(Entry::CtxPushCurrent, attempt, cuda::ctx_push_current(*context))
}

/// Pops the context that [`enter_context()`], [`enter_primary()`] or [`push_primary()`] has pushed. Returns 0, or -1
/// once it has raised. A `status` that is not 0 is an earlier failure, whose error takes precedence: no error of
/// popping is raised.
#[routine]
pub(crate) fn leave_context(caller: Caller, status: i32) -> i32 {
    let context: &CuContext;
    let popped = cuda::ctx_pop_current(context);
    if status != 0 {
        return 0;
    }
    check_driver::<Cuda>(Entry::CtxPopCurrent, caller, popped)
}

/// Pops the context if [`enter_context()`] has pushed one. Returns as [`leave_context()`] does.
#[routine(inline)]
pub(crate) fn leave(caller: Caller, entered: i32, status: i32) -> i32 {
    let mut left: i32 = 0;
    if entered != 0 {
        left = leave_context(caller, status);
    }
    left
}

/// Prepares a kernel on a device, in its primary context. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn prepare(attempt: Attempt<Cuda>) -> i32 {
    load_kernel(attempt)?;
    if attempt.device > i32::MAX as u64 {
        kernel_failed(attempt, "", cuda::CUDA_ERROR_INVALID_DEVICE);
        return -1;
    }
    push_primary(attempt)?;
    let code = prepare_here(attempt);
    let left = leave_context(attempt.caller, code);
    if code != 0 { code } else { left }
}

/// Prepares a kernel in the current context. Returns 0, or -1 once it has raised. The driver copies code to the device
/// only when the function of the kernel is loaded.
#[routine]
pub(crate) fn prepare_here(attempt: Attempt<Cuda>) -> i32 {
    let plain: Config;
    plain.shared = 0;
    allow(attempt, plain)?;
    let function: &CuFunction;
    let status = cuda::kernel_get_function(function, (&attempt.kernel.handle).load_atomic());
    check(Entry::KernelGetFunction, attempt, status)?;
    if entry_address(Entry::FuncLoad) != null {
        check(Entry::FuncLoad, attempt, cuda::func_load(*function))?;
    }
    0
}
