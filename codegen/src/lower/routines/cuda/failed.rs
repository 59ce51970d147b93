//! Raising errors for a status of the driver.

use abi_spec::DeviceType;

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Text, constant, handles, routine};
use crate::lower::cuda::{self, Config, Entry, Kernel};
use crate::lower::routines::access::c_length;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::{Caller, slice};
use crate::lower::routines::message::raise;

/// Suffix of the message for a status that [loses the context](cuda::loses_context).
const EARLIER: &str = ", which may stem from earlier work";

pub(super) const CUDA: i64 = DeviceType::CUDA.0 as i64;

handles! {
    /// An attempt to use a kernel on a device. `caller` is the function that messages name.
    pub(crate) struct Attempt {
        caller: Caller,
        /// The kernel; NULL for commands that launch none.
        kernel: Ref<Kernel>,
        /// The `CUdevice`, which is the device index. A negative index becomes a large `u64`.
        device: Int<u64>,
    }
    /// The values that describe a status in a message.
    pub(crate) struct Said {
        name: Text,
        status: Int<i32>,
        text: Text,
        earlier: Text,
    }
    /// The values that describe a kernel and a status in a message: the names of kernel and image, and the status.
    pub(crate) struct KernelFailure {
        kernel: Text,
        image: Text,
        said: Said,
    }
}

/// Returns the name of a function of the driver, for messages.
pub(super) fn name_of(b: &mut Builder<'_>, entry: Entry) -> Text {
    constant(b, entry.name())
}

/// Checks the status of a function of the driver. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(super) fn check_driver(#[known] entry: Entry, caller: Caller, status: i32) -> i32 {
    if status != 0 {
        driver_failed(caller, name_of(entry), status);
        return -1;
    }
    0
}

/// Checks the status of a function of the driver that concerns a kernel. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(super) fn check(attempt: Attempt, status: i32) -> i32 {
    if status != 0 {
        kernel_failed(attempt, status);
        return -1;
    }
    0
}

/// Checks the status of a function of the driver in an attempt, whose kernel may be NULL. Returns 0, or -1 once it has
/// raised.
#[routine(inline)]
pub(super) fn check_of(#[known] entry: Entry, attempt: Attempt, status: i32) -> i32 {
    if status != 0 {
        if attempt.kernel == null {
            driver_failed(attempt.caller, name_of(entry), status);
        } else {
            kernel_failed(attempt, status);
        }
        return -1;
    }
    0
}

/// Raises the error for a function of the driver that has failed.
#[routine]
pub(crate) fn driver_failed(caller: Caller, name: Text, status: i32) {
    raise!(caller, Complaint::Driver, name, said(status));
}

/// Raises the error for a kernel that could not be loaded or whose context could not be entered.
#[routine]
pub(crate) fn kernel_failed(attempt: Attempt, status: i32) {
    let failure = failure(attempt.kernel, status);
    raise!(attempt.caller, Complaint::Kernel, failure, CUDA, attempt.device);
}

/// Returns the largest size in bytes of the dynamic shared memory of a kernel on a device: the limit of the device less
/// the static shared memory of the kernel. Returns -1 once it has raised, for example for a launch that wants more.
#[routine]
pub(crate) fn fit_shared(attempt: Attempt, config: &Config) -> i32 {
    let (kernel, device) = (attempt.kernel, attempt.device as i32);
    let most: i32;
    let own: i32;
    check(
        attempt,
        cuda::device_get_attribute(
            most,
            cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            device,
        ),
    )?;
    check(
        attempt,
        cuda::kernel_get_attribute(
            own,
            cuda::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            (&kernel.handle).load_atomic(),
            device,
        ),
    )?;
    let most = *most as i64 - *own as i64;
    let wanted = config.shared as i64;
    if wanted > most {
        let name = shown(kernel);
        let device = attempt.device;
        raise!(attempt.caller, Complaint::SharedMemory, name, most, CUDA, device, wanted);
    }
    most as i32
}

/// Collects the values of a message about a kernel.
#[routine(inline)]
pub(super) fn failure(kernel: &Kernel, status: i32) -> KernelFailure {
    let image = kernel.image;
    let (kernel, image) = (shown(kernel), slice(image.name, image.name_size));
    KernelFailure { kernel, image, said: said(status) }
}

/// Returns the name of a kernel for messages.
#[routine(inline)]
pub(super) fn shown(kernel: &Kernel) -> Text {
    slice(kernel.shown, kernel.shown_size)
}

/// Asks the driver for name and text of a status.
#[routine(inline)]
fn said(status: i32) -> Said {
    let name: &u8;
    let text: &u8;
    *name = null;
    *text = null;
    cuda::get_error_name(status, name);
    cuda::get_error_string(status, text);
    let earlier = if cuda::loses_context(status) { EARLIER } else { "" };
    Said { name: c_text(*name), status, text: c_text(*text), earlier }
}

/// Returns text that ends with a NUL; empty for NULL.
#[routine(inline)]
pub(crate) fn c_text(text: &u8) -> Text {
    let mut len: u64 = 0;
    if text != null {
        len = c_length(text);
    }
    slice(text, len)
}
