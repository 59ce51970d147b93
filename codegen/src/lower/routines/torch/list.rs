//! Lists of a call, which become arrays and shapes, and tensor objects of PyTorch's tensors.

use abi_spec::TypeIndex;

use crate::ir::typed::routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::functions::{make_array, make_shape};
use crate::lower::routines::memory::{Any, Caller, Managed, Object, write};
use crate::lower::routines::message::raise;
use crate::lower::routines::release::release;
use crate::lower::routines::runtime::{free, malloc, tensor_from_dl_pack};
use crate::lower::routines::torch::allocate::{OWNED_SIZE, owned_by, torch_delete};
use crate::lower::routines::torch::{drop_element, form, torch_text, torch_view};
use crate::lower::torch::{
    List, Str, Tensor, delete_list, delete_string, list_item, list_size, new_handle,
};

/// Makes an array or a shape of a list, whose form is `form`. Takes over and clears
/// the list, which is not 0. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_list(
    caller: Caller,
    list: &&List,
    form: u8,
    accelerator: u32,
    to: &Any,
) -> i32 {
    let size: u64;
    let item: u64;
    *size = 0;
    let handle = *list;
    *list = null;
    list_size(handle, size);
    let count = *size;
    let values = malloc(count * 16 + 16) as &Any;
    let element = form & form::ELEMENT;
    let mut status: i32 = 0;
    for at in 0..count {
        *item = 0;
        list_item(handle, at, item);
        let word = *item;
        if values != null {
            let value = &values[at];
            write(value, TypeIndex::NONE, 0);
            status = status | torch_item(caller, word, element, accelerator, value);
        } else {
            drop_element(word, element);
        }
    }
    delete_list(handle);
    if values == null {
        raise!(caller, Complaint::OutOfMemory, "a list", count * 16);
    }
    if status == 0 {
        if form == form::SHAPE {
            status = make_shape(caller, values, count as i32, to);
        } else {
            status = make_array(caller, values, count as i32, to);
        }
    }
    release(values, count as i64);
    free(values as &Managed);
    status
}

/// Writes an element of a list, which it takes over. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_item(
    caller: Caller,
    word: u64,
    element: u8,
    accelerator: u32,
    to: &Any,
) -> i32 {
    match element {
        form::INT => write(to, TypeIndex::INT, word),
        form::BOOL => write(to, TypeIndex::BOOL, word & 1),
        form::FLOAT => write(to, TypeIndex::FLOAT, word),
        form::TEXT => {
            let status = torch_text(word as &Str, to);
            delete_string(word as &Str);
            return status;
        }
        _ => {
            let writes = (element == form::TENSOR) as i32;
            return torch_own(caller, word as &Tensor, writes, accelerator, to);
        }
    }
    0
}

/// Makes a tensor object that shares a tensor. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_share(
    caller: Caller,
    tensor: &Tensor,
    writes: i32,
    accelerator: u32,
    to: &Any,
) -> i32 {
    let shared: &Tensor;
    *shared = null;
    if new_handle(tensor, shared) != 0 {
        raise!(caller, Complaint::OutOfMemory, "a tensor", OWNED_SIZE);
    }
    torch_own(caller, *shared, writes, accelerator, to)
}

/// Makes a tensor object of a tensor, which it takes over. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_own(
    caller: Caller,
    tensor: &Tensor,
    writes: i32,
    accelerator: u32,
    to: &Any,
) -> i32 {
    let made: &Object;
    let managed = owned_by(tensor);
    if managed == null {
        raise!(caller, Complaint::OutOfMemory, "a tensor", OWNED_SIZE);
    }
    if torch_view(managed.tensor, tensor, writes, accelerator) != 0 {
        torch_delete(managed);
        raise!(caller, Complaint::TorchElement);
    }
    *made = null;
    if tensor_from_dl_pack(managed, 0, 0, made) != 0 {
        torch_delete(managed);
        return -1;
    }
    write(to, TypeIndex::TENSOR, *made as u64);
    0
}
