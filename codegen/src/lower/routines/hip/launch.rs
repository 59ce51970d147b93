//! Launches on a device that is not the current one.

use crate::ir::typed::routine;
use crate::lower::cuda::Config;
use crate::lower::driver::Stream;
use crate::lower::hip;
use crate::lower::routines::driver::Hip;
use crate::lower::routines::driver::failed::Attempt;
use crate::lower::routines::driver::limits::{extents, launch_failed};
use crate::lower::routines::hip::device::{enter_device, leave_device};

/// Launches a kernel, which is loaded on its device, with that device current for the time of the call. Returns 0, or
/// -1 once it has raised.
#[routine]
pub(crate) fn launch_there(
    attempt: Attempt<Hip>,
    config: &Config,
    stream: &Stream,
    params: &&u8,
    is_cooperative: i32,
) -> i32 {
    let entered = enter_device(attempt);
    if entered < 0 {
        return -1;
    }
    let functions = attempt.kernel.functions;
    let function = (&functions[attempt.device]).load_atomic();
    let (grid, block, shared) = (extents(config.grid), extents(config.block), config.shared);
    let mut status: i32 = 0;
    if is_cooperative != 0 {
        status = hip::module_launch_cooperative_kernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params,
        );
    } else {
        status = hip::module_launch_kernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params,
            null,
        );
    }
    let left = leave_device(attempt.caller, entered, status);
    if status != 0 {
        launch_failed(attempt, config, status);
        return -1;
    }
    left
}
