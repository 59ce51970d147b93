//! Memory of XLA for tensors that a function allocates on the device of a call, besides its results. While the function
//! runs, the thread's allocator is one that asks XLA for memory in the name of the call.
//!
//! An allocator gets nothing but a prototype. The thread's call is found by a stream: the runtime keeps one for each
//! thread and device, and no host has streams of [`SLOT_TYPE`], so that this one holds the address of the call's
//! record. Records of other libraries may stand there, too, of calls within calls, and so their fields keep their
//! places in every version.
//!
//! A tensor that goes before the call ends gives its memory back: at once on the thread of the call, with the end of
//! the call on another, since the thread may be using the list of tensors. XLA takes none later, so that a tensor that
//! somebody keeps keeps its memory, too, until the process ends; its deleter becomes `free` with the end of the call,
//! so that it may outlive this library.

use abi_spec::DeviceType;
use abi_spec::xla;

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, call_indirect, routine, structs};
use crate::lower::routines::Routine;
use crate::lower::routines::allocate::{ALIGN, data_size, plain_block, tell};
use crate::lower::routines::memory::{DlTensor, Managed};
use crate::lower::routines::place::Place;
use crate::lower::routines::runtime::{
    address_of_free, free, get_stream, get_tensor_allocator, malloc, set_stream,
    set_tensor_allocator,
};
use crate::lower::routines::xla::{Frame, Request, call_api};

/// Type of the device whose stream is the thread's call.
const SLOT_TYPE: i32 = DeviceType::EXT_DEV.0;

/// Index of that device.
const SLOT_INDEX: i32 = 0;

const CPU: u32 = DeviceType::CPU.0 as u32;

structs! {
    /// A call whose memory is lent.
    Lending LendingFields: LENDING_SIZE, 8 => {
        frame: Field<Ref<Frame>> = 0,
        device: Field<u64> = 8,
        // The newest tensor that is left; NULL if none is.
        newest: Field<Ref<Managed>> = 16,
        // The allocator for other devices, the host's; NULL if that has set none.
        host: Field<Ref<u8>> = 24,
        // The allocator of the thread before the call.
        previous: Field<Ref<u8>> = 32,
        // The call within which this one is made.
        outer: Field<Ref<Lending>> = 40,
        // The allocator of this call, of whatever library it is.
        own: Field<Ref<u8>> = 48,
    }
    /// The owner of a tensor's memory, behind the strides of its block.
    Lent LentFields: LENT_SIZE as u32, 8 => {
        lending: Field<Ref<Lending>> = 0,
        size: Field<u64> = 8,
        // The tensor of the call that is older by one; NULL for the oldest.
        older: Field<Ref<Managed>> = 16,
        // 1 once another thread has released the tensor.
        gone: Field<u64> = 24,
    }
    /// Arguments of the functions that allocate and free.
    Memory MemoryFields: xla::DEVICE_MEMORY_ALLOCATE_ARGS.size, 8 => {
        struct_size: Field<u64> = xla::device_memory_allocate_args::STRUCT_SIZE.offset,
        extensions: Field<Ref<u8>> = xla::device_memory_allocate_args::EXTENSION_START.offset,
        ctx: Field<Ref<u8>> = xla::device_memory_allocate_args::CTX.offset,
        size: Field<u64> = xla::device_memory_allocate_args::SIZE.offset,
        alignment: Field<u64> = xla::device_memory_allocate_args::ALIGNMENT.offset,
        allocated: Field<Ref<u8>> = xla::device_memory_allocate_args::DATA.offset,
        freed: Field<Ref<u8>> = xla::device_memory_free_args::DATA.offset,
    }
}

const LENDING_SIZE: u32 = 56;
const LENT_SIZE: u64 = 32;

/// Sizes of structs as XLA counts them.
const ALLOCATE_SIZE: u64 = xla::size(xla::DEVICE_MEMORY_ALLOCATE_ARGS) as u64;
const FREE_SIZE: u64 = xla::size(xla::DEVICE_MEMORY_FREE_ARGS) as u64;
const MESSAGE_SIZE: u64 = xla::size(xla::ERROR_GET_MESSAGE_ARGS) as u64;
const DESTROY_SIZE: u64 = xla::size(xla::ERROR_DESTROY_ARGS) as u64;

/// Lends XLA's memory to the thread for a call. Returns the record of it; NULL if memory has run out and nothing is
/// lent.
#[routine]
pub(crate) fn xla_lend(frame: &Frame, place: &Place) -> &Lending {
    let lending = malloc(LENDING_SIZE as u64) as &Lending;
    if lending == null {
        return null;
    }
    let slot: &u8;
    let previous: &u8;
    lending.frame = frame;
    lending.device = place.device;
    lending.newest = null;
    lending.own = allocator();
    let mut host = get_tensor_allocator();
    set_stream(SLOT_TYPE, SLOT_INDEX, lending as &u8, slot);
    set_tensor_allocator(lending.own, 0, previous);
    let outer = *slot as &Lending;
    if outer != null {
        // The allocator of the outer call would look for its record where this one is now.
        if host == outer.own {
            host = outer.host;
        }
    }
    lending.host = host;
    lending.outer = outer;
    lending.previous = *previous;
    lending
}

/// Gives the thread its allocator back, if one was lent, and XLA what other threads have released. Tensors that are
/// left keep their memory.
#[routine]
pub(crate) fn xla_take_back(lending: &Lending) {
    if lending == null {
        return;
    }
    set_tensor_allocator(lending.previous, 0, null);
    set_stream(SLOT_TYPE, SLOT_INDEX, lending.outer as &u8, null);
    let mut block = lending.newest;
    while block != null {
        let lent = block.manager_ctx as &Lent;
        let older = lent.older;
        block.deleter = address_of_free();
        if (&lent.gone).load_atomic() != 0 {
            give_back(lending.frame, block.tensor.data, lent.size);
            free(block);
        }
        block = older;
    }
    free(lending as &Managed);
}

/// Allocates a tensor like a prototype, for the runtime: a `DLPackManagedTensorAllocator`. `refuse` is told of a
/// failure, with `context`, a kind and a message. Returns 0 or -1.
#[routine]
pub(crate) fn xla_allocator(
    prototype: &DlTensor,
    out: &&Managed,
    context: &u8,
    refuse: &u8,
) -> i32 {
    let lending = get_stream(SLOT_TYPE, SLOT_INDEX) as &Lending;
    if prototype.device != lending.device {
        let host = lending.host;
        if host != null {
            return allocate_by(host, prototype, out, context, refuse);
        }
        if prototype.device_type != CPU {
            let message = "XLA allocates on the device of its call only\0";
            tell(refuse, context, "RuntimeError\0".data, message.data);
            return -1;
        }
    }
    let rank = prototype.ndim as u32 as u64;
    let dtype = (prototype.kind >> 32) as u32 as u64;
    let size = data_size(rank, dtype, prototype.shape);
    let mut block: &Managed = null;
    if prototype.device != lending.device {
        block = plain_block(rank, prototype, size, ALIGN);
    } else if size >= 0 {
        block = plain_block(rank, prototype, LENT_SIZE as i64, 1);
    }
    if block == null {
        return without_memory(context, refuse, "not enough memory for a tensor\0".data);
    }
    if prototype.device == lending.device {
        if xla_allocate(lending, block, size as u64, context, refuse) != 0 {
            free(block);
            return -1;
        }
    }
    *out = block;
    0
}

/// Allocates the elements of a block by XLA. Returns 0 or -1.
#[routine]
pub(crate) fn xla_allocate(
    lending: &Lending,
    block: &Managed,
    size: u64,
    context: &u8,
    refuse: &u8,
) -> i32 {
    let frame = lending.frame;
    let api = frame.api;
    let memory: Memory;
    memory.struct_size = ALLOCATE_SIZE;
    memory.extensions = null;
    memory.ctx = frame.ctx;
    memory.size = size;
    memory.alignment = xla::MAX_ALIGNMENT;
    memory.allocated = null;
    if size != 0 {
        let error = call_api(api.device_memory_allocate, memory as &Request);
        if error != null {
            let request: Request;
            request.size = MESSAGE_SIZE;
            request.extensions = null;
            request.subject = error;
            request.stream = null;
            call_api(api.error_get_message, request);
            without_memory(context, refuse, request.stream);
            destroy(frame, error);
            return -1;
        }
    }
    let tensor = block.tensor;
    let lent = tensor.data as &Lent;
    lent.lending = lending;
    lent.size = size;
    lent.gone = 0;
    tensor.data = memory.allocated;
    block.manager_ctx = lent as &u8;
    block.deleter = deleter();
    lent.older = lending.newest;
    lending.newest = block;
    0
}

/// Deletes the memory of a tensor whose call has not ended: the deleter of what [`xla_allocate()`] makes. On another
/// thread than that of the call it leaves it to [`xla_take_back()`].
#[routine]
pub(crate) fn xla_delete(block: &Managed) {
    let lent = block.manager_ctx as &Lent;
    let mut at = get_stream(SLOT_TYPE, SLOT_INDEX) as &Lending;
    while at != null {
        if at == lent.lending {
            unlink(at, block, lent.older);
            give_back(at.frame, block.tensor.data, lent.size);
            free(block);
            return;
        }
        at = at.outer;
    }
    (&lent.gone).store_atomic(1);
}

/// Takes a tensor from the list of its call.
#[routine(inline)]
fn unlink(lending: &Lending, block: &Managed, older: &Managed) {
    if lending.newest == block {
        lending.newest = older;
    } else {
        let mut at = lending.newest;
        while at != null {
            let lent = at.manager_ctx as &Lent;
            at = lent.older;
            if at == block {
                lent.older = older;
                at = null;
            }
        }
    }
}

/// Frees memory of XLA.
#[routine(inline)]
fn give_back(frame: &Frame, data: &u8, size: u64) {
    if size != 0 {
        let memory: Memory;
        memory.struct_size = FREE_SIZE;
        memory.extensions = null;
        memory.ctx = frame.ctx;
        memory.size = size;
        memory.freed = data;
        let error = call_api(frame.api.device_memory_free, memory as &Request);
        if error != null {
            destroy(frame, error);
        }
    }
}

/// Destroys an error of XLA.
#[routine(inline)]
fn destroy(frame: &Frame, error: &u8) {
    let request: Request;
    request.size = DESTROY_SIZE;
    request.extensions = null;
    request.subject = error;
    call_api(frame.api.error_destroy, request);
}

/// Tells that there is no memory, with a message that ends with a NUL. Returns -1.
#[routine(inline)]
fn without_memory(context: &u8, refuse: &u8, message: &u8) -> i32 {
    tell(refuse, context, "MemoryError\0".data, message);
    -1
}

/// Calls another allocator.
fn allocate_by(
    b: &mut Builder<'_>,
    function: Ref<u8>,
    prototype: Ref<DlTensor>,
    out: Ref<Ref<Managed>>,
    context: Ref<u8>,
    refuse: Ref<u8>,
) -> Int<i32> {
    let function = function.value(b);
    call_indirect(b, function, (prototype, out, context, refuse))
}

/// Emits the address of [`xla_delete()`].
fn deleter(b: &mut Builder<'_>) -> Ref<u8> {
    Ref::new(Routine::XlaDelete.address(b))
}

/// Emits the address of [`xla_allocator()`].
fn allocator(b: &mut Builder<'_>) -> Ref<u8> {
    Ref::new(Routine::XlaAllocator.address(b))
}
