//! The limit of the shared memory of a launch through CUDA.

use crate::ir::typed::routine;
use crate::lower::cuda::{self, Config, Entry};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::driver::failed::{Attempt, check, shown};
use crate::lower::routines::driver::{Cuda, Driver};
use crate::lower::routines::message::raise;

/// Returns the largest size in bytes of the dynamic shared memory of a kernel on a device: the limit of the device less
/// the static shared memory of the kernel. Returns -1 once it has raised, for example for a launch that wants more.
#[routine]
pub(crate) fn fit_shared(attempt: Attempt<Cuda>, config: &Config) -> i32 {
    let (kernel, device) = (attempt.kernel, attempt.device as i32);
    let most: i32;
    let own: i32;
    let attribute = cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    let status = cuda::device_get_attribute(most, attribute, device);
    check(Entry::DeviceGetAttribute, attempt, status)?;
    let attribute = cuda::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    let handle = (&kernel.handle).load_atomic();
    check(
        Entry::KernelGetAttribute,
        attempt,
        cuda::kernel_get_attribute(own, attribute, handle, device),
    )?;
    let most = *most as i64 - *own as i64;
    let wanted = config.shared as i64;
    if wanted > most {
        let name = shown(attempt);
        let device = attempt.device;
        raise!(
            attempt.caller,
            Complaint::SharedMemory,
            name,
            most,
            Cuda::DEVICE_TYPE,
            device,
            wanted
        );
    }
    most as i32
}
