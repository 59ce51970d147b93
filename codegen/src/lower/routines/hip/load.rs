//! Loading images and kernels on a device, at their first launch there.

use crate::ir::typed::routine;
use crate::lower::dynamic::entry_address;
use crate::lower::hip::{self, DEVICES, Entry, HipFunction, HipModule, Image, Kernel};
use crate::lower::routines::driver::Hip;
use crate::lower::routines::driver::failed::{Attempt, check, kernel_failed};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::hip::device::{enter_device, leave_device};

/// Loads a kernel with its image on a device. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn load_function(attempt: Attempt<Hip>) -> i32 {
    open_driver::<Hip>(attempt.caller)?;
    if attempt.device >= DEVICES {
        kernel_failed(attempt, "", hip::HIP_ERROR_INVALID_DEVICE);
        return -1;
    }
    let entered = enter_device(attempt);
    if entered < 0 {
        return -1;
    }
    let code = load_here(attempt);
    let left = leave_device(attempt.caller, entered, code);
    if code != 0 { code } else { left }
}

/// Loads a kernel with its image on the current device. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn load_here(attempt: Attempt<Hip>) -> i32 {
    load_module(attempt)?;
    let (kernel, device) = (attempt.kernel, attempt.device);
    let modules = kernel.image.modules;
    let module = (&modules[device]).load_atomic();
    let found: &HipFunction;
    check(Entry::ModuleGetFunction, attempt, hip::module_get_function(found, module, kernel.name))?;
    (&kernel.get_device).store_atomic(entry_address(Entry::GetDevice));
    (&kernel.launch).store_atomic(entry_address(Entry::ModuleLaunchKernel));
    let cooperative = entry_address(Entry::ModuleLaunchCooperativeKernel);
    (&kernel.launch_cooperative).store_atomic(cooperative);
    let functions = kernel.functions;
    (&functions[device]).store_atomic(*found);
    0
}

/// Loads the image of a kernel on the current device. Returns 0, or -1 once it has raised. If threads race, one stores
/// its module and the others unload theirs.
#[routine]
pub(crate) fn load_module(attempt: Attempt<Hip>) -> i32 {
    let image = attempt.kernel.image;
    let modules = image.modules;
    let cell = &modules[attempt.device];
    if cell.load_atomic() != null {
        return 0;
    }
    let module: &HipModule;
    check(Entry::ModuleLoadData, attempt, hip::module_load_data(module, image.bytes))?;
    if cell.compare_exchange(null, *module) != null {
        hip::module_unload(*module);
    }
    0
}

/// Finds address and size of the device variable in the place of a kernel, on the current device; yields the status.
#[routine(inline)]
pub(crate) fn get_global(attempt: Attempt<Hip>, address: &&u8, size: &u64) -> i32 {
    let modules = attempt.kernel.image.modules;
    let module = (&modules[attempt.device]).load_atomic();
    hip::module_get_global(address, size, module, attempt.kernel.name)
}

/// Returns no library, the `hipModule_t` of an image on a device, and a status, which is 0.
#[routine(inline)]
pub(crate) fn handles(attempt: Attempt<Hip>) -> (&u8, &u8, i32) {
    let modules = attempt.kernel.image.modules;
    let module = (&modules[attempt.device]).load_atomic();
    let library: &u8 = null;
    let status: i32 = 0;
    (library, module as &u8, status)
}

/// Unloads an image from all devices.
#[routine]
pub(crate) fn unload_modules(image: &Image) {
    let modules = image.modules;
    for device in 0..DEVICES {
        let cell = &modules[device];
        let module = cell.load_atomic();
        if module != null {
            cell.store_atomic(null);
            hip::module_unload(module);
        }
    }
}

/// Forgets a kernel on all devices.
#[routine]
pub(crate) fn forget_function(kernel: &Kernel) {
    let functions = kernel.functions;
    for device in 0..DEVICES {
        (&functions[device]).store_atomic(null);
    }
}
