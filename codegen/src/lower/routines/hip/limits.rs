//! Limits of launches through HIP.

use crate::ir::typed::routine;
use crate::lower::cuda::Config;
use crate::lower::hip;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::driver::failed::{Attempt, shown};
use crate::lower::routines::driver::limits::{extents, fits, up_to};
use crate::lower::routines::driver::{Driver, Hip};
use crate::lower::routines::message::raise;

/// Number of threads that a dim of a grid may have, blocks times threads in a block.
const MOST_THREADS: u64 = u32::MAX as u64;

/// Raises the error for the first limit that a launch exceeds. Returns 0 if it exceeds none that is known here, or -1
/// once it has raised.
#[routine]
pub(crate) fn hip_check_limits(attempt: Attempt<Hip>, config: &Config) -> i32 {
    let (block, grid) = (extents(config.block), extents(config.grid));
    up_to(attempt, "block.x", hip::MAX_BLOCK_DIM_X, block.x as u64)?;
    up_to(attempt, "block.y", hip::MAX_BLOCK_DIM_X + 1, block.y as u64)?;
    up_to(attempt, "block.z", hip::MAX_BLOCK_DIM_X + 2, block.z as u64)?;
    let threads = block.x as u64 * block.y as u64 * block.z as u64;
    up_to(attempt, "threads per block", hip::MAX_THREADS_PER_BLOCK, threads)?;
    up_to(attempt, "grid.x", hip::MAX_GRID_DIM_X, grid.x as u64)?;
    up_to(attempt, "grid.y", hip::MAX_GRID_DIM_X + 1, grid.y as u64)?;
    up_to(attempt, "grid.z", hip::MAX_GRID_DIM_X + 2, grid.z as u64)?;
    fits(attempt, "threads along x", MOST_THREADS, grid.x as u64 * block.x as u64)?;
    fits(attempt, "threads along y", MOST_THREADS, grid.y as u64 * block.y as u64)?;
    fits(attempt, "threads along z", MOST_THREADS, grid.z as u64 * block.z as u64)?;
    fit_shared(attempt, config)
}

/// Checks the dynamic shared memory against the limit of the device, of which the static shared memory of the kernel is
/// taken. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn fit_shared(attempt: Attempt<Hip>, config: &Config) -> i32 {
    let most: i32;
    let own: i32;
    let device = attempt.device as i32;
    if hip::device_get_attribute(most, hip::MAX_SHARED_MEMORY_PER_BLOCK, device) != 0 {
        return 0;
    }
    let functions = attempt.kernel.functions;
    let function = (&functions[attempt.device]).load_atomic();
    if hip::func_get_attribute(own, hip::SHARED_SIZE_BYTES, function) != 0 {
        return 0;
    }
    let most = *most as i64 - *own as i64;
    let wanted = config.shared as i64;
    if wanted > most {
        let (name, device) = (shown(attempt), attempt.device);
        raise!(
            attempt.caller,
            Complaint::SharedMemory,
            name,
            most,
            Hip::DEVICE_TYPE,
            device,
            wanted
        );
    }
    0
}
