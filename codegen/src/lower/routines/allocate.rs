//! Tensors that are allocated.

use abi_spec::{TypeIndex, runtime};

use crate::ir::typed::routine;
use crate::lower::routines::allocate_plain::{MAX_SIZE, allocate_plain, data_size, name_of};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::functions::fail_call;
use crate::lower::routines::memory::{Any, Caller, DlTensor, Object, write};
use crate::lower::routines::message::raise;
use crate::lower::routines::records::{Output, Outputs};
use crate::lower::routines::result::leave;
use crate::lower::routines::runtime::{get_tensor_allocator, tensor_alloc};
use crate::lower::routines::view::settle;

/// The name of what allocates, for messages.
const ALLOCATOR: &str = runtime::ENV_TENSOR_ALLOC.name;

/// Fills `tensors` with owned values. Returns -1 once it has raised, with nothing allocated.
#[routine]
pub(crate) fn allocate(
    caller: Caller,
    outputs: &Outputs,
    extents: &i64,
    devices: &u64,
    tensors: &Any,
) -> i32 {
    let count = outputs.count;
    let first = &outputs[1] as &Output;
    let mut shape = extents;
    for at in 0..count {
        check_size(caller, &first[at], shape)?;
        shape = &shape[first[at].rank];
    }
    let prototype: DlTensor;
    shape = extents;
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

/// Fills a `DLTensor` with what an allocator has to know.
#[routine(inline)]
fn describe(to: &DlTensor, output: &Output, extents: &i64, device: u64) {
    to.data = null;
    to.device = device;
    to.kind = output.rank | output.dtype << 32;
    to.shape = extents;
    to.strides = null;
    to.byte_offset = 0;
}

/// One tensor, as an owned value; -1 once it has raised.
#[routine]
pub(crate) fn allocate_one(
    caller: Caller,
    output: &Output,
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

/// -1 once it has raised that an extent is negative, or the whole too large.
#[routine]
pub(crate) fn check_size(caller: Caller, output: &Output, extents: &i64) -> i32 {
    for dim in 0..output.rank {
        if extents[dim] < 0 {
            raise!(caller, Complaint::OutputExtent, name_of(caller, output), dim, extents[dim]);
        }
    }
    if data_size(output, extents) < 0 {
        raise!(caller, Complaint::OutputSize, name_of(caller, output), MAX_SIZE);
    }
    0
}
