//! Raising errors for launches that fail. The driver reports only that a value is invalid, so the limits of devices and
//! kernels that a launch may exceed are checked here.

use crate::declaration::AttributeKind;
use crate::ir::typed::{Int, Text, handles, routine};
use crate::lower::cuda::{self, Config, Entry, driver_address};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::failed::{Attempt, CUDA, failure, fit_shared, shown};
use crate::lower::routines::message::raise;

/// The launch attribute that holds the extents of clusters.
const CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: u32 = AttributeKind::Cluster.id();

handles! {
    /// The extents of a grid, a block or a cluster.
    pub(crate) struct Extents {
        x: Int<u32>,
        y: Int<u32>,
        z: Int<u32>,
    }
}

/// Raises the error for a launch that has failed.
///
/// If a launch exceeds a limit, the driver does not report which, so the limits are checked here.
#[routine]
pub(crate) fn launch_failed(attempt: Attempt, config: &Config, status: i32) {
    if cuda::may_exceed_limit(status) && check_limits(attempt, config) < 0 {
        return;
    }
    let (caller, device) = (attempt.caller, attempt.device);
    let failure = failure(attempt.kernel, status);
    let (grid, block) = (extents(config.grid), extents(config.block));
    let cluster = cluster(config);
    raise!(caller, Complaint::Launch, failure, grid, block, cluster, config.shared, CUDA, device);
}

/// Raises the error for the first limit that a launch exceeds. Returns 0 if it exceeds none that is known here, or -1
/// once it has raised.
#[routine]
pub(crate) fn check_limits(attempt: Attempt, config: &Config) -> i32 {
    let (block, grid) = (extents(config.block), extents(config.grid));
    up_to(attempt, "block.x", cuda::MAX_BLOCK_DIM_X, block.x as u64)?;
    up_to(attempt, "block.y", cuda::MAX_BLOCK_DIM_X + 1, block.y as u64)?;
    up_to(attempt, "block.z", cuda::MAX_BLOCK_DIM_X + 2, block.z as u64)?;
    let threads = block.x as u64 * block.y as u64 * block.z as u64;
    up_to(attempt, THREADS, cuda::MAX_THREADS_PER_BLOCK, threads)?;
    let most: i32;
    let (kernel, device) = ((&attempt.kernel.handle).load_atomic(), attempt.device as i32);
    let attribute = cuda::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    if cuda::kernel_get_attribute(most, attribute, kernel, device) == 0 {
        fits(attempt, THREADS, *most, threads)?;
    }
    up_to(attempt, "grid.x", cuda::MAX_GRID_DIM_X, grid.x as u64)?;
    up_to(attempt, "grid.y", cuda::MAX_GRID_DIM_X + 1, grid.y as u64)?;
    up_to(attempt, "grid.z", cuda::MAX_GRID_DIM_X + 2, grid.z as u64)?;
    if attempt.kernel.allowed & cuda::ALLOW_SHARED != 0 && fit_shared(attempt, config) < 0 {
        return -1;
    }
    check_cluster(attempt, config)
}

/// Name of the product of the extents of a block.
const THREADS: &str = "threads per block";

/// Checks that the clusters of a launch divide its grid and are not too large. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn check_cluster(attempt: Attempt, config: &Config) -> i32 {
    let (cluster, grid) = (cluster(config), extents(config.grid));
    divides(attempt, "grid.x", cluster.x, grid.x)?;
    divides(attempt, "grid.y", cluster.y, grid.y)?;
    divides(attempt, "grid.z", cluster.z, grid.z)?;
    let blocks = cluster.x as u64 * cluster.y as u64 * cluster.z as u64;
    if blocks == 1 {
        return 0;
    }
    let most: i32;
    let has = cuda::device_get_attribute(most, cuda::CLUSTER_LAUNCH, attempt.device as i32);
    if has == 0 && *most == 0 {
        fits(attempt, "blocks per cluster", 1, blocks)?;
    }
    if driver_address(Entry::OccupancyMaxPotentialClusterSize) == null {
        return 0;
    }
    let kernel = (&attempt.kernel.handle).load_atomic();
    if cuda::occupancy_max_potential_cluster_size(most, kernel, config) == 0 {
        fits(attempt, "blocks per cluster", *most, blocks)?;
    }
    0
}

/// Checks that a number is 1 to the limit that is an attribute of the device. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn up_to(attempt: Attempt, what: Text, attribute: i32, value: u64) -> i32 {
    let most: i32;
    if cuda::device_get_attribute(most, attribute, attempt.device as i32) != 0 {
        return 0;
    }
    fits(attempt, what, *most, value)
}

/// Checks that a number is 1 to `most`. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn fits(attempt: Attempt, what: Text, most: i32, value: u64) -> i32 {
    if value == 0 || value > most as u32 as u64 {
        let name = shown(attempt.kernel);
        let device = attempt.device;
        raise!(attempt.caller, Complaint::Limit, what, name, most, CUDA, device, value);
    }
    0
}

/// Checks that an extent of a grid is a multiple of that of a cluster. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn divides(attempt: Attempt, what: Text, cluster: u32, grid: u32) -> i32 {
    let mut rest: u32 = 1;
    if cluster != 0 {
        rest = grid % cluster;
    }
    if rest != 0 {
        let name = shown(attempt.kernel);
        raise!(attempt.caller, Complaint::Cluster, what, name, cluster, grid);
    }
    0
}

/// Reads three extents.
#[routine(inline)]
pub(crate) fn extents(of: &u32) -> Extents {
    Extents { x: of[0], y: of[1], z: of[2] }
}

/// Returns the extents of the clusters of a launch. They are 1 if the launch lacks the attribute.
#[routine(inline)]
pub(super) fn cluster(config: &Config) -> Extents {
    let mut found = Extents { x: 1, y: 1, z: 1 };
    for at in 0..config.count {
        let attribute = &config.attributes[at];
        if attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
            found = extents(attribute.extents);
        }
    }
    found
}
