//! Raising errors for launches that fail. The library reports only that a value is invalid, so the limits of devices
//! and kernels that a launch may exceed are checked here.

use crate::ir::typed::{Int, Text, handles, routine};
use crate::lower::cuda::Config;
use crate::lower::dynamic::call;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::driver::Driver;
use crate::lower::routines::driver::failed::{Attempt, failure, shown};
use crate::lower::routines::message::raise;

handles! {
    /// The extents of a grid, a block or a cluster.
    pub(crate) struct Extents {
        x: Int<u32>,
        y: Int<u32>,
        z: Int<u32>,
    }
}

/// Raises the error for a launch that has failed.
#[routine(D::LAUNCH_FAILED)]
pub(crate) fn launch_failed<D: Driver>(attempt: Attempt<D>, config: &Config, status: i32) {
    if D::may_exceed_limit(status) && D::check_limits(attempt, config) < 0 {
        return;
    }
    let failure = failure(attempt, status);
    let (grid, block, device) = (extents(config.grid), extents(config.block), attempt.device);
    let (caller, cluster) = (attempt.caller, D::cluster(config));
    raise!(caller, D::LAUNCH, failure, grid, block, cluster, config.shared, D::DEVICE_TYPE, device);
}

/// Checks that a number is 1 to the limit that is an attribute of the device. Returns 0, or -1 once it has raised.
#[routine(D::UP_TO)]
pub(crate) fn up_to<D: Driver>(attempt: Attempt<D>, what: Text, attribute: i32, value: u64) -> i32 {
    let most: i32;
    if call(D::DEVICE_GET_ATTRIBUTE, (most, attribute, attempt.device as i32)) != 0 {
        return 0;
    }
    fits(attempt, what, *most as u32 as u64, value)
}

/// Checks that a number is 1 to `most`. Returns 0, or -1 once it has raised.
#[routine(D::FITS)]
pub(crate) fn fits<D: Driver>(attempt: Attempt<D>, what: Text, most: u64, value: u64) -> i32 {
    if value == 0 || value > most {
        let (name, device) = (shown(attempt), attempt.device);
        raise!(attempt.caller, Complaint::Limit, what, name, most, D::DEVICE_TYPE, device, value);
    }
    0
}

/// Reads three extents.
#[routine(inline)]
pub(crate) fn extents(of: &u32) -> Extents {
    Extents { x: of[0], y: of[1], z: of[2] }
}
