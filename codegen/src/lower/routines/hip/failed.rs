//! Raising errors for a status of the runtime.

use abi_spec::DeviceType;

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Text, constant, handles, routine};
use crate::lower::hip::{self, Entry, Kernel};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::failed::{KernelFailure, Said, c_text};
use crate::lower::routines::memory::{Caller, slice};
use crate::lower::routines::message::raise;

/// Suffix of the message for a status after which the device is lost.
const EARLIER: &str = ", which may stem from earlier work";

pub(super) const ROCM: i64 = DeviceType::ROCM.0 as i64;

handles! {
    /// An attempt to use a kernel on a device. `caller` is the function that messages name.
    pub(crate) struct Attempt {
        caller: Caller,
        /// The kernel; NULL for commands that launch none.
        kernel: Ref<Kernel>,
        /// The device index. A negative index becomes a large `u64`.
        device: Int<u64>,
    }
}

/// Returns the name of a function of the runtime, for messages.
pub(super) fn name_of(b: &mut Builder<'_>, entry: Entry) -> Text {
    constant(b, entry.name())
}

/// Checks the status of a function of the runtime. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(super) fn check_driver(#[known] entry: Entry, caller: Caller, status: i32) -> i32 {
    if status != 0 {
        hip_failed(caller, name_of(entry), status);
        return -1;
    }
    0
}

/// Checks the status of a function of the runtime that concerns a kernel. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(super) fn check(attempt: Attempt, status: i32) -> i32 {
    if status != 0 {
        hip_kernel_failed(attempt, status);
        return -1;
    }
    0
}

/// Checks the status of a function of the runtime in an attempt, whose kernel may be NULL. Returns 0, or -1 once it has
/// raised.
#[routine(inline)]
pub(super) fn check_of(#[known] entry: Entry, attempt: Attempt, status: i32) -> i32 {
    if status != 0 {
        if attempt.kernel == null {
            hip_failed(attempt.caller, name_of(entry), status);
        } else {
            hip_kernel_failed(attempt, status);
        }
        return -1;
    }
    0
}

/// Raises the error for a function of the runtime that has failed.
#[routine]
pub(crate) fn hip_failed(caller: Caller, name: Text, status: i32) {
    raise!(caller, Complaint::Driver, name, said(status));
}

/// Raises the error for a kernel that could not be loaded or whose device could not be made current.
#[routine]
pub(crate) fn hip_kernel_failed(attempt: Attempt, status: i32) {
    let failure = failure(attempt.kernel, status);
    raise!(attempt.caller, Complaint::Kernel, failure, ROCM, attempt.device);
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

/// Asks the runtime for name and text of a status.
#[routine(inline)]
fn said(status: i32) -> Said {
    let name = hip::text_of(Entry::GetErrorName, status);
    let text = hip::text_of(Entry::GetErrorString, status);
    let earlier = if loses_device(status) { EARLIER } else { "" };
    Said { name: c_text(name), status, text: c_text(text), earlier }
}

/// Returns true if a status may stem from earlier work on the device.
#[routine(inline)]
fn loses_device(status: i32) -> bool {
    match status {
        hip::HIP_ERROR_ILLEGAL_ADDRESS | hip::HIP_ERROR_ASSERT | hip::HIP_ERROR_LAUNCH_FAILURE => {
            true
        }
        _ => false,
    }
}
