//! Encoding of tensor maps. The driver takes dims from the innermost to the outermost.

use crate::declaration::{Interleave, Swizzle};
use crate::ir::typed::{Int, Ref, Text, handles, routine};
use crate::lower::cuda::{self, Entry, How};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::driver::open_driver;
use crate::lower::routines::cuda::failed::check_driver;
use crate::lower::routines::memory::{Caller, DlTensor, slice};
use crate::lower::routines::message::raise;
use crate::lower::routines::view::stride_at;

/// Largest rank of a tensor map.
const RANK: u32 = 5;

/// Documented limits of `cuTensorMapEncodeTiled`: of extents, strides in bytes, extents of the box, and steps. Then the
/// alignment in bytes of addresses and strides, without and with interleaving.
const MOST_EXTENT: u64 = 1 << 32;
const MOST_STRIDE: u64 = 1 << 40;
const MOST_BOX: u64 = 256;
const MOST_STEP: u64 = 8;
const UNIT: u64 = 16;
const INTERLEAVED_UNIT: u64 = 32;

const UNSWIZZLED: i64 = Swizzle::None as i64;
const SWIZZLED_32: i64 = Swizzle::B32 as i64;
const SWIZZLED_64: i64 = Swizzle::B64 as i64;

handles! {
    /// A tensor map to encode.
    struct Map {
        caller: Caller,
        how: Ref<How>,
        /// The name of the tensor, for messages.
        name: Text,
        rank: Int<i64>,
        /// The alignment of addresses and strides in bytes.
        unit: Int<u64>,
    }
}

/// Encodes the map of a tensor at `to`. Returns 0, or -1 once it has raised. `numbers` holds the extents of the box,
/// then the steps if the map has any.
#[routine]
pub(crate) fn tensor_map(caller: Caller, how: &How, dl: &DlTensor, numbers: &i64, to: &u8) -> i32 {
    open_driver(caller)?;
    let unit = if how.interleave == Interleave::B32 as i64 { INTERLEAVED_UNIT } else { UNIT };
    let map = Map { caller, how, name: slice(how.name, how.name_size), rank: how.rank, unit };
    let address = &dl.data[dl.byte_offset];
    let rest = address as u64 & (unit - 1);
    if rest != 0 {
        raise!(caller, Complaint::MapAddress, map.name, unit, rest);
    }
    let extents: [u64; RANK];
    let strides: [u64; RANK];
    let boxes: [u32; RANK];
    let steps: [u32; RANK];
    dims(map, dl, extents, strides)?;
    box_extents(map, numbers, boxes)?;
    box_steps(map, numbers, steps)?;
    let (dtype, rank, interleave) = (how.dtype as i32, how.rank as i32, how.interleave as i32);
    let (swizzle, promotion, fill) = (how.swizzle as i32, how.promotion as i32, how.fill as i32);
    let status = cuda::tensor_map_encode_tiled(
        to, dtype, rank, address, extents, strides, boxes, steps, interleave, swizzle, promotion,
        fill,
    );
    check_driver(Entry::TensorMapEncodeTiled, caller, status)
}

/// Writes the extents, and the strides in bytes of all dims but the innermost. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn dims(map: Map, dl: &DlTensor, extents: &u64, strides: &u64) -> i32 {
    let (caller, name, unit) = (map.caller, map.name, map.unit);
    let bytes = map.how.bytes;
    for at in 0..map.rank {
        let dim = map.rank - at - 1;
        let extent = dl.shape[dim] as u64;
        if extent - 1 >= MOST_EXTENT {
            raise!(caller, Complaint::MapExtent, name, dim, MOST_EXTENT, extent);
        }
        extents[at] = extent;
        let stride = stride_at(dl, dim) as u64;
        if at == 0 && stride != 1 && extent != 1 {
            raise!(caller, Complaint::MapInner, name, dim, stride);
        }
        if at != 0 {
            // The stride of a dim with an extent of 1 is never used, so any value is accepted.
            let near = stride < MOST_STRIDE || extent == 1;
            let step = if extent == 1 { unit } else { stride * bytes };
            if !near || step & (unit - 1) != 0 || step >= MOST_STRIDE {
                raise!(caller, Complaint::MapStride, name, dim, unit, MOST_STRIDE, step);
            }
            strides[at - 1] = step;
        }
    }
    0
}

/// Writes the extents of the box. Without interleaving, a row of whole-byte elements must be a multiple of 16 bytes and
/// no wider than the swizzle. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn box_extents(map: Map, numbers: &i64, boxes: &u32) -> i32 {
    for at in 0..map.rank {
        let dim = map.rank - at - 1;
        let extent = numbers[dim] as u64;
        if extent - 1 >= MOST_BOX {
            raise!(map.caller, Complaint::MapBox, map.name, dim, MOST_BOX, extent);
        }
        boxes[at] = extent as u32;
    }
    let how = map.how;
    if how.plain != 0 && how.interleave == Interleave::None as i64 {
        let row = *boxes as u64 * how.bytes;
        let most: u64 = match how.swizzle {
            UNSWIZZLED => MOST_BOX * 8,
            SWIZZLED_32 => 32,
            SWIZZLED_64 => 64,
            _ => 128,
        };
        if row & (UNIT - 1) != 0 || row > most {
            raise!(map.caller, Complaint::MapRow, map.name, most, row);
        }
    }
    0
}

/// Writes the steps, 1 each if the map has none. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn box_steps(map: Map, numbers: &i64, steps: &u32) -> i32 {
    for at in 0..map.rank {
        let dim = map.rank - at - 1;
        let step: u64 = if map.how.steps != 0 { numbers[map.rank + dim] as u64 } else { 1 };
        if step - 1 >= MOST_STEP {
            raise!(map.caller, Complaint::MapStep, map.name, dim, MOST_STEP, step);
        }
        steps[at] = step as u32;
    }
    0
}
