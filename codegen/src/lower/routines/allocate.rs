//! Allocation of tensors, with the allocator of the host. If the host has set none, tensors on the CPU are allocated
//! with `malloc`.
//!
//! A tensor from `malloc` is one block: a `DLManagedTensorVersioned`, the extents, the strides, and the aligned
//! elements. Its deleter is `free` itself, so that the tensor may outlive this library.

use abi_spec::layout::DL_MANAGED_TENSOR_VERSIONED as MANAGED;
use abi_spec::{DeviceType, TypeIndex, runtime};

use crate::ir::Builder;
use crate::ir::typed::{Ref, Single, Text, call_indirect, routine};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::functions::fail_call;
use crate::lower::routines::memory::{Any, Caller, DlTensor, Managed, Object, write};
use crate::lower::routines::message::raise;
use crate::lower::routines::records::{Head, OutputRecord, Outputs, text_of};
use crate::lower::routines::release::leave;
use crate::lower::routines::runtime::{
    address_of_free, free, get_tensor_allocator, malloc, tensor_alloc, tensor_from_dl_pack,
};
use crate::lower::routines::view::settle;

/// Name of the function that allocates, for messages.
const ALLOCATOR: &str = runtime::ENV_TENSOR_ALLOC.name;

/// Smallest alignment of elements from `malloc`, in bytes: a cache line.
pub(super) const ALIGN: u64 = 64;

/// Version of DLPack: 1.1, the first that has every element type of the ABI.
pub(super) const MAJOR: u32 = 1;
pub(super) const MINOR: u32 = 1;

/// Largest size of a tensor in bytes.
const MAX_SIZE: i64 = 1 << 62;

/// Largest number of elements. [`MAX_SIZE`] does not imply it for elements smaller than a byte.
const MAX_ELEMENTS: u64 = i64::MAX as u64;

const CPU: u32 = DeviceType::CPU.0 as u32;

/// Size of the `DLManagedTensorVersioned` at the start of a block.
const HEAD: u64 = MANAGED.size as u64;

/// Name of the function that makes a tensor object from a block, for messages.
const MAKER: &str = runtime::TENSOR_FROM_DL_PACK_VERSIONED.name;

/// Allocates tensors and writes them to `tensors` as owned values. `extents` holds the extents of all tensors in a row,
/// `devices` one device for each tensor. Returns 0, or -1 once it has raised; then nothing stays allocated.
#[routine]
pub(crate) fn allocate(
    caller: Caller,
    outputs: &Outputs,
    extents: &i64,
    devices: &u64,
    tensors: &Any,
) -> i32 {
    let count = outputs.count;
    let first = &outputs[1] as &OutputRecord;
    check_sizes(caller, outputs, extents)?;
    let mut shape = extents;
    let prototype: DlTensor;
    for at in 0..count {
        let output = &first[at];
        describe(prototype, output, shape, devices[at]);
        let code = allocate_one(caller, output, prototype, &tensors[at]);
        if code != 0 {
            leave(tensors, at as i64);
            return code;
        }
        shape = &shape[output.rank];
    }
    0
}

/// Checks the extents and the sizes of tensors. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(super) fn check_sizes(caller: Caller, outputs: &Outputs, extents: &i64) -> i32 {
    let first = &outputs[1] as &OutputRecord;
    let mut shape = extents;
    for at in 0..outputs.count {
        check_size(caller, &first[at], shape)?;
        shape = &shape[first[at].rank];
    }
    0
}

/// Fills in the prototype, a `DLTensor` that tells the allocator what to allocate.
#[routine(inline)]
fn describe(to: &DlTensor, output: &OutputRecord, extents: &i64, device: u64) {
    to.data = null;
    to.device = device;
    to.kind = output.rank | output.dtype << 32;
    to.shape = extents;
    to.strides = null;
    to.byte_offset = 0;
}

/// Allocates one tensor as an owned value. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn allocate_one(
    caller: Caller,
    output: &OutputRecord,
    prototype: &DlTensor,
    tensor: &Any,
) -> i32 {
    if get_tensor_allocator() == null {
        return allocate_plain(caller, output, prototype, tensor);
    }
    let created: &Object;
    *created = null;
    let status = tensor_alloc(prototype, created);
    let object = *created;
    write(tensor, TypeIndex::TENSOR, object as u64);
    if status != 0 || object == null {
        fail_call(caller, ALLOCATOR, status);
        leave(tensor, 1);
        return -1;
    }
    let align = output.align;
    if settle(object.tensor, align - 1, 1) != object.tensor {
        leave(tensor, 1);
        raise!(caller, Complaint::Allocator, name_of(caller, output), align);
    }
    0
}

/// Checks that no extent is negative and that the tensor is not too large. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn check_size(caller: Caller, output: &OutputRecord, extents: &i64) -> i32 {
    for dim in 0..output.rank {
        if extents[dim] < 0 {
            raise!(caller, Complaint::OutputExtent, name_of(caller, output), dim, extents[dim]);
        }
    }
    if data_size(output.rank, output.dtype, extents) < 0 {
        raise!(caller, Complaint::OutputSize, name_of(caller, output), MAX_SIZE);
    }
    0
}

/// Allocates one tensor on the CPU with `malloc`, as an owned value. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn allocate_plain(
    caller: Caller,
    output: &OutputRecord,
    prototype: &DlTensor,
    tensor: &Any,
) -> i32 {
    if prototype.device_type != CPU {
        raise!(caller, Complaint::NoAllocator, prototype.device, name_of(caller, output));
    }
    let size = data_size(output.rank, output.dtype, prototype.shape);
    let wanted = output.align;
    let align = if wanted > ALIGN { wanted } else { ALIGN };
    let block = plain_block(output.rank, prototype, size, align);
    if block == null {
        raise!(caller, Complaint::OutOfMemory, name_of(caller, output), size);
    }
    hand_over(caller, block, tensor)
}

/// Makes the block of a tensor like a prototype, with so many bytes behind the strides for its elements, aligned.
/// Returns NULL if there is no memory or the size is negative.
#[routine(inline)]
pub(super) fn plain_block(rank: u64, prototype: &DlTensor, size: i64, align: u64) -> &Managed {
    let mut block: &Managed = null;
    if size >= 0 {
        block = malloc((rank << 4) + HEAD + align + size as u64);
    }
    if block != null {
        fill(block, rank, prototype, align);
    }
    block
}

/// Returns the name of a tensor, for messages.
#[routine(inline)]
fn name_of(caller: Caller, output: &OutputRecord) -> Text {
    text_of(caller.site as &Head, output.name)
}

/// Fills in a block, except the elements.
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

/// Makes a tensor object from a block. Returns 0, or -1 once it has freed the block and raised.
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

/// Returns the size of all elements in bytes, rounded up; -1 if it exceeds [`MAX_SIZE`] or if there are more than
/// [`MAX_ELEMENTS`] elements. No extent may be negative.
#[routine]
pub(crate) fn data_size(rank: u64, dtype: u64, extents: &i64) -> i64 {
    let mut count: u64 = 1;
    for dim in 0..rank {
        count = elements(count, extents[dim] as u64);
    }
    if count > MAX_ELEMENTS {
        return -1;
    }
    let bits = (dtype >> 8 & 0xff) * (dtype >> 16);
    // Eight elements are a whole number of bytes, whatever their width in bits.
    let eights = count >> 3;
    // An element type that the caller brings may be of no bits.
    let divisor = if bits == 0 { 1 } else { bits };
    if eights > MAX_SIZE as u64 / divisor {
        return -1;
    }
    let size = eights * bits + ((count & 7) * bits + 7 >> 3);
    let none: i64 = -1;
    if size > MAX_SIZE as u64 { none } else { size as i64 }
}

/// Multiplies a number of elements by an extent. The product saturates at [`MAX_ELEMENTS`] + 1. An extent of 0 yields 0
/// even after saturation.
#[routine(inline)]
fn elements(count: u64, extent: u64) -> u64 {
    let divisor = if extent == 0 { 1 } else { extent };
    let is_many = count > MAX_ELEMENTS / divisor && extent != 0;
    if is_many { MAX_ELEMENTS + 1 } else { count * extent }
}

/// Tells the caller of an allocator of a failure: calls
/// `void function(void* context, const char* kind, const char* message)`.
pub(crate) fn tell(
    b: &mut Builder<'_>,
    function: Ref<u8>,
    context: Ref<u8>,
    kind: Ref<u8>,
    message: Ref<u8>,
) {
    let function = function.value(b);
    call_indirect::<_, ()>(b, function, (context, kind, message))
}
