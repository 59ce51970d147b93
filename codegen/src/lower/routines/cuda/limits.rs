//! Limits of launches through CUDA.

use crate::declaration::AttributeKind;
use crate::ir::typed::{Text, routine};
use crate::lower::cuda::{self, Config, Entry};
use crate::lower::dynamic::entry_address;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::context::{enter_context, leave};
use crate::lower::routines::cuda::shared::fit_shared;
use crate::lower::routines::driver::Cuda;
use crate::lower::routines::driver::failed::{Attempt, shown};
use crate::lower::routines::driver::limits::{Extents, extents, fits, up_to};
use crate::lower::routines::message::raise;

/// The launch attribute that holds the extents of clusters.
const CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: u32 = AttributeKind::Cluster.id();

/// A status other than 0, of a launch whose error takes precedence.
const LAUNCH_FAILED: i32 = -1;

/// Name of the product of the extents of a block.
const THREADS: &str = "threads per block";

/// Raises the error for the first limit that a launch exceeds. Returns 0 if it exceeds none that is known here, or -1
/// once it has raised.
#[routine]
pub(crate) fn check_limits(attempt: Attempt<Cuda>, config: &Config) -> i32 {
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
        fits(attempt, THREADS, *most as u32 as u64, threads)?;
    }
    up_to(attempt, "grid.x", cuda::MAX_GRID_DIM_X, grid.x as u64)?;
    up_to(attempt, "grid.y", cuda::MAX_GRID_DIM_X + 1, grid.y as u64)?;
    up_to(attempt, "grid.z", cuda::MAX_GRID_DIM_X + 2, grid.z as u64)?;
    if attempt.kernel.allowed & cuda::ALLOW_SHARED != 0 && fit_shared(attempt, config) < 0 {
        return -1;
    }
    check_cluster(attempt, config)
}

/// Checks that the clusters of a launch divide its grid and are not too large. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn check_cluster(attempt: Attempt<Cuda>, config: &Config) -> i32 {
    let (cluster, grid) = (cluster(config), extents(config.grid));
    not_empty(attempt, "cluster.x", cluster.x, grid.x)?;
    not_empty(attempt, "cluster.y", cluster.y, grid.y)?;
    not_empty(attempt, "cluster.z", cluster.z, grid.z)?;
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
    if entry_address(Entry::OccupancyMaxPotentialClusterSize) == null {
        return 0;
    }
    // The driver answers for the current context, and the launch may have left that of its device.
    let entered = enter_context(attempt);
    if entered < 0 {
        return -1;
    }
    let kernel = (&attempt.kernel.handle).load_atomic();
    let status = cuda::occupancy_max_potential_cluster_size(most, kernel, config);
    leave(attempt.caller, entered, LAUNCH_FAILED)?;
    if status == 0 {
        fits(attempt, "blocks per cluster", *most as u32 as u64, blocks)?;
    }
    0
}

/// Checks that an extent of a cluster is not 0; it is at most that of the grid. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn not_empty(attempt: Attempt<Cuda>, what: Text, cluster: u32, grid: u32) -> i32 {
    if cluster == 0 {
        fits(attempt, what, grid as u64, 0)?;
    }
    0
}

/// Checks that an extent of a grid is a multiple of that of a cluster, which is not 0. Returns 0, or -1 once it has
/// raised.
#[routine]
pub(crate) fn divides(attempt: Attempt<Cuda>, what: Text, cluster: u32, grid: u32) -> i32 {
    if grid % cluster != 0 {
        let name = shown(attempt);
        raise!(attempt.caller, Complaint::Cluster, what, name, cluster, grid);
    }
    0
}

/// Returns the extents of the clusters of a launch. They are 1 if the launch lacks the attribute.
#[routine(inline)]
pub(crate) fn cluster(config: &Config) -> Extents {
    let mut found = Extents { x: 1, y: 1, z: 1 };
    for at in 0..config.count {
        let attribute = &config.attributes[at];
        if attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
            found = extents(attribute.extents);
        }
    }
    found
}
