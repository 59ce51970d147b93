//! Loading images and kernels at their first launch, and setting the attributes that kernels need.

use crate::ir::typed::routine;
use crate::lower::cuda::{self, Config, CuKernel, CuLibrary, CuModule, Entry, Image};
use crate::lower::dynamic::entry_address;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::DEVICES;
use crate::lower::routines::cuda::shared::fit_shared;
use crate::lower::routines::driver::Cuda;
use crate::lower::routines::driver::failed::{Attempt, check, shown};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::message::raise;

/// Number of parameters at which [`check_params()`] stops counting.
const MOST_PARAMS: i64 = 4096;

/// Loads a kernel with its image and checks its parameters. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn load_kernel(attempt: Attempt<Cuda>) -> i32 {
    open_driver::<Cuda>(attempt.caller)?;
    load_image(attempt)?;
    let kernel = attempt.kernel;
    let library = (&kernel.image.library).load_atomic();
    let found: &CuKernel;
    check(Entry::LibraryGetKernel, attempt, cuda::library_get_kernel(found, library, kernel.name))?;
    check_params(attempt, *found)?;
    (&kernel.get_device).store_atomic(entry_address(Entry::CtxGetDevice));
    (&kernel.launch).store_atomic(entry_address(Entry::LaunchKernelEx));
    (&kernel.handle).store_atomic(*found);
    0
}

/// Loads the image of a kernel. Returns 0, or -1 once it has raised. If threads race, one stores its library and the
/// others unload theirs.
#[routine]
pub(crate) fn load_image(attempt: Attempt<Cuda>) -> i32 {
    let image = attempt.kernel.image;
    if (&image.library).load_atomic() != null {
        return 0;
    }
    let library: &CuLibrary;
    let status = cuda::library_load_data(library, image.bytes, null, null, 0, null, null, 0);
    check(Entry::LibraryLoadData, attempt, status)?;
    if (&image.library).compare_exchange(null, *library) != null {
        cuda::library_unload(*library);
    }
    0
}

/// Finds address and size of the device variable in the place of a kernel, in the current context; yields the status.
#[routine(inline)]
pub(crate) fn get_global(attempt: Attempt<Cuda>, address: &&u8, size: &u64) -> i32 {
    let library = (&attempt.kernel.image.library).load_atomic();
    cuda::library_get_global(address, size, library, attempt.kernel.name)
}

/// Returns the `CUlibrary` of an image, its `CUmodule` in the current context, and a status.
#[routine(inline)]
pub(crate) fn handles(attempt: Attempt<Cuda>) -> (&u8, &u8, i32) {
    let library = (&attempt.kernel.image.library).load_atomic();
    let module: &CuModule;
    *module = null;
    let status = cuda::library_get_module(module, library);
    (library as &u8, *module as &u8, status)
}

/// Unloads an image from the driver.
#[routine]
pub(crate) fn unload_image(image: &Image) {
    let library = (&image.library).load_atomic();
    if library != null {
        (&image.library).store_atomic(null);
        cuda::library_unload(library);
    }
}

/// Compares number and sizes of the declared parameters with those of the compiled kernel, if the driver can report
/// these: under compute-sanitizer it does so only where a context is current, and this thread may have none yet.
/// Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn check_params(attempt: Attempt<Cuda>, found: &CuKernel) -> i32 {
    if entry_address(Entry::KernelGetParamInfo) == null {
        return 0;
    }
    let (caller, kernel) = (attempt.caller, attempt.kernel);
    let (name, count) = (shown(attempt), kernel.count);
    let offset: u64;
    let size: u64;
    let mut wrong: i64 = -1;
    let mut its: u64 = 0;
    for at in 0..count {
        let status = cuda::kernel_get_param_info(found, at, offset, size);
        if status == cuda::CUDA_ERROR_INVALID_CONTEXT {
            return 0;
        }
        if status == cuda::CUDA_ERROR_INVALID_VALUE {
            raise!(caller, Complaint::Params, name, at, count);
        }
        check(Entry::KernelGetParamInfo, attempt, status)?;
        let found = *size;
        if found != kernel.sizes[at] && wrong < 0 {
            wrong = at;
            its = found;
        }
    }
    let mut has = count;
    while cuda::kernel_get_param_info(found, has, offset, size) == 0 && has < MOST_PARAMS {
        has += 1;
    }
    if has != count {
        raise!(caller, Complaint::Params, name, has, count);
    }
    if wrong >= 0 {
        raise!(caller, Complaint::ParamSize, wrong, name, its, kernel.sizes[wrong]);
    }
    0
}

/// Sets the attributes that a kernel needs on a device. For a device with a bit in the masks, this is done once.
/// Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn allow(attempt: Attempt<Cuda>, config: &Config) -> i32 {
    let (kernel, device) = (attempt.kernel, attempt.device);
    let has_bit = device < DEVICES;
    let bit = (has_bit as u64) << (device & (DEVICES - 1));
    let devices = (&kernel.devices).load_atomic();
    if devices & bit != 0 {
        return 0;
    }
    let allowed = kernel.allowed;
    if allowed & cuda::ALLOW_SHARED != 0 {
        let most = fit_shared(attempt, config);
        if most < 0 {
            return -1;
        }
        set(attempt, cuda::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most)?;
    }
    if allowed & cuda::ALLOW_CLUSTER != 0 {
        set(attempt, cuda::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
    }
    // A thread that loses this race sets the same attributes once more.
    (&kernel.devices).compare_exchange(devices, devices | bit);
    0
}

/// Sets an attribute of a kernel on a device. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn set(attempt: Attempt<Cuda>, attribute: i32, value: i32) -> i32 {
    let kernel = (&attempt.kernel.handle).load_atomic();
    let status = cuda::kernel_set_attribute(attribute, value, kernel, attempt.device as i32);
    check(Entry::KernelSetAttribute, attempt, status)
}
