//! Tensors where the host has set no allocator: memory of the C library, on the cpu.
//!
//! A tensor is one block: a `DLManagedTensorVersioned`, extents, strides, and aligned to a cache line the
//! elements. What frees it is `free` itself, so that it may outlive this library.

use abi_spec::layout::DL_MANAGED_TENSOR_VERSIONED as MANAGED;
use abi_spec::{DeviceType, TypeIndex, runtime};

use crate::ir::typed::{Text, routine};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::functions::fail_call;
use crate::lower::routines::memory::{Any, Caller, DlTensor, Managed, Object, write};
use crate::lower::routines::message::raise;
use crate::lower::routines::message::text_of;
use crate::lower::routines::records::{Head, Output};
use crate::lower::routines::runtime::{address_of_free, free, malloc, tensor_from_dl_pack};

/// What the elements are aligned to at least, as frameworks and vector instructions like it.
const ALIGN: u64 = 64;

/// The version of DLPack that knows every element type of the ABI: 1.1.
const MAJOR: u32 = 1;
const MINOR: u32 = 1;

/// No tensor is larger, in bytes.
pub(super) const MAX_SIZE: i64 = 1 << 62;

/// No tensor has more elements, of which some are smaller than a byte.
const MAX_ELEMENTS: u64 = i64::MAX as u64;

const CPU: u32 = DeviceType::CPU.0 as u32;

/// Bytes of a block in front of extents, strides and elements.
const HEAD: u64 = MANAGED.size as u64;

/// The name of what makes a tensor of a block, for messages.
const MAKER: &str = runtime::TENSOR_FROM_DL_PACK_VERSIONED.name;

/// An owned value; -1 once it has raised.
#[routine]
pub(crate) fn allocate_plain(
    caller: Caller,
    output: &Output,
    prototype: &DlTensor,
    tensor: &Any,
) -> i32 {
    if prototype.device_type != CPU {
        raise!(caller, Complaint::NoAllocator, prototype.device, name_of(caller, output));
    }
    let size = data_size(output, prototype.shape);
    let wanted = output.align;
    let align = if wanted > ALIGN { wanted } else { ALIGN };
    let rank = output.rank;
    let mut block: &Managed = null;
    if size >= 0 {
        block = malloc((rank << 4) + HEAD + align + size as u64);
    }
    if block == null {
        raise!(caller, Complaint::OutOfMemory, name_of(caller, output), size);
    }
    fill(block, rank, prototype, align);
    hand_over(caller, block, tensor)
}

/// The name of a tensor.
#[routine(inline)]
pub(super) fn name_of(caller: Caller, output: &Output) -> Text {
    text_of(caller.site as &Head, output.name)
}

/// Writes all but the elements.
#[routine(inline)]
fn fill(block: &Managed, rank: u64, prototype: &DlTensor, align: u64) {
    block.major = MAJOR;
    block.minor = MINOR;
    block.manager_ctx = null;
    block.deleter = address_of_free();
    block.flags = 0;
    let extents = block.dims;
    let strides = &extents[rank];
    let from = prototype.shape;
    let mut stride: i64 = 1;
    for dim in (0..rank).rev() {
        extents[dim] = from[dim];
        strides[dim] = stride;
        stride *= from[dim];
    }
    let end = &strides[rank] as &u8;
    let tensor = block.tensor;
    tensor.data = &end[(0 - end as u64) & (align - 1)];
    tensor.device = prototype.device;
    tensor.kind = prototype.kind;
    tensor.shape = extents;
    tensor.strides = strides;
    tensor.byte_offset = 0;
}

/// Makes a block a tensor, or frees it, raises and yields -1.
#[routine(inline)]
fn hand_over(caller: Caller, block: &Managed, tensor: &Any) -> i32 {
    let created: &Object;
    *created = null;
    let status = tensor_from_dl_pack(block, 0, 0, created);
    if status != 0 {
        free(block);
        return fail_call(caller, MAKER, status);
    }
    let object = *created;
    write(tensor, TypeIndex::TENSOR, object as u64);
    0
}

/// The bytes of so many elements, the last one in full; -1 for more than [`MAX_SIZE`], or more elements than
/// [`MAX_ELEMENTS`]. No extent is negative.
#[routine]
pub(crate) fn data_size(output: &Output, extents: &i64) -> i64 {
    let mut count: u64 = 1;
    for dim in 0..output.rank {
        count = elements(count, extents[dim] as u64);
    }
    if count > MAX_ELEMENTS {
        return -1;
    }
    let dtype = output.dtype;
    let bits = (dtype >> 8 & 0xff) * (dtype >> 16);
    // Eights of elements are whole bytes, whatever the bits of one.
    let eights = count >> 3;
    if eights > MAX_SIZE as u64 / bits {
        return -1;
    }
    let size = eights * bits + ((count & 7) * bits + 7 >> 3);
    let none: i64 = -1;
    if size > MAX_SIZE as u64 { none } else { size as i64 }
}

/// So many times as many elements; one more than [`MAX_ELEMENTS`] for all that are more. An extent of 0 leaves none,
/// wherever it stands.
#[routine(inline)]
fn elements(count: u64, extent: u64) -> u64 {
    let divisor = if extent == 0 { 1 } else { extent };
    let is_many = count > MAX_ELEMENTS / divisor && extent != 0;
    if is_many { MAX_ELEMENTS + 1 } else { count * extent }
}
