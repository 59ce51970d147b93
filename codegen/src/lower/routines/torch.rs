//! Routines of PyTorch's operators: reading tensors, texts and lists of a call, allocating its results, its stream, and
//! throwing its errors. [`register`] has those that register operators.

use abi_spec::torch::{MOST_DEVICES, MOST_DTYPES};
use abi_spec::{DType, DeviceType, TypeIndex};

use crate::ir::Builder;
use crate::ir::typed::{Ref, Single, Text, call_indirect, routine};
use crate::lower::dynamic::entry_address;
use crate::lower::routines::access::c_length;
use crate::lower::routines::errors::take_error;
use crate::lower::routines::memory::{
    Any, ByteArray, DlTensor, MAX_TEXT, bytes, filled, slice, write,
};
use crate::lower::routines::place::{Place, enter_stream};
use crate::lower::routines::runtime::{object_dec_ref, string_from_byte_array};
use crate::lower::torch::{
    Entry, List, Str, Tensor, check, cuda_stream, delete_list, delete_string, delete_tensor,
    delete_word, facts, get_const_data, get_device_index, get_device_type, get_dim, get_dtype,
    get_mutable_data, get_sizes, get_strides, list_item, list_size, string_data, string_length,
};

pub(crate) mod allocate;
pub(crate) mod give;
pub(crate) mod list;
pub(crate) mod register;

/// Forms of values in the words of a call: a number of what the value is, or the elements of a list, and bits.
pub(crate) mod form {
    pub(crate) const INT: u8 = 0;
    pub(crate) const BOOL: u8 = 1;
    pub(crate) const FLOAT: u8 = 2;
    /// Forms from here on are handles.
    pub(crate) const TEXT: u8 = 3;
    pub(crate) const READ_TENSOR: u8 = 4;
    pub(crate) const TENSOR: u8 = 5;
    /// The bits of the numbers above.
    pub(crate) const ELEMENT: u8 = 7;
    /// A list.
    pub(crate) const LIST: u8 = 8;
    /// The bits of a value that is there.
    pub(crate) const BARE: u8 = ELEMENT | LIST;
    /// NULL, or the address of the word.
    pub(crate) const OPTIONAL: u8 = 16;
    /// A list that becomes a shape.
    pub(crate) const SHAPE: u8 = 32 | LIST;
}

/// Answers of [`torch_view()`]: the tensor has no strides or no memory.
pub(crate) const NO_MEMORY: i32 = 1;

/// The tensor is on a device that the FFI has no number for, as tensors of `meta` are.
pub(crate) const NO_DEVICE: i32 = 2;

/// Text of an error in the place of a reason that is not known, with a NUL.
pub(super) const PRINTED: &str = "PyTorch has printed why\0";

pub(super) const CPU: u32 = DeviceType::CPU.0 as u32;
pub(super) const CUDA: u32 = DeviceType::CUDA.0 as u32;
pub(super) const ROCM: u32 = DeviceType::ROCM.0 as u32;
const UNKNOWN: u32 = DType::VOID.to_word();
const DTYPES: u64 = MOST_DTYPES as u64;
const DEVICES: u64 = MOST_DEVICES as u64;

/// Makes a view of a tensor. `writes` is 0 if its elements are only read, `accelerator` the type of the devices that
/// PyTorch calls `cuda`. Returns 0, [`NO_MEMORY`] or [`NO_DEVICE`].
#[routine]
pub(crate) fn torch_view(to: &DlTensor, tensor: &Tensor, writes: i32, accelerator: u32) -> i32 {
    let data: &u8;
    let rank: i64;
    let extents: &i64;
    let strides: &i64;
    let dtype: i32;
    *data = null;
    let mut failed: i32 = 0;
    if writes != 0 {
        failed = get_mutable_data(tensor, data);
    } else {
        failed = get_const_data(tensor, data);
    }
    if failed | get_dim(tensor, rank) | get_sizes(tensor, extents) != 0 {
        return NO_MEMORY;
    }
    if get_strides(tensor, strides) | get_dtype(tensor, dtype) != 0 {
        return NO_MEMORY;
    }
    let device = torch_device_of(tensor, accelerator);
    to.data = *data;
    to.device = device;
    to.kind = *rank as u32 as u64 | (torch_dtype(*dtype) as u64) << 32;
    to.shape = *extents;
    to.strides = *strides;
    to.byte_offset = 0;
    if device as u32 == 0 {
        return NO_DEVICE;
    }
    0
}

/// Returns the device of a tensor, the type in the low 32 bits, which are 0 if the FFI has no number for it.
#[routine(inline)]
fn torch_device_of(tensor: &Tensor, accelerator: u32) -> u64 {
    let ty: i32;
    let index: i32;
    *index = 0;
    if get_device_type(tensor, ty) | get_device_index(tensor, index) != 0 {
        return 0;
    }
    torch_device((*ty as u32 as u64) << 32 | *index as u32 as u64, accelerator)
}

/// Returns a device of the FFI for one of PyTorch, whose type is in the high 32 bits; its own type is in the low 32
/// bits, which are 0 if there is no number for it.
#[routine]
pub(crate) fn torch_device(device: u64, accelerator: u32) -> u64 {
    let number = device >> 32;
    let mut ty: u32 = 0;
    if number < DEVICES {
        ty = facts().devices[number];
    }
    if ty == CUDA {
        ty = accelerator;
    }
    let mut index = device as u32 as u64;
    if ty == CPU || (index as i32) < 0 {
        index = 0;
    }
    index << 32 | ty as u64
}

/// Returns the 32 bits of an element type by its number in PyTorch; those of `void` if the FFI has none.
#[routine]
pub(crate) fn torch_dtype(number: i32) -> u32 {
    let at = number as u32 as u64;
    if at < DTYPES {
        let found = facts().dtypes[at];
        if found != 0 {
            return found;
        }
    }
    UNKNOWN
}

/// Reads the word of an optional value and deletes it. Returns 1, or 0 for None.
#[routine]
pub(crate) fn torch_unbox(boxed: &u64, value: &u64) -> i32 {
    *value = 0;
    if boxed == null {
        return 0;
    }
    *value = *boxed;
    if has_delete() != null {
        delete_word(boxed);
    } else {
        operator_delete(facts().operator_delete, boxed);
    }
    1
}

/// Returns why PyTorch has refused what it was last asked for, as text that a NUL follows, or `otherwise` before 2.13.
#[routine(inline)]
pub(super) fn reason(otherwise: &u8) -> Text {
    let function = facts().exception;
    let mut said = otherwise;
    if function != null {
        said = exception(function);
    }
    slice(said, c_length(said))
}

/// Calls `const char* function(void)`.
fn exception(b: &mut Builder<'_>, function: Ref<u8>) -> Ref<u8> {
    let function = function.value(b);
    call_indirect(b, function, ())
}

/// Loads the address of the function that makes words.
fn has_new(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::NewWord)
}

/// Loads the address of the function that deletes words.
fn has_delete(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::DeleteWord)
}

/// Calls `operator delete`.
fn operator_delete(b: &mut Builder<'_>, function: Ref<u8>, word: Ref<u64>) {
    let function = function.value(b);
    call_indirect::<_, ()>(b, function, word)
}

/// Deletes words by their forms, bytes of [`form`]; 0 is none.
#[routine]
pub(crate) fn torch_drop(words: &u64, forms: &u8, count: u64) {
    let word: u64;
    for at in 0..count {
        let form = forms[at];
        *word = words[at];
        if form & form::OPTIONAL != 0 {
            torch_unbox(*word as &u64, word);
        }
        if *word != 0 {
            if form & form::LIST != 0 {
                drop_list(*word as &List, form);
            } else {
                drop_element(*word, form & form::ELEMENT);
            }
        }
    }
}

/// Deletes a list with its elements.
#[routine(inline)]
pub(super) fn drop_list(list: &List, form: u8) {
    let size: u64;
    let item: u64;
    *size = 0;
    list_size(list, size);
    if form & form::ELEMENT >= form::TEXT {
        for at in 0..*size {
            list_item(list, at, item);
            drop_element(*item, form & form::ELEMENT);
        }
    }
    delete_list(list);
}

/// Deletes a word that is no list, unless it is no handle.
#[routine(inline)]
pub(super) fn drop_element(word: u64, element: u8) {
    if element == form::TEXT {
        delete_string(word as &Str);
    }
    if element > form::TEXT {
        delete_tensor(word as &Tensor);
    }
}

/// Writes a text as an owned string. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn torch_text(handle: &Str, to: &Any) -> i32 {
    let array: ByteArray;
    torch_bytes(handle, array);
    let status = string_from_byte_array(array, to);
    if status != 0 {
        write(to, TypeIndex::NONE, 0);
    }
    status
}

/// Writes address and length of a text, which are the handle's.
#[routine]
pub(crate) fn torch_bytes(handle: &Str, to: &ByteArray) {
    let data: &u8;
    let length: u64;
    *data = null;
    *length = 0;
    string_data(handle, data);
    string_length(handle, length);
    filled(to, *data, *length);
}

/// Makes PyTorch's current stream on a device the thread's, unless the device is the cpu. Returns 0, or another number
/// if PyTorch has no stream.
#[routine]
pub(crate) fn torch_enter(place: &Place, device: u64) -> i32 {
    let ty = device as u32;
    let index = (device >> 32) as i32;
    place.device = 0;
    place.stream = null;
    if ty == CPU || ty == 0 {
        return 0;
    }
    if ty == CUDA || ty == ROCM {
        if stream_function() == null {
            return -1;
        }
        let status = cuda_stream(index, &place.stream);
        if status != 0 {
            return status;
        }
    }
    enter_stream(place, device, place.stream);
    0
}

/// Loads the address of the function that returns streams.
fn stream_function(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::CudaStream)
}

/// Throws the error in the thread's slot as an exception, whose text is the kind and the message, and does not return.
#[routine]
pub(crate) fn torch_throw(name: &u8) {
    let message: [u8; TEXT_SIZE];
    let error = take_error();
    if error == null {
        check(0, name, name, 0, "a function failed without an error\0".data);
        return;
    }
    let kind = bytes(error.error.kind);
    let length = put(message, 0, kind);
    let length = put(message, length, ": ");
    let length = put(message, length, bytes(error.error.message));
    message[length] = 0;
    object_dec_ref(error);
    check(0, name, name, 0, message);
}

/// Room for the text of an exception, in bytes; the rest is cut off, as that of [longer messages](MAX_TEXT).
const TEXT_SIZE: u32 = MAX_TEXT + 64;

const MOST: u64 = TEXT_SIZE as u64 - 1;

/// Copies text to a place; returns the place after it.
#[routine(inline)]
fn put(to: &u8, start: u64, text: Text) -> u64 {
    let mut at = start;
    for from in 0..text.len {
        if at < MOST {
            to[at] = text.data[from];
            at += 1;
        }
    }
    at
}
