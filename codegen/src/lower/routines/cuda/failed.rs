//! What is said of a status of the driver.

use crate::declaration::AttributeKind;
use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Text, constant, handles, routine};
use crate::lower::cuda::{self, Config, Entry, Kernel};
use crate::lower::routines::access::c_length;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::{Caller, slice};
use crate::lower::routines::message::raise;

/// What follows the text of an error after which the context is lost.
const EARLIER: &str = ", which may stem from earlier work";

/// The number of the attribute that says the cluster.
const CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: u32 = AttributeKind::Cluster.id();

handles! {
    /// Who uses which kernel where.
    pub(crate) struct Attempt {
        caller: Caller,
        kernel: Ref<Kernel>,
        /// Its number, which is its handle; one below 0 is greater than all others.
        device: Int<u64>,
    }
    /// What the driver says of a status, and what is to be added.
    struct Said {
        name: Text,
        status: Int<i32>,
        text: Text,
        earlier: Text,
    }
    /// A kernel and its image by their names, and what the driver says.
    struct KernelFailure {
        kernel: Text,
        image: Text,
        said: Said,
    }
    /// Extents of a grid, a block or a cluster.
    struct Extents {
        x: Int<u32>,
        y: Int<u32>,
        z: Int<u32>,
    }
}

/// The name of a function, for messages.
fn name_of(b: &mut Builder<'_>, entry: Entry) -> Text {
    constant(b, entry.name())
}

/// Raises that a function of the driver has failed, unless it has succeeded.
#[routine(inline)]
pub(super) fn check_driver(#[known] entry: Entry, caller: Caller, status: i32) -> i32 {
    if status != 0 {
        driver_failed(caller, name_of(entry), status);
        return -1;
    }
    0
}

/// The same of one that has to do with a kernel.
#[routine(inline)]
pub(super) fn check(attempt: Attempt, status: i32) -> i32 {
    if status != 0 {
        kernel_failed(attempt, status);
        return -1;
    }
    0
}

/// Raises that a function of the driver has failed.
#[routine]
pub(crate) fn driver_failed(caller: Caller, name: Text, status: i32) {
    raise!(caller, Complaint::Driver, name, said(status));
}

/// Raises that loading a kernel has failed, or entering a context for it.
#[routine]
pub(crate) fn kernel_failed(attempt: Attempt, status: i32) {
    let failure = failure(attempt.kernel, status);
    raise!(attempt.caller, Complaint::Kernel, failure, attempt.device);
}

/// Raises that a launch has failed. The driver only says that something is invalid: too much shared memory is found once
/// it has refused.
#[routine]
pub(crate) fn launch_failed(attempt: Attempt, config: &Config, status: i32) {
    let shares = attempt.kernel.allowed & cuda::ALLOW_SHARED != 0;
    if shares && status == cuda::CUDA_ERROR_INVALID_VALUE && fit_shared(attempt, config) < 0 {
        return;
    }
    let (caller, device) = (attempt.caller, attempt.device);
    let failure = failure(attempt.kernel, status);
    let (grid, block) = (extents(config.grid), extents(config.block));
    let cluster = cluster(config);
    raise!(caller, Complaint::Launch, failure, grid, block, cluster, config.shared, device);
}

/// How much dynamic shared memory a device has beside the kernel's static memory; -1 once it has raised that a launch
/// wants more.
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
            kernel.handle,
            device,
        ),
    )?;
    let most = *most as i64 - *own as i64;
    let wanted = config.shared as i64;
    if wanted > most {
        let name = shown(kernel);
        raise!(attempt.caller, Complaint::SharedMemory, name, most, attempt.device, wanted);
    }
    most as i32
}

#[routine(inline)]
fn extents(of: &u32) -> Extents {
    Extents { x: of[0], y: of[1], z: of[2] }
}

#[routine(inline)]
fn failure(kernel: &Kernel, status: i32) -> KernelFailure {
    let image = kernel.image;
    let (kernel, image) = (shown(kernel), slice(image.name, image.name_size));
    KernelFailure { kernel, image, said: said(status) }
}

/// The name of a kernel in messages.
#[routine(inline)]
pub(super) fn shown(kernel: &Kernel) -> Text {
    slice(kernel.shown, kernel.shown_size)
}

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

/// Text that ends with a NUL; NULL is empty.
#[routine(inline)]
pub(super) fn c_text(text: &u8) -> Text {
    let mut len: u64 = 0;
    if text != null {
        len = c_length(text);
    }
    slice(text, len)
}

/// The extents that the attribute says, or 1 each.
#[routine(inline)]
fn cluster(config: &Config) -> Extents {
    let mut found = Extents { x: 1, y: 1, z: 1 };
    for at in 0..config.count {
        let attribute = &config.attributes[at];
        if attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
            found = extents(attribute.extents);
        }
    }
    found
}
