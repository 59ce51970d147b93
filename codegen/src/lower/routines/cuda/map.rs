//! Encoding of tensor maps. The driver takes dims from the innermost to the outermost.

use crate::declaration::{Im2col, Interleave, Swizzle};
use crate::ir::typed::{Int, Ref, Text, handles, routine};
use crate::lower::cuda::{self, Cache, Entry, How};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::driver::Cuda;
use crate::lower::routines::driver::command::has;
use crate::lower::routines::driver::failed::{name_of, said};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::memory::{Caller, slice};
use crate::lower::routines::message::raise;
use crate::resolve::launch::map;

/// Largest rank of a tensor map.
const RANK: u32 = 5;

/// Documented limits of the driver's calls, and the bytes of which a row of a box is a multiple.
const MOST_EXTENT: u64 = map::MOST_EXTENT as u64;
const MOST_STRIDE: u64 = map::MOST_STRIDE as u64;
const MOST_BOX: u64 = map::MOST_BOX as u64;
const MOST_CHANNELS: u64 = map::MOST_CHANNELS as u64;
const MOST_PIXELS: u64 = map::MOST_PIXELS as u64;
const MOST_STEP: u64 = map::MOST_STEP as u64;
const LEAST_IN_1: i64 = map::LEAST_CORNERS[0];
const LEAST_IN_2: i64 = map::LEAST_CORNERS[1];
const LEAST_IN_3: i64 = map::LEAST_CORNERS[2];
const ROW_UNIT: u64 = 16;

const UNSWIZZLED: i64 = Swizzle::None as i64;
const SWIZZLED_32: i64 = Swizzle::B32 as i64;
const SWIZZLED_64: i64 = Swizzle::B64 as i64;
const SPAN_32: u64 = Swizzle::B32.span() as u64;
const SPAN_64: u64 = Swizzle::B64.span() as u64;
const SPAN_128: u64 = Swizzle::B128.span() as u64;

/// Dims of a column that are not spatial, and the number of the first one that is.
const OTHER_DIMS: i64 = Im2col::OTHER_DIMS as i64;
const FIRST_SPATIAL: i64 = 1;

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

/// Encodes a map at `to` and keeps it in the cache of the site. Returns 0, or -1 once it has raised. `numbers` holds
/// dims, strides, the extents of the box and the steps, then the inputs of the cache.
#[routine]
pub(crate) fn tensor_map(
    caller: Caller,
    how: &How,
    address: &u8,
    numbers: &i64,
    to: &u64,
    cache: &Cache,
) -> i32 {
    open_driver::<Cuda>(caller)?;
    let rank = how.rank;
    let map = Map { caller, how, name: slice(how.name, how.name_size), rank, unit: how.unit };
    aligned(map, address)?;
    let extents: [u64; RANK];
    let strides: [u64; RANK];
    let boxes: [u32; RANK];
    let steps: [u32; RANK];
    dims(map, numbers, extents, strides)?;
    box_extents(map, &numbers[2 * rank], boxes)?;
    box_steps(map, &numbers[3 * rank], steps)?;
    let (dtype, interleave) = (how.dtype as i32, how.interleave as i32);
    let (swizzle, promotion, fill) = (how.swizzle as i32, how.promotion as i32, how.fill as i32);
    let status = cuda::tensor_map_encode_tiled(
        to,
        dtype,
        rank as i32,
        address,
        extents,
        strides,
        boxes,
        steps,
        interleave,
        swizzle,
        promotion,
        fill,
    );
    encoded(Entry::TensorMapEncodeTiled, map, status)?;
    keep(cache, to, &numbers[4 * rank], how.inputs);
    0
}

/// Encodes a map of columns of pixels at `to` and keeps it in the cache of the site. Returns 0, or -1 once it has
/// raised. `numbers` holds dims, strides, the lower and the upper offsets of the spatial dims, channels, pixels and the
/// steps, then the inputs of the cache.
#[routine]
pub(crate) fn im2col_map(
    caller: Caller,
    how: &How,
    address: &u8,
    numbers: &i64,
    to: &u64,
    cache: &Cache,
) -> i32 {
    open_driver::<Cuda>(caller)?;
    has(Entry::TensorMapEncodeIm2col, caller)?;
    let rank = how.rank;
    let map = Map { caller, how, name: slice(how.name, how.name_size), rank, unit: how.unit };
    aligned(map, address)?;
    let extents: [u64; RANK];
    let strides: [u64; RANK];
    let lower: [i32; RANK];
    let upper: [i32; RANK];
    let steps: [u32; RANK];
    dims(map, numbers, extents, strides)?;
    let mode = &numbers[2 * rank];
    let spatial = rank - OTHER_DIMS;
    corners(map, numbers, mode, lower, upper)?;
    let column = &mode[2 * spatial];
    let (channels, pixels) = (column[0] as u64, column[1] as u64);
    check_column(map, channels, pixels)?;
    box_steps(map, &column[2], steps)?;
    let status = cuda::tensor_map_encode_im2col(
        to,
        how.dtype as i32,
        rank as i32,
        address,
        extents,
        strides,
        lower,
        upper,
        channels as u32,
        pixels as u32,
        steps,
        how.interleave as i32,
        how.swizzle as i32,
        how.promotion as i32,
        how.fill as i32,
    );
    encoded(Entry::TensorMapEncodeIm2col, map, status)?;
    keep(cache, to, &column[2 + rank], how.inputs);
    0
}

/// Checks the status of the encoding of a map. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn encoded(#[known] entry: Entry, map: Map, status: i32) -> i32 {
    if status != 0 {
        let name = name_of(entry);
        raise!(map.caller, Complaint::MapFailed, name, map.name, said::<Cuda>(status));
    }
    0
}

/// Checks the alignment of the address of a map. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn aligned(map: Map, address: &u8) -> i32 {
    let (caller, unit) = (map.caller, map.unit);
    let rest = address as u64 & (unit - 1);
    if rest != 0 {
        if map.how.given & cuda::GIVEN_OFFSET != 0 {
            raise!(caller, Complaint::MapOffset, map.name, unit, rest);
        }
        raise!(caller, Complaint::MapAddress, map.name, unit, rest);
    }
    0
}

/// Returns the bytes of the widest row that a swizzle takes.
#[routine(inline)]
fn widest(swizzle: i64, unswizzled: u64) -> u64 {
    match swizzle {
        UNSWIZZLED => unswizzled,
        SWIZZLED_32 => SPAN_32,
        SWIZZLED_64 => SPAN_64,
        _ => SPAN_128,
    }
}

/// Keeps a map and its inputs in a cache, unless another thread writes there.
#[routine(inline)]
fn keep(cache: &Cache, map: &u64, inputs: &i64, count: u64) {
    let counter = (&cache.counter).load_atomic();
    let is_free = counter == 0 || counter & 1 != 0;
    let writing = counter + 2 - (counter & 1);
    if is_free && (&cache.counter).compare_exchange(counter, writing) == counter {
        for at in 0..count {
            (&cache.inputs[at]).store_atomic(inputs[at] as u64);
        }
        for at in 0..cuda::MAP_WORDS as u64 {
            (&cache.map[at]).store_atomic(map[at]);
        }
        (&cache.counter).store_atomic(writing + 1);
    }
}

/// Writes the extents, and the strides in bytes of all dims but the innermost. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn dims(map: Map, numbers: &i64, extents: &u64, strides: &u64) -> i32 {
    let (caller, name, given) = (map.caller, map.name, map.how.given);
    for at in 0..map.rank {
        let dim = map.rank - at - 1;
        let extent = numbers[dim] as u64;
        if extent - 1 >= MOST_EXTENT {
            if given & cuda::GIVEN_DIMS != 0 {
                raise!(caller, Complaint::MapDims, name, dim, MOST_EXTENT, extent);
            }
            raise!(caller, Complaint::MapExtent, name, dim, MOST_EXTENT, extent);
        }
        extents[at] = extent;
        let stride = numbers[map.rank + dim] as u64;
        if at == 0 && stride != 1 && extent != 1 {
            raise!(caller, Complaint::MapInner, name, dim, stride);
        }
        if at != 0 {
            step(map, dim, extent, stride, &strides[at - 1])?;
        }
    }
    0
}

/// Writes the stride of a dim in bytes. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn step(map: Map, dim: i64, extent: u64, stride: u64, to: &u64) -> i32 {
    let (caller, name, unit) = (map.caller, map.name, map.unit);
    let (given, bits) = (map.how.given, map.how.bits);
    // The stride of a tensor's dim with an extent of 1 is never used, so any value is accepted.
    if extent == 1 && given & cuda::GIVEN_STRIDES == 0 {
        *to = unit;
        return 0;
    }
    let size = stride * bits;
    let fits = stride < MOST_STRIDE && size & (8 * unit - 1) == 0 && size < 8 * MOST_STRIDE;
    if !fits {
        if given & (cuda::GIVEN_DIMS | cuda::GIVEN_STRIDES) != 0 {
            raise!(caller, Complaint::MapStrides, name, dim, unit, MOST_STRIDE, stride, bits);
        }
        raise!(caller, Complaint::MapStride, name, dim, unit, MOST_STRIDE, stride * (bits >> 3));
    }
    *to = size >> 3;
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
    if how.given & cuda::GIVEN_PACKED == 0 && how.interleave == Interleave::None as i64 {
        let row = *boxes as u64 * (how.bits >> 3);
        let most = widest(how.swizzle, MOST_BOX * 8);
        if row & (ROW_UNIT - 1) != 0 || row > most {
            raise!(map.caller, Complaint::MapRow, map.name, most, row);
        }
    }
    0
}

/// Writes the steps. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn box_steps(map: Map, numbers: &i64, steps: &u32) -> i32 {
    for at in 0..map.rank {
        let dim = map.rank - at - 1;
        let step = numbers[dim] as u64;
        if step - 1 >= MOST_STEP {
            raise!(map.caller, Complaint::MapStep, map.name, dim, MOST_STEP, step);
        }
        steps[at] = step as u32;
    }
    0
}

/// Writes the offsets of the corners of the bounding box. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn corners(map: Map, dims: &i64, numbers: &i64, lower: &i32, upper: &i32) -> i32 {
    let (caller, name) = (map.caller, map.name);
    let spatial = map.rank - OTHER_DIMS;
    let least: i64 = match spatial {
        1 => LEAST_IN_1,
        2 => LEAST_IN_2,
        _ => LEAST_IN_3,
    };
    let most = -1 - least;
    for at in 0..spatial {
        let from = spatial - at - 1;
        let dim = from + FIRST_SPATIAL;
        let (first, last) = (numbers[from], numbers[spatial + from]);
        if first < least || first > most {
            raise!(caller, Complaint::MapLower, name, dim, least, most, first);
        }
        if last < least || last > most {
            raise!(caller, Complaint::MapUpper, name, dim, least, most, last);
        }
        let between = dims[dim] + last - first;
        if between < 1 {
            raise!(caller, Complaint::MapBounds, name, dim, between);
        }
        lower[at] = first as i32;
        upper[at] = last as i32;
    }
    0
}

/// Checks channels and pixels of a column. Without interleaving, a pixel of whole-byte elements must be no wider than
/// the swizzle. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn check_column(map: Map, channels: u64, pixels: u64) -> i32 {
    let (caller, name, how) = (map.caller, map.name, map.how);
    if channels - 1 >= MOST_CHANNELS {
        raise!(caller, Complaint::MapChannels, name, MOST_CHANNELS, channels);
    }
    if pixels - 1 >= MOST_PIXELS {
        raise!(caller, Complaint::MapPixels, name, MOST_PIXELS, pixels);
    }
    if how.given & cuda::GIVEN_PACKED == 0 && how.interleave == Interleave::None as i64 {
        let bytes = channels * (how.bits >> 3);
        let most = widest(how.swizzle, MOST_CHANNELS * 8);
        if bytes > most {
            raise!(caller, Complaint::MapPixel, name, most, bytes);
        }
    }
    0
}
