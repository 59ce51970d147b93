//! Results of a call that the function does not allocate: words of PyTorch, which are made of values of the FFI.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Int, Make, Ref, Single, call_indirect, routine};
use crate::language::MAX_RANK;
use crate::lower::dynamic::entry_address;
use crate::lower::routines::Routine;
use crate::lower::routines::access::{ALL, text};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::errors::{set_raised, take_error};
use crate::lower::routines::memory::{Any, ByteArray, Caller, DlTensor, Object};
use crate::lower::routines::message::raise;
use crate::lower::routines::release::release;
use crate::lower::routines::runtime::{object_dec_ref, object_inc_ref};
use crate::lower::routines::torch::allocate::{compact, number_of_device, number_of_dtype};
use crate::lower::routines::torch::{CPU, PRINTED, drop_list, form, has_new, reason, torch_drop};
use crate::lower::torch::{
    Entry, List, Tensor, empty_strided, facts, from_blob, layout_strided, new_list, new_string,
    new_word, push_back,
};

/// Puts the results of a function on the stack, whose forms are `count` bytes of [`form`]. `result`, which it releases,
/// is the only one, or an array of them if `is_tuple` is not 0. Returns 0, or -1 once it has raised and deleted what it
/// has put there.
#[routine]
pub(crate) fn torch_give(
    caller: Caller,
    result: &Any,
    is_tuple: i32,
    forms: &u8,
    count: u64,
    to: &u64,
) -> i32 {
    let mut values = result;
    if is_tuple != 0 {
        values = result.object.elements;
    }
    let mut status: i32 = 0;
    let mut at: u64 = 0;
    while at < count && status == 0 {
        status = torch_word(caller, &values[at], forms[at], &to[at]);
        at += 1;
    }
    // Keeps the error: releasing values may raise another.
    let error = take_error();
    if status != 0 {
        torch_drop(to, forms, at);
    }
    release(result, 1);
    if error != null {
        set_raised(error);
    }
    status
}

/// Writes the word of a value. Returns 0, or -1 once it has raised, with 0 as the word.
#[routine]
pub(crate) fn torch_word(caller: Caller, value: &Any, form: u8, to: &u64) -> i32 {
    let word: u64;
    let bare: u8;
    *to = 0;
    if form & form::OPTIONAL != 0 && value.type_index == TypeIndex::NONE {
        return 0;
    }
    *bare = form & form::BARE;
    if form & form::LIST != 0 {
        torch_give_list(caller, value, *bare, word)?;
    } else {
        torch_give_element(caller, value, *bare, word)?;
    }
    if form & form::OPTIONAL == 0 {
        *to = *word;
        return 0;
    }
    let boxed = torch_box();
    if boxed == null {
        torch_drop(word, bare, 1);
        raise!(caller, Complaint::TorchResult, reason(PRINTED.data));
    }
    *boxed = *word;
    *to = boxed as u64;
    0
}

/// Makes the room of an optional value; NULL if there is none.
#[routine(inline)]
fn torch_box() -> &u64 {
    let made: &u64;
    *made = null;
    if has_new() != null {
        new_word(made);
    } else {
        *made = operator_new(facts().operator_new, 8);
    }
    *made
}

/// Calls `operator new`.
fn operator_new(b: &mut Builder<'_>, function: Ref<u8>, size: impl Make<Int<u64>>) -> Ref<u64> {
    let (function, size) = (function.value(b), size.make(b));
    call_indirect(b, function, size)
}

/// Writes a list of the elements of an array, a list or a shape. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_give_list(caller: Caller, value: &Any, form: u8, to: &u64) -> i32 {
    let made: &List;
    let word: u64;
    let object = value.object;
    let count = object.size;
    *made = null;
    if new_list(count, made) != 0 {
        raise!(caller, Complaint::TorchResult, reason(PRINTED.data));
    }
    let list = *made;
    let mut status: i32 = 0;
    for at in 0..count {
        if status == 0 {
            if value.type_index == TypeIndex::SHAPE {
                *word = (object.elements as &u64)[at];
            } else {
                let element = form & form::ELEMENT;
                status = torch_give_element(caller, &object.elements[at], element, word);
            }
            if status == 0 {
                push_back(list, *word);
            }
        }
    }
    if status != 0 {
        drop_list(list, form);
        return -1;
    }
    *to = list as u64;
    0
}

/// Writes the word of a value that is no list. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_give_element(caller: Caller, value: &Any, element: u8, to: &u64) -> i32 {
    let index = value.type_index;
    let is_number = index == TypeIndex::INT || index == TypeIndex::BOOL;
    if element == form::TEXT {
        let array: ByteArray;
        let found = text(value, ALL, ALL, array);
        if found == null || new_string(found.data, found.len, to) != 0 {
            raise!(caller, Complaint::TorchResult, reason(PRINTED.data));
        }
        return 0;
    }
    if element >= form::READ_TENSOR {
        return torch_lend(caller, value, to);
    }
    *to = value.payload;
    if element == form::FLOAT && is_number {
        *(to as &f64) = value.number as f64;
    }
    // A number above those of `int64` is an object.
    if element == form::INT && !is_number {
        raise!(caller, Complaint::TorchLarge);
    }
    0
}

/// Makes a tensor of PyTorch that shares the memory of a tensor object and retains it. Returns 0, or -1 once it has
/// raised.
#[routine]
pub(crate) fn torch_lend(caller: Caller, value: &Any, to: &u64) -> i32 {
    let made: &Tensor;
    let compact_strides: [i64; MAX_RANK as u32];
    if value.type_index != TypeIndex::TENSOR {
        raise!(caller, Complaint::TorchResult, "a tensor is only borrowed");
    }
    let object = value.object;
    let tensor = object.tensor;
    let rank = tensor.ndim;
    let dtype = tensor.kind >> 32;
    let number = number_of_dtype(dtype as u32);
    let ty = number_of_device(tensor.device_type);
    if number < 0 {
        raise!(caller, Complaint::TorchResultDtype, dtype);
    }
    let mut strides = tensor.strides;
    if strides == null && rank <= MAX_RANK as i32 {
        compact(rank as u32 as u64, tensor.shape, compact_strides);
        strides = compact_strides;
    }
    // PyTorch numbers no device of the cpu.
    let mut index: i32 = -1;
    if tensor.device_type != CPU {
        index = (tensor.device >> 32) as i32;
    }
    *made = null;
    if tensor.data == null {
        // PyTorch gives no memory back that has no address.
        if !is_empty(tensor) {
            raise!(caller, Complaint::TorchResult, "a tensor has no memory");
        }
        if empty_strided(rank as i64, tensor.shape, strides, number, ty, index, made) != 0 {
            raise!(caller, Complaint::TorchResult, reason(PRINTED.data));
        }
        *to = *made as u64;
        return 0;
    }
    if has_from_blob() == null {
        raise!(caller, Complaint::TorchResult, "PyTorch before 2.11 takes no tensor of others");
    }
    let data = &tensor.data[tensor.byte_offset];
    let layout = layout_strided();
    let nothing: &u8 = null;
    object_inc_ref(object);
    let status = from_blob(
        data,
        rank as i64,
        tensor.shape,
        strides,
        0,
        number,
        ty,
        index,
        made,
        layout,
        nothing,
        0,
        giver_back(),
        object as &u8,
    );
    if status != 0 {
        object_dec_ref(object);
        raise!(caller, Complaint::TorchResult, reason(PRINTED.data));
    }
    *to = *made as u64;
    0
}

/// Returns true if a tensor has no elements.
#[routine(inline)]
fn is_empty(tensor: &DlTensor) -> bool {
    let mut found: i64 = 0;
    for dim in 0..tensor.ndim as i64 {
        found = found | (tensor.shape[dim] == 0) as i64;
    }
    found != 0
}

/// Loads the address of the function that makes tensors of memory.
fn has_from_blob(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::FromBlob)
}

/// Emits the address of [`torch_give_back()`].
fn giver_back(b: &mut Builder<'_>) -> Ref<u8> {
    Ref::new(Routine::TorchGiveBack.address(b))
}

/// Releases the tensor object of a tensor that [`torch_lend()`] has made.
#[routine]
pub(crate) fn torch_give_back(_data: &u8, object: &Object) {
    object_dec_ref(object);
}
