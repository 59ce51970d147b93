//! Raising errors for a status of the library.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Text, constant, get, handles, routine};
use crate::lower::dynamic::Entries;
use crate::lower::routines::access::c_length;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::driver::Driver;
use crate::lower::routines::memory::{Caller, slice};
use crate::lower::routines::message::raise;

/// Suffix of the message for a status that [may stem from earlier work](Driver::is_lasting).
const EARLIER: &str = ", which may stem from earlier work";

handles! {
    /// An attempt to use a kernel on a device. `caller` is the function that messages name.
    pub(crate) struct Attempt<D: Driver> {
        caller: Caller,
        /// The kernel; NULL for commands that launch none.
        kernel: Ref<D::Kernel>,
        /// The device index, which is a `CUdevice`. A negative index becomes a large `u64`.
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

/// Returns the name of a function of the library, for messages.
pub(crate) fn name_of(b: &mut Builder<'_>, entry: impl Entries) -> Text {
    constant(b, entry.name())
}

/// Checks the status of a function of the library. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(crate) fn check_driver<D: Driver>(
    #[known] entry: D::Entry,
    caller: Caller,
    status: i32,
) -> i32 {
    if status != 0 {
        driver_failed::<D>(caller, name_of(entry), status);
        return -1;
    }
    0
}

/// Returns the beginning of a message about a function of the library that has failed for a kernel.
fn failed_for(b: &mut Builder<'_>, entry: impl Entries) -> Text {
    constant(b, format!("{} for ", entry.name()).as_str())
}

/// Checks the status of a function of the library that concerns a kernel. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(crate) fn check<D: Driver>(#[known] entry: D::Entry, attempt: Attempt<D>, status: i32) -> i32 {
    if status != 0 {
        kernel_failed(attempt, failed_for(entry), status);
        return -1;
    }
    0
}

/// Checks the status of a function of the library in an attempt, whose kernel may be NULL. Returns 0, or -1 once it has
/// raised.
#[routine(inline)]
pub(crate) fn check_of<D: Driver>(
    #[known] entry: D::Entry,
    attempt: Attempt<D>,
    status: i32,
) -> i32 {
    if status != 0 {
        if attempt.kernel == null {
            driver_failed::<D>(attempt.caller, name_of(entry), status);
        } else {
            kernel_failed(attempt, failed_for(entry), status);
        }
        return -1;
    }
    0
}

/// Raises the error for a function of the library that has failed.
#[routine(D::DRIVER_FAILED)]
pub(crate) fn driver_failed<D: Driver>(caller: Caller, name: Text, status: i32) {
    raise!(caller, Complaint::Driver, name, said::<D>(status));
}

/// Raises the error for a kernel that could not be loaded or whose device could not be made current. `start` names the
/// function that has failed; it is empty where none was called.
#[routine(D::KERNEL_FAILED)]
pub(crate) fn kernel_failed<D: Driver>(attempt: Attempt<D>, start: Text, status: i32) {
    let failure = failure(attempt, status);
    raise!(attempt.caller, Complaint::Kernel, start, failure, D::DEVICE_TYPE, attempt.device);
}

/// Collects the values of a message about the kernel of an attempt.
#[routine(inline)]
pub(super) fn failure<D: Driver>(attempt: Attempt<D>, status: i32) -> KernelFailure {
    let (kernel, image) = names(attempt);
    KernelFailure { kernel, image, said: said::<D>(status) }
}

/// Returns the names of kernel and image of an attempt.
fn names<D: Driver>(b: &mut Builder<'_>, attempt: Attempt<D>) -> (Text, Text) {
    let image = get(b, attempt.kernel, D::KERNEL_IMAGE);
    let kernel = shown(b, attempt);
    let (data, len) = (get(b, image, D::IMAGE_NAME), get(b, image, D::IMAGE_NAME_SIZE));
    (kernel, Text { data, len })
}

/// Returns the name of the kernel of an attempt, for messages.
pub(crate) fn shown<D: Driver>(b: &mut Builder<'_>, Attempt { kernel, .. }: Attempt<D>) -> Text {
    Text { data: get(b, kernel, D::KERNEL_SHOWN), len: get(b, kernel, D::KERNEL_SHOWN_SIZE) }
}

/// Asks the library for name and text of a status.
#[routine(inline)]
pub(crate) fn said<D: Driver>(status: i32) -> Said {
    let (name, text) = D::texts(status);
    let earlier = if D::is_lasting(status) { EARLIER } else { "" };
    Said { name: c_text(name), status, text: c_text(text), earlier }
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
