//! Tensors that PyTorch allocates: results, and what a function allocates where the host has no allocator of its own.

use abi_spec::layout::DL_MANAGED_TENSOR_VERSIONED as MANAGED;

use crate::ir::Builder;
use crate::ir::typed::{Ref, Single, routine, structs};
use crate::language::MAX_RANK;
use crate::lower::routines::Routine;
use crate::lower::routines::allocate::{MAJOR, MINOR, check_sizes, tell};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::{Caller, DlTensor, Managed};
use crate::lower::routines::message::raise;
use crate::lower::routines::records::{Head, OutputRecord, Outputs, text_of};
use crate::lower::routines::runtime::{free, get_tensor_allocator, malloc, set_tensor_allocator};
use crate::lower::routines::torch::{CUDA, DEVICES, DTYPES, PRINTED, ROCM, reason, torch_view};
use crate::lower::torch::{LENT_HANDLE, LENT_SIZE, Tensor, delete_tensor, empty_strided, facts};

structs! {
    /// A tensor that PyTorch has allocated for the caller, who then owns its handle.
    Lent LentFields: LENT_SIZE, 8 => {
        tensor: Nested<DlTensor> = 0,
        handle: Field<Ref<Tensor>> = LENT_HANDLE,
    }
    /// A tensor object's memory: what DLPack says, then the handle.
    Owned OwnedFields: MANAGED.size + 8, 8 => {
        managed: Nested<Managed> = 0,
        handle: Field<Ref<Tensor>> = MANAGED.size as i32,
    }
}

/// Size of the memory of a tensor object.
pub(super) const OWNED_SIZE: u64 = MANAGED.size as u64 + 8;

/// Answers of [`torch_empty()`]: PyTorch has no such element type.
const NO_DTYPE: i32 = 1;

/// PyTorch has a [`reason()`].
const REFUSED: i32 = 2;

/// Allocates results and writes them to `tensors`: views, and the handles, which are the caller's. `extents` holds the
/// extents of all tensors in a row, `devices` one device for each. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_allocate(
    caller: Caller,
    outputs: &Outputs,
    extents: &i64,
    devices: &u64,
    tensors: &Lent,
) -> i32 {
    let count = outputs.count;
    let first = &outputs[1] as &OutputRecord;
    check_sizes(caller, outputs, extents)?;
    let mut shape = extents;
    for at in 0..count {
        torch_allocate_one(caller, &first[at], shape, devices[at], &tensors[at])?;
        shape = &shape[first[at].rank];
    }
    0
}

/// Allocates one result. Returns as [`torch_allocate()`] does.
#[routine]
pub(crate) fn torch_allocate_one(
    caller: Caller,
    output: &OutputRecord,
    extents: &i64,
    device: u64,
    to: &Lent,
) -> i32 {
    let name = text_of(caller.site as &Head, output.name);
    let answer = torch_empty(output.rank, extents, output.dtype as u32, device, &to.handle);
    if answer == NO_DTYPE {
        raise!(caller, Complaint::TorchDtype, name);
    }
    if answer != 0 {
        raise!(caller, Complaint::TorchAllocate, name, reason(PRINTED.data));
    }
    if torch_view(to.tensor, to.handle, 1, device as u32) != 0 {
        raise!(caller, Complaint::TorchAllocate, name, "PyTorch has lent no memory");
    }
    let align = output.align;
    if to.tensor.data as u64 & (align - 1) != 0 {
        raise!(caller, Complaint::Allocator, name, output.align);
    }
    0
}

/// Makes a compact tensor of at most as many dims as the language has. Returns 0, [`NO_DTYPE`] or [`REFUSED`].
#[routine]
pub(crate) fn torch_empty(
    rank: u64,
    extents: &i64,
    dtype: u32,
    device: u64,
    made: &&Tensor,
) -> i32 {
    let strides: [i64; MAX_RANK as u32];
    compact(rank, extents, strides);
    let number = number_of_dtype(dtype);
    if number < 0 {
        return NO_DTYPE;
    }
    let ty = number_of_device(device as u32);
    let index = (device >> 32) as i32;
    if empty_strided(rank as i64, extents, strides, number, ty, index, made) != 0 {
        *made = null;
        return REFUSED;
    }
    0
}

/// Writes the strides of a compact tensor.
#[routine(inline)]
pub(super) fn compact(rank: u64, extents: &i64, strides: &i64) {
    let mut stride: i64 = 1;
    for back in 0..rank {
        let dim = rank - 1 - back;
        strides[dim] = stride;
        let extent = extents[dim];
        if extent > 1 {
            stride = stride * extent;
        }
    }
}

/// Returns the number of an element type in PyTorch; -1 if it has none.
#[routine(inline)]
pub(super) fn number_of_dtype(word: u32) -> i32 {
    let known = facts().dtypes;
    for at in 0..DTYPES {
        if known[at] == word {
            return at as i32;
        }
    }
    -1
}

/// Returns the number of a type of devices in PyTorch; -1, which it refuses, if it has none.
#[routine(inline)]
pub(super) fn number_of_device(ty: u32) -> i32 {
    let known = facts().devices;
    let mut wanted = ty;
    if ty == ROCM {
        wanted = CUDA;
    }
    for at in 0..DEVICES {
        if known[at] == wanted {
            return at as i32;
        }
    }
    -1
}

/// Makes the memory of a tensor object, which takes over a tensor, without a view. Returns NULL once it has deleted the
/// tensor since memory has run out.
#[routine(inline)]
pub(super) fn owned_by(tensor: &Tensor) -> &Managed {
    let owned = malloc(OWNED_SIZE) as &Owned;
    if owned == null {
        delete_tensor(tensor);
        return null;
    }
    let managed = owned.managed;
    owned.handle = tensor;
    managed.major = MAJOR;
    managed.minor = MINOR;
    managed.manager_ctx = null;
    managed.deleter = deleter();
    managed.flags = 0;
    managed
}

/// Deletes the memory of a tensor object: the deleter of what [`owned_by()`] makes.
#[routine]
pub(crate) fn torch_delete(managed: &Managed) {
    let owned = managed as &Owned;
    delete_tensor(owned.handle);
    free(managed);
}

/// Makes PyTorch's allocator the thread's if the host has none. Returns 1 if it did, else 0.
#[routine]
pub(crate) fn torch_lend_allocator() -> i32 {
    if get_tensor_allocator() != null {
        return 0;
    }
    set_tensor_allocator(allocator(), 0, null);
    1
}

/// Takes the allocator back that [`torch_lend_allocator()`] has given the thread, if that has returned 1.
#[routine]
pub(crate) fn torch_take_allocator(lent: i32) {
    if lent != 0 {
        set_tensor_allocator(null, 0, null);
    }
}

/// Allocates a tensor like a prototype, for the runtime: a `DLPackManagedTensorAllocator`. `refuse` is told of a
/// failure, with `context`, a kind and a message. Returns 0 or -1.
#[routine]
pub(crate) fn torch_allocator(
    prototype: &DlTensor,
    out: &&Managed,
    context: &u8,
    refuse: &u8,
) -> i32 {
    let made: &Tensor;
    let rank = prototype.ndim;
    if rank < 0 || rank > MAX_RANK as i32 {
        return told(context, refuse, "PyTorch makes no tensor of this rank\0".data);
    }
    let dtype = (prototype.kind >> 32) as u32;
    let device = prototype.device;
    *made = null;
    let answer = torch_empty(rank as u32 as u64, prototype.shape, dtype, device, made);
    if answer == NO_DTYPE {
        return told(context, refuse, "PyTorch has no such element type\0".data);
    }
    if answer != 0 {
        let printed = "PyTorch has not allocated a tensor, and has printed why\0";
        return told(context, refuse, reason(printed.data).data);
    }
    let managed = owned_by(*made);
    if managed == null {
        return told(context, refuse, "out of memory\0".data);
    }
    if torch_view(managed.tensor, *made, 1, device as u32) != 0 {
        torch_delete(managed);
        return told(context, refuse, "PyTorch has lent no memory\0".data);
    }
    *out = managed;
    0
}

/// Tells of a failure, by a text that ends with a NUL. Returns -1.
#[routine(inline)]
fn told(context: &u8, refuse: &u8, message: &u8) -> i32 {
    tell(refuse, context, "RuntimeError\0".data, message);
    -1
}

/// Emits the address of [`torch_delete()`].
fn deleter(b: &mut Builder<'_>) -> Ref<u8> {
    Ref::new(Routine::TorchDelete.address(b))
}

/// Emits the address of [`torch_allocator()`].
fn allocator(b: &mut Builder<'_>) -> Ref<u8> {
    Ref::new(Routine::TorchAllocator.address(b))
}
